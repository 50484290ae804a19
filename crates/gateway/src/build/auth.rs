//! From the tables that say who calls to what the authenticator is made of.
//!
//! Secrets are read here and nowhere else, and never shown. Nothing is asked of an authorization server: it
//! need not be there when the file is loaded. The build step calls it.

pub(crate) mod scopes;

use std::path::Path;
use std::time::Duration;

use callgate_adapters::oauth::{
    Algorithm, ClaimPath, Introspection, KeySource, OpaqueTokens, Options, StaticToken, Tenancy, TokenType,
};
use callgate_adapters::parse_rfc3339;
use callgate_core::port::{Clock as _, SystemClock, Timestamp};
use callgate_core::principal::Principal;
use callgate_server::{ProtectedResource, Tls, Validity};

use super::Built;
use crate::callers::Settings;
use crate::config::{
    AuthTable, ClaimsTable, Config, Finding, IntrospectionTable, Located, OAuthTable, TlsTable, TokenTable,
    read_text,
};
use crate::files::FileState;
use scopes::Scopes;

/// Bytes of a file with certificates or a key.
const PEM_BYTES: usize = 256 << 10;
/// Days before its end from which on a certificate is warned about: what renews certificates by itself does it
/// weeks ahead.
const RENEWAL_DAYS: i64 = 14;
/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// What the tables say of callers; what is wrong goes to the findings.
pub(super) fn build(config: &Config, directory: &Path, built: &mut Built) {
    built.tls = config.tls.as_ref().and_then(|table| tls(table, directory, built));
    if let (Some(_), Some(http)) = (&config.tls, config.http.as_ref().and_then(|http| http.tls.as_ref())) {
        let finding = Finding::error(
            "conflict",
            "TLS is ended by a proxy and by this server",
            "remove `tls` under `[http]`, or the table `[tls]`",
        );
        built.findings.push(finding.at(http.place().clone()));
    }
    let Some(auth) = &config.auth else { return };
    let tenancy = if config.source.iter().any(|(_, source)| source.tenant_scoped()) {
        Tenancy::Required
    } else {
        Tenancy::Optional
    };
    let scopes = Scopes::of(auth);
    scopes::check_reachable(config, auth, &scopes, built);
    check_policy(config, auth, built);
    let loopback = auth.local.as_ref().and_then(|local| local.loopback.as_ref());
    if let Some(loopback) = loopback.filter(|loopback| !***loopback && !auth.has_credentials()) {
        let finding = Finding::error(
            "conflict",
            "nobody could call over HTTP: the local caller may not, and the file knows no credentials",
            "remove `loopback`, or add `[auth.oauth]` or `[auth.token]`",
        );
        built.findings.push(finding.at(loopback.place().clone()));
    }
    let mut tokens: Vec<StaticToken> = Vec::new();
    for table in &auth.token {
        let Some(token) = token(table, tenancy, &scopes, built) else { continue };
        if tokens.iter().any(|known| known.is_same_token(&token)) {
            let finding = Finding::error(
                "duplicate_digest",
                format!("the token `{}` has the digest of another one", table.name.as_str()),
                "give each caller a token of its own, or remove one of the tables",
            );
            built.findings.push(finding.at(table.name.place().clone()));
        }
        tokens.push(token);
    }
    built.settings = Settings {
        local: auth.local.as_ref().and_then(|table| local(table, &scopes, built)),
        loopback: loopback.is_some_and(|loopback| **loopback),
        oauth: auth.oauth.as_ref().and_then(|table| oauth(table, tenancy, directory, built)),
        resource: auth.oauth.as_ref().and_then(resource),
        tokens,
    };
}

/// The default policy does not tell callers apart, so it is for local ones only.
fn check_policy(config: &Config, auth: &AuthTable, built: &mut Built) {
    if config.policy.is_some() || !auth.has_credentials() {
        return;
    }
    let finding = Finding::error(
        "missing_policy",
        "callers have credentials, and nothing says what each of them may do",
        "add `[policy]` with `files = [\"policies/*.cedar\"]`, and such a file with what they may see and call, \
         for example `permit(principal in Group::\"staff\", action, resource) unless { resource.changes };`",
    );
    let oauth = auth.oauth.as_ref().and_then(|table| table.issuer.as_ref()).map(Located::place);
    let place = oauth.or_else(|| auth.token.first().map(|token| token.name.place()));
    built.findings.push(place.map_or(finding.clone(), |place| finding.at(place.clone())));
}

