//! `[auth.oauth]`: access tokens of an authorization server.
//!
//! The auth tables read it; the build step makes the options of the adapter from it.

use callgate_adapters::oauth::{Algorithm, ClaimPath, ClientAuthentication, check_url};
use schemars::JsonSchema;

use super::super::reader::{listed, meant};
use super::super::secret::SecretRef;
use super::super::{Finding, Located};
use super::{Table, check_scope, scopes};

/// Callers with access tokens of an authorization server.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OAuthTable {
    /// Who issues the tokens; `iss` of a token must be exactly this.
    #[schemars(required)]
    pub issuer: Option<Located<String>>,
    /// The URL by which clients know this server, for example `https://mcp.example.com/mcp`. It is published
    /// exactly as it is written here, and clients ask for tokens for it.
    #[schemars(required)]
    pub resource: Option<Located<String>>,
    /// For whom tokens must be issued; `aud` of a token must be or hold exactly this. Default: the resource.
    pub audience: Option<Located<String>>,
    /// Where the keys of the issuer are: a URL, or `file:PATH`. Default: what the metadata of the issuer says.
    pub jwks: Option<Located<String>>,
    /// The algorithms that are accepted. Default: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 and
    /// EdDSA. Algorithms with a shared key are never accepted.
    pub algorithms: Option<Located<Vec<Located<String>>>>,
    /// True when only tokens of the type `at+jwt` are accepted (RFC 9068). Default: false.
    pub require_at_jwt: Option<Located<bool>>,
    /// By how many seconds the clocks may differ. Default: 30.
    #[schemars(range(min = 0, max = 300))]
    pub leeway_s: Option<Located<u64>>,
    /// For how many seconds a verified token is remembered, if it lives that long; as long may one that was
    /// revoked still work. Default: 60. Nothing is remembered with `all = true` under `introspection`.
    #[schemars(range(min = 0, max = 600))]
    pub cache_s: Option<Located<u64>>,
    /// Where in a token its parts are.
    pub claims: Option<ClaimsTable>,
    /// Scopes that every token must have.
    pub required_scopes: Option<Located<Vec<Located<String>>>>,
    /// Scopes that a client without a token is told to ask for at once. Default: the required ones.
    pub initial_scopes: Option<Located<Vec<Located<String>>>>,
    /// The scopes that are published. Default: those that the tools need.
    pub scopes_supported: Option<Located<Vec<Located<String>>>>,
    /// Scopes that a broader scope stands for: `"invoices" = ["invoices:read", "invoices:write"]`.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Vec<String>>>")]
    pub implies: Vec<(Located<String>, Vec<Located<String>>)>,
    /// How opaque tokens are judged. Without it they are refused.
    pub introspection: Option<IntrospectionTable>,
}

/// Where in a token its parts are: a name, names with dots between, or a JSON Pointer.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClaimsTable {
    /// Who it speaks for. Default: `sub`.
    pub subject: Option<Located<String>>,
    /// On whose data. Default: `tenant`.
    pub tenant: Option<Located<String>>,
    /// Groups or roles. Default: `groups`.
    pub groups: Option<Located<String>>,
    /// Scopes. Default: `scope`, and `scp` where that is missing.
    pub scopes: Option<Located<String>>,
    /// What it was issued for. Default: `purpose`.
    pub purpose: Option<Located<String>>,
    /// The program that acts. Default: `client_id`, and `azp` where that is missing.
    pub client: Option<Located<String>>,
}

/// How opaque tokens are judged: the authorization server is asked (RFC 7662).
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct IntrospectionTable {
    /// The introspection endpoint.
    #[schemars(required)]
    pub url: Option<Located<String>>,
    /// Who this server is there.
    #[schemars(required)]
    pub client_id: Option<Located<String>>,
    /// Its secret, by reference: `env:NAME` or `file:PATH`.
    #[schemars(required)]
    pub client_secret: Option<Located<SecretRef>>,
    /// How the secret is sent. Default: `basic`.
    #[schemars(with = "Option<Method>")]
    pub authentication: Option<Located<ClientAuthentication>>,
    /// True when signed tokens are asked about too, so that a revoked one is refused at once. Default: false.
    pub all: Option<Located<bool>>,
}

/// Stands for the words of `authentication` in the generated schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum Method {
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

