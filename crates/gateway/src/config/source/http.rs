//! `[source.*]` of kind `http`: a service that is reached over HTTP.
//!
//! Only the words are read here; secrets are read and the address is judged by the build step. The source is the
//! caller.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::Kind;
use crate::config::finding::Finding;
use crate::config::located::Located;
use crate::config::reader::Table;
use crate::config::secret::{HeaderText, SecretRef};

/// A service that is reached over HTTP. Nothing is asked of it when the file is loaded.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HttpSource {
    /// `http`
    #[schemars(with = "HttpKind")]
    pub kind: Located<Kind>,
    /// Where the service is, for example `https://crm.example.com/api`. Every request goes below it.
    #[schemars(required)]
    pub url: Option<Located<String>>,
    /// Hosts of this table that may be in this machine or a private network, by name. Only they are spoken to
    /// without TLS. Addresses where clouds hand out credentials are reached by none of them.
    pub private_hosts: Option<Located<Vec<Located<String>>>>,
    /// A file with the certificates of the authorities that the service is trusted by, in PEM. Default: those of the
    /// machine.
    pub authorities: Option<Located<String>>,
    /// True when what the service shows depends on the tenant: a tool on it must send `{tenant}`. Default: false.
    pub tenant_scoped: Option<Located<bool>>,
    /// Headers of every request: a text, or `env:NAME` or `file:PATH` for a secret.
    #[schemars(with = "Option<std::collections::BTreeMap<String, String>>")]
    pub headers: Vec<(Located<String>, Located<HeaderText>)>,
    /// What proves to the service who asks. Without it, nothing does. What the caller of a tool sent never does.
    pub credential: Option<CredentialTable>,
    /// Whether the trace that a call belongs to is named to the service (W3C Trace Context). Default: true.
    pub trace: Option<Located<bool>>,
    /// Requests at one time. Default: 32.
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: Option<Located<u64>>,
    /// How long connecting may take, in milliseconds. Default: 3,000.
    #[schemars(range(min = 1, max = 60_000))]
    pub connect_timeout_ms: Option<Located<u64>>,
    /// The longest body of a response as it arrives, in bytes. Default: 1,048,576.
    #[schemars(range(min = 1_024, max = 16_777_216))]
    pub max_response_bytes: Option<Located<u64>>,
    /// The longest body of a response after decompression, in bytes. Default: 4,194,304.
    #[schemars(range(min = 1_024, max = 67_108_864))]
    pub max_decoded_bytes: Option<Located<u64>>,
}

/// What proves to a service who asks.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CredentialTable {
    /// `bearer` and `header`: a secret; `basic`: a name and a secret; `client_credentials`: a token that an
    /// authorization server gives to this server; `token_exchange`: one that it gives for that of the caller.
    #[schemars(required, with = "Option<CredentialWord>")]
    pub kind: Option<Located<CredentialKind>>,
    /// The secret, by reference: `env:NAME` or `file:PATH`.
    pub secret: Option<Located<SecretRef>>,
    /// The name, for `basic`.
    pub user: Option<Located<String>>,
    /// The name of the header, for `header`.
    pub header: Option<Located<String>>,
    /// The token endpoint of the authorization server.
    pub token_url: Option<Located<String>>,
    /// Who this server is there.
    pub client_id: Option<Located<String>>,
    /// Its secret there, by reference.
    pub client_secret: Option<Located<SecretRef>>,
    /// How that secret is sent. Default: `basic`.
    #[schemars(with = "Option<SentWord>")]
    pub authentication: Option<Located<Sent>>,
    /// The scopes of the token.
    pub scopes: Option<Located<Vec<Located<String>>>>,
    /// The service that the token is for, as the authorization server knows it (RFC 8707).
    pub resource: Option<Located<String>>,
    /// The same as a name, where the authorization server wants one (RFC 8693).
    pub audience: Option<Located<String>>,
}

/// A kind of credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A secret as a bearer token.
    Bearer,
    /// A name and a secret.
    Basic,
    /// A secret in a header of its own.
    Header,
    /// A token that an authorization server gives to this server.
    ClientCredentials,
    /// A token that an authorization server gives for that of the caller.
    TokenExchange,
}

/// How the secret of a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

const CREDENTIALS: &[(&str, CredentialKind)] = &[
    ("bearer", CredentialKind::Bearer),
    ("basic", CredentialKind::Basic),
    ("header", CredentialKind::Header),
    ("client_credentials", CredentialKind::ClientCredentials),
    ("token_exchange", CredentialKind::TokenExchange),
];

const SENT: &[(&str, Sent)] = &[("basic", Sent::Basic), ("post", Sent::Post)];

/// The keys of a credential besides `kind`, and the kinds that have them.
const KEYS: [(&str, &[CredentialKind]); 10] = [
    ("secret", &[CredentialKind::Bearer, CredentialKind::Basic, CredentialKind::Header]),
    ("user", &[CredentialKind::Basic]),
    ("header", &[CredentialKind::Header]),
    ("token_url", OF_TOKENS),
    ("client_id", OF_TOKENS),
    ("client_secret", OF_TOKENS),
    ("authentication", OF_TOKENS),
    ("scopes", OF_TOKENS),
    ("resource", OF_TOKENS),
    ("audience", OF_TOKENS),
];
const OF_TOKENS: &[CredentialKind] = &[CredentialKind::ClientCredentials, CredentialKind::TokenExchange];