fn texts(list: &Option<Located<Vec<Located<String>>>>) -> Vec<String> {
    list.iter().flat_map(|texts| texts.iter()).map(ToString::to_string).collect()
}

/// Whose calls those of this machine are.
fn local(table: &crate::config::LocalPrincipal, scopes: &Scopes, built: &mut Built) -> Option<Principal> {
    let subject = table.principal.as_ref()?;
    let mut principal = Principal::new(subject.as_str())
        .with_groups(texts(&table.groups))
        .with_scopes(scopes.granted(&table.scopes));
    scopes.check_required("`[auth.local]`", subject.place(), &principal, built);
    if let Some(tenant) = &table.tenant {
        principal = principal.with_tenant(tenant.as_str());
    }
    if let Some(purpose) = &table.purpose {
        principal = principal.with_purpose(purpose.as_str());
    }
    Some(principal)
}

fn token(table: &TokenTable, tenancy: Tenancy, scopes: &Scopes, built: &mut Built) -> Option<StaticToken> {
    let digest = StaticToken::parse_digest(table.digest.as_ref()?)?;
    let subject = table.principal.as_ref().unwrap_or(&table.name);
    let mut principal = Principal::new(subject.as_str())
        .with_groups(texts(&table.groups))
        .with_scopes(scopes.granted(&table.scopes));
    let name = format!("the token `{}`", table.name.as_str());
    scopes.check_required(&name, table.name.place(), &principal, built);
    match &table.tenant {
        Some(tenant) => principal = principal.with_tenant(tenant.as_str()),
        None if tenancy == Tenancy::Required => {
            let finding = Finding::error(
                "missing_tenant",
                format!(
                    "the token `{}` has no tenant, and a source keeps data apart by tenant",
                    table.name.as_str()
                ),
                "add `tenant`, the one whose data its caller may see",
            );
            built.findings.push(finding.at(table.name.place().clone()));
        }
        None => {}
    }
    if let Some(purpose) = &table.purpose {
        principal = principal.with_purpose(purpose.as_str());
    }
    if let Some(expires) = table.expires.as_ref().and_then(|text| parse_rfc3339(text).ok()) {
        principal = principal.with_expiry(expires);
    }
    Some(StaticToken::new(digest, principal))
}

fn resource(table: &OAuthTable) -> Option<ProtectedResource> {
    let mut resource =
        ProtectedResource::new(table.resource.as_ref()?.as_str(), table.issuer.as_ref()?.as_str());
    resource.scopes_supported = table.scopes_supported.as_ref().map(|_| texts(&table.scopes_supported));
    resource.required_scopes = texts(&table.required_scopes);
    resource.initial_scopes = texts(&table.initial_scopes);
    Some(resource)
}

fn oauth(table: &OAuthTable, tenancy: Tenancy, directory: &Path, built: &mut Built) -> Option<Options> {
    let issuer = table.issuer.as_ref()?;
    let audience = table.audience.as_ref().or(table.resource.as_ref())?;
    let mut options = Options::new(issuer.as_str(), audience.as_str());
    if let Some(jwks) = &table.jwks {
        options.keys = match jwks.strip_prefix("file:") {
            Some(path) => KeySource::File(directory.join(path)),
            None => KeySource::Url(jwks.to_string()),
        };
    }
    if table.algorithms.is_some() {
        let names = texts(&table.algorithms);
        options.algorithms = names.iter().filter_map(|name| Algorithm::of_name(name)).collect();
    }
    if table.require_at_jwt.as_ref().is_some_and(|required| **required) {
        options.token_type = TokenType::AccessToken;
    }
    if let Some(seconds) = &table.leeway_s {
        options.leeway = Duration::from_secs(**seconds);
    }
    if let Some(seconds) = &table.cache_s {
        options.cache = Duration::from_secs(**seconds);
    }
    if let Some(claims) = &table.claims {
        set_claims(claims, &mut options);
    }
    // The server asks for the required scopes: it knows which others an operation needs, and names all at once.
    options.implies = scopes::implies(table);
    options.tenancy = tenancy;
    if let Some(table) = &table.introspection {
        options.introspection = Some(introspection(table, directory, built)?);
    }
    Some(options)
}