impl OAuthTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let issuer = table.required_string("issuer", "\"https://id.example.com\"");
        let resource = table.required_string("resource", "\"https://mcp.example.com/mcp\"");
        let jwks = table.string("jwks");
        for (key, url) in [("issuer", &issuer), ("resource", &resource), ("jwks", &jwks)] {
            if let Some(url) = url.as_ref().filter(|url| key != "jwks" || !url.starts_with("file:")) {
                judge_url(key, url, &table);
            }
        }
        let algorithms = table.strings("algorithms");
        algorithms.iter().flat_map(|names| names.iter()).for_each(|name| judge_algorithm(name, &table));
        if let Some(names) = algorithms.as_ref().filter(|names| names.is_empty()) {
            let finding = Finding::error(
                "empty_value",
                "no algorithm is accepted, so no token is",
                "name those of the issuer, or remove the key",
            );
            table.reading().report(names.place().span(), finding);
        }
        let oauth = Self {
            issuer,
            resource,
            audience: table.string("audience"),
            jwks,
            algorithms,
            require_at_jwt: table.boolean("require_at_jwt"),
            leeway_s: table.integer("leeway_s", 0..=300),
            cache_s: table.integer("cache_s", 0..=600),
            claims: table.table("claims", "[auth.oauth.claims]").map(ClaimsTable::read),
            required_scopes: scopes(&mut table, "required_scopes"),
            initial_scopes: scopes(&mut table, "initial_scopes"),
            scopes_supported: scopes(&mut table, "scopes_supported"),
            implies: table.lists("implies"),
            introspection: table
                .table("introspection", "[auth.oauth.introspection]")
                .map(IntrospectionTable::read),
        };
        for (broader, narrower) in &oauth.implies {
            check_scope(broader, &table);
            narrower.iter().for_each(|scope| check_scope(scope, &table));
        }
        table.finish();
        oauth
    }
}

impl ClaimsTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let mut path = |key| {
            let path = table.string(key)?;
            if ClaimPath::parse(&path).is_none() {
                let finding = Finding::error(
                    "invalid_claim",
                    format!("{:?} is no place in the claims of a token", path.as_str()),
                    "write a name, names with dots between, or a JSON Pointer, as in `org.id` or `/org/id`",
                );
                table.reading().report(path.place().span(), finding);
            }
            Some(path)
        };
        let claims = Self {
            subject: path("subject"),
            tenant: path("tenant"),
            groups: path("groups"),
            scopes: path("scopes"),
            purpose: path("purpose"),
            client: path("client"),
        };
        table.finish();
        claims
    }
}

const METHODS: &[(&str, ClientAuthentication)] =
    &[("basic", ClientAuthentication::Basic), ("post", ClientAuthentication::Post)];

impl IntrospectionTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        let url = table.required_string("url", "\"https://id.example.com/introspect\"");
        if let Some(url) = &url {
            judge_url("url", url, &table);
        }
        let introspection = Self {
            url,
            client_id: table.required_string("client_id", "\"callgate\""),
            client_secret: SecretRef::read(&mut table, "client_secret", "env:INTROSPECTION_SECRET"),
            authentication: table.choice("authentication", METHODS),
            all: table.boolean("all"),
        };
        table.finish();
        introspection
    }
}

fn judge_url(key: &str, url: &Located<String>, table: &Table<'_, '_>) {
    if let Err(why) = check_url(url) {
        let finding = Finding::error(
            "invalid_url",
            format!("`{key}` of {} cannot be used: {why}", table.name()),
            "write an `https` URL; `http` is for addresses of this machine, in development",
        );
        table.reading().report(url.place().span(), finding);
    }
}

fn judge_algorithm(name: &Located<String>, table: &Table<'_, '_>) {
    if Algorithm::of_name(name).is_some() {
        return;
    }
    let names = Algorithm::ALL.map(Algorithm::as_str);
    let shared = name.starts_with("HS") || name.eq_ignore_ascii_case("none");
    let reason = if shared { "proves nothing about who issued a token" } else { "is not known" };
    let finding = Finding::error(
        "unknown_value",
        format!("the algorithm {:?} {reason}{}", name.as_str(), meant(name, &names)),
        format!("use some of {}", listed(&names)),
    );
    table.reading().report(name.place().span(), finding);
}