impl HttpSource {
    pub(super) fn read(kind: Located<Kind>, table: &mut Table<'_, '_>) -> Self {
        let credential_name = format!("`credential` of {}", table.name());
        Self {
            kind,
            url: table.required_string("url", "\"https://crm.example.com/api\""),
            private_hosts: table.strings("private_hosts"),
            authorities: table.string("authorities"),
            tenant_scoped: table.boolean("tenant_scoped"),
            headers: HeaderText::read_all(table, "headers"),
            credential: table.table("credential", credential_name).map(CredentialTable::read),
            trace: table.boolean("trace"),
            concurrency: table.integer("concurrency", 1..=1024),
            connect_timeout_ms: table.integer("connect_timeout_ms", 1..=60_000),
            max_response_bytes: table.integer("max_response_bytes", 1024..=16_777_216),
            max_decoded_bytes: table.integer("max_decoded_bytes", 1024..=67_108_864),
        }
    }

    /// What is spoken to and as whom, as the file says it. No secret is in it, only where it is found.
    pub(crate) fn place_of_data(&self) -> String {
        let url = self.url.as_ref().map(|url| url.as_str());
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (name.as_str(), &**value)).collect();
        let credential = self.credential.as_ref().map(CredentialTable::identity);
        format!("http:{url:?} {headers:?} {credential:?}")
    }

    /// Whether the file lets a host be in this machine or its network.
    pub(crate) fn names(&self, host: &str) -> bool {
        let hosts = self.private_hosts.iter().flat_map(|hosts| hosts.iter());
        hosts.map(|named| bare(named)).any(|named| named == host)
    }
}

/// A host as it is compared.
pub(crate) fn bare(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

impl CredentialTable {
    fn read(mut table: Table<'_, '_>) -> Self {
        if table.value("kind").is_none() {
            table.missing("kind", "\"bearer\"");
        }
        let kind = table.choice("kind", CREDENTIALS);
        if let Some(kind) = &kind {
            for (key, kinds) in KEYS.iter().filter(|(_, kinds)| !kinds.contains(kind)) {
                let Some(value) = table.foreign(key) else { continue };
                let words: Vec<&str> = CREDENTIALS
                    .iter()
                    .filter(|(_, kind)| kinds.contains(kind))
                    .map(|(word, _)| *word)
                    .collect();
                let finding = Finding::error(
                    "conflicting_keys",
                    format!("{} has `{key}`, which its kind does not have", table.name()),
                    format!("remove it, or choose one of the kinds that have it: {}", words.join(", ")),
                );
                table.reading().report(value.span(), finding);
            }
        }
        if kind.is_none() {
            // What they are for is not known, but not unknown keys either.
            KEYS.iter().for_each(|(key, _)| {
                table.foreign(key);
            });
        }
        let is = |kinds: &[CredentialKind]| kind.as_ref().is_some_and(|kind| kinds.contains(kind));
        let (constant, tokens) = (is(KEYS[0].1), is(OF_TOKENS));
        let mut text = |key, required, example| match required {
            true => table.required_string(key, example),
            false => None,
        };
        let user = text("user", is(&[CredentialKind::Basic]), "\"callgate\"");
        let header = text("header", is(&[CredentialKind::Header]), "\"X-Api-Key\"");
        let token_url = text("token_url", tokens, "\"https://id.example.com/token\"");
        let client_id = text("client_id", tokens, "\"callgate\"");
        let mut secret = |key, required: bool, example| match required {
            true => SecretRef::read(&mut table, key, example),
            false => None,
        };
        let secret_ref = secret("secret", constant, "env:CRM_TOKEN");
        let client_secret = secret("client_secret", tokens, "env:CRM_CLIENT_SECRET");
        let credential = Self {
            kind,
            secret: secret_ref,
            user,
            header,
            token_url,
            client_id,
            client_secret,
            authentication: table.choice("authentication", SENT),
            scopes: crate::config::auth::scopes(&mut table, "scopes"),
            resource: table.string("resource"),
            audience: table.string("audience"),
        };
        if tokens && credential.resource.is_none() && credential.audience.is_none() {
            let finding = Finding::error(
                "missing_key",
                format!("{} names no service that the token is for", table.name()),
                "add `resource` or `audience`, so that the token is of use at that service alone",
            );
            table.reading().report(table.span(), finding);
        }
        table.finish();
        credential
    }

    /// Who this server is at the service, without a secret.
    fn identity(&self) -> String {
        let text = |text: &Option<Located<String>>| text.as_ref().map(|text| text.as_str().to_owned());
        let secret =
            |secret: &Option<Located<SecretRef>>| secret.as_ref().map(|secret| format!("{:?}", **secret));
        let scopes: Vec<&str> =
            self.scopes.iter().flat_map(|scopes| scopes.iter()).map(|scope| scope.as_str()).collect();
        format!(
            "{:?} {:?}",
            (
                self.kind.as_ref().map(|kind| **kind),
                secret(&self.secret),
                text(&self.user),
                text(&self.header)
            ),
            (
                text(&self.token_url),
                text(&self.client_id),
                secret(&self.client_secret),
                scopes,
                text(&self.resource),
                text(&self.audience)
            ),
        )
    }
}

/// Stands for the words of `kind` in the generated schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum CredentialWord {
    /// A secret as a bearer token.
    Bearer,
    /// A name and a secret.
    Basic,
    /// A secret in a header of its own.
    Header,
    /// A token that an authorization server gives to this server.
    ClientCredentials,
    /// A token that an authorization server gives for that of the caller.
    TokenExchange,
}

/// Stands for the words of `authentication` in the generated schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only its schema is used")]
enum SentWord {
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

/// Stands for the word `http` in the generated schema.
pub(super) struct HttpKind;

impl JsonSchema for HttpKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HttpKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": "http" })
    }
}