fn set_claims(table: &ClaimsTable, options: &mut Options) {
    let path = |text: &Option<Located<String>>| text.as_ref().and_then(|text| ClaimPath::parse(text));
    let claims = &mut options.claims;
    for (written, claim) in [
        (&table.subject, &mut claims.subject),
        (&table.tenant, &mut claims.tenant),
        (&table.groups, &mut claims.groups),
        (&table.purpose, &mut claims.purpose),
    ] {
        if let Some(path) = path(written) {
            *claim = path;
        }
    }
    claims.scopes = path(&table.scopes);
    claims.client = path(&table.client);
}

fn introspection(table: &IntrospectionTable, directory: &Path, built: &mut Built) -> Option<Introspection> {
    let reference = table.client_secret.as_ref()?;
    if let crate::config::SecretRef::File(path) = &**reference {
        built.files.push(FileState::now(directory.join(path)));
    }
    let secret = match reference.follow(directory) {
        Ok(secret) => secret,
        Err(finding) => {
            built.findings.push(finding.at(reference.place().clone()));
            return None;
        }
    };
    let (url, client) = (table.url.as_ref()?, table.client_id.as_ref()?);
    let mut introspection = Introspection::new(url.as_str(), client.as_str(), secret);
    if let Some(authentication) = &table.authentication {
        introspection.authentication = **authentication;
    }
    if table.all.as_ref().is_some_and(|all| **all) {
        introspection.tokens = OpaqueTokens::All;
    }
    Some(introspection)
}

fn tls(table: &TlsTable, directory: &Path, built: &mut Built) -> Option<Tls> {
    let mut read = |path: &Located<String>, what: &str| {
        let full = directory.join(path.as_str());
        built.files.push(FileState::now(full.as_path()));
        read_text(&full, PEM_BYTES)
            .map_err(|why| {
                let finding = Finding::error(
                    "unreadable_file",
                    format!("the file {:?} with the {what} cannot be read: {why}", path.as_str()),
                    why.remedy("check the name and the permissions"),
                );
                built.findings.push(finding.at(path.place().clone()));
            })
            .ok()
    };
    let (certificate, key) = (table.certificate.as_ref()?, table.key.as_ref()?);
    let (certificates, private) = (read(certificate, "certificate"), read(key, "private key"));
    match Tls::from_pem(certificates?.as_bytes(), private?.as_bytes()) {
        Ok(tls) => {
            let finding = check_validity(&tls, SystemClock.now());
            built.findings.extend(finding.map(|finding| finding.at(certificate.place().clone())));
            Some(tls)
        }
        Err(error) => {
            let finding = Finding::error(
                "bad_certificate",
                format!("TLS cannot be served: {error}"),
                "give the certificate of the server, its chain after it, and the key that it was made for, all \
                 in PEM",
            );
            built.findings.push(finding.at(certificate.place().clone()));
            None
        }
    }
}

/// Says so when clients do not take a certificate, or soon will not. It is served all the same: some clients do not
/// look, and no answer at all would be worse than one that some refuse.
fn check_validity(tls: &Tls, now: Timestamp) -> Option<Finding> {
    let remedy = "put a renewed certificate in its place; a running server takes it up at once";
    let soon = Timestamp(now.0.saturating_add(RENEWAL_DAYS * DAY_US));
    let days = |from: Timestamp, to: Timestamp| match to.0.saturating_sub(from.0).div_euclid(DAY_US) {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    };
    let (code, message) = match (tls.validity(now), tls.validity(soon)) {
        (Validity::Over(end), _) => {
            ("certificate_expired", format!("the certificate expired {} ago", days(end, now)))
        }
        (Validity::Later(begin), _) => {
            ("certificate_early", format!("the certificate is not valid for another {}", days(now, begin)))
        }
        (_, Validity::Over(end)) => {
            ("certificate_expires", format!("the certificate expires in {}", days(now, end)))
        }
        _ => return None,
    };
    Some(Finding::warning(code, message, remedy))
}
