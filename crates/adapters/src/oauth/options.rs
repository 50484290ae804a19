//! What the operator says about tokens: who issues them, for whom, and what they hold.
//!
//! It checks nothing of a token; the verifier and the introspector read it. The gateway fills it from the
//! configuration.

mod claims;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::Limits;
use crate::secret::Secret;

pub use claims::{ClaimPath, Claims};

/// How tokens of an authorization server are judged.
///
/// # Defaults
/// - `keys`: discovery, so that only the issuer has to be named.
/// - `algorithms`: every asymmetric one. There are no others: a key that both sides know proves nothing.
/// - `token_type`: [`TokenType::Any`], because many servers mark their access tokens as plain `JWT`.
/// - `leeway`: 30 seconds, for clocks that differ.
/// - `cache`: 60 seconds. A token that was revoked may work for that long, unless introspection is asked about
///   all tokens: then none is remembered.
/// - `tenancy`: [`Tenancy::Optional`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Who issues tokens; `iss` must be exactly this.
    pub issuer: String,
    /// For whom they must be issued; `aud` must be or hold exactly this.
    pub audience: String,
    /// Where the keys of the issuer are.
    pub keys: KeySource,
    /// The algorithms that are accepted.
    pub algorithms: Vec<Algorithm>,
    /// Which types of signed tokens are accepted.
    pub token_type: TokenType,
    /// By how much the clocks may differ.
    pub leeway: Duration,
    /// How long a verified token is remembered, if it lives that long.
    pub cache: Duration,
    /// Where in a token its parts are.
    pub claims: Claims,
    /// Scopes that every token must have.
    pub required_scopes: Vec<String>,
    /// Scopes that a scope stands for.
    pub implies: BTreeMap<String, Vec<String>>,
    /// Whether a token must name a tenant.
    pub tenancy: Tenancy,
    /// How opaque tokens are judged; nothing refuses them.
    pub introspection: Option<Introspection>,
    /// The bounds.
    pub limits: Limits,
}

impl Options {
    /// Tokens that `issuer` has issued for `audience`.
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            keys: KeySource::Discovery,
            algorithms: Algorithm::ALL.to_vec(),
            token_type: TokenType::Any,
            leeway: Duration::from_secs(30),
            cache: Duration::from_secs(60),
            claims: Claims::default(),
            required_scopes: Vec::new(),
            implies: BTreeMap::new(),
            tenancy: Tenancy::Optional,
            introspection: None,
            limits: Limits::default(),
        }
    }
}

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// At the `jwks_uri` of the issuer's metadata (RFC 8414, OpenID Connect Discovery).
    Discovery,
    /// At that URL.
    Url(String),
    /// In that file, which is read again when it is old or lacks a key.
    File(PathBuf),
}

/// A signature algorithm with a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// The name in the header of a token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of that name. `Ed25519` is the newer name of `EdDSA` on that curve (RFC 9864).
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }
}

/// Which types (`typ`) of signed tokens are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenType {
    /// None, `JWT` and `at+jwt`.
    Any,
    /// `at+jwt` only (RFC 9068), which no ID token has.
    AccessToken,
}

/// Whether a token must name a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// It may.
    Optional,
    /// It must: data is kept apart by tenant.
    Required,
}

/// How opaque tokens are judged (RFC 7662).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Introspection {
    /// The endpoint.
    pub url: String,
    /// Who this server is there.
    pub client_id: String,
    /// How it proves that.
    pub client_secret: Secret,
    /// How the secret is sent. Default: in the `Authorization` header.
    pub authentication: ClientAuthentication,
    /// Which tokens are asked about. Default: those that are no signed tokens.
    pub tokens: OpaqueTokens,
}

impl Introspection {
    /// Questions to `url` in the name of a client.
    #[must_use]
    pub fn new(url: impl Into<String>, client_id: impl Into<String>, client_secret: Secret) -> Self {
        Self {
            url: url.into(),
            client_id: client_id.into(),
            client_secret,
            authentication: ClientAuthentication::Basic,
            tokens: OpaqueTokens::Unsigned,
        }
    }
}

/// How a client sends its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// `client_secret_basic`.
    Basic,
    /// `client_secret_post`.
    Post,
}

/// Which tokens the authorization server is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpaqueTokens {
    /// Those that are no signed tokens.
    Unsigned,
    /// All: a revoked one is then refused at once, at the price of one question for each.
    All,
}

/// Why tokens cannot be judged as configured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OptionsError(pub(super) String);

impl Options {
    /// What is asked for keys and the state of tokens must be protected: who can change an answer on its way
    /// decides who calls.
    pub(super) fn check_urls(&self) -> Result<(), OptionsError> {
        let keys = match &self.keys {
            KeySource::Discovery => Some(("the issuer, whose metadata names the keys,", &self.issuer)),
            KeySource::Url(url) => Some(("the URL of the keys", url)),
            KeySource::File(_) => None,
        };
        let introspection = self
            .introspection
            .as_ref()
            .map(|introspection| ("the introspection endpoint", &introspection.url));
        for (what, url) in keys.into_iter().chain(introspection) {
            check_url(url).map_err(|why| OptionsError(format!("{what} cannot be asked: {why}")))?;
        }
        Ok(())
    }
}

/// Whether a URL may be asked for keys, metadata or the state of a token: `https`, or `http` to this machine.
///
/// # Errors
/// What is wrong with it.
pub fn check_url(url: &str) -> Result<(), &'static str> {
    let parsed = reqwest::Url::parse(url).map_err(|_| "it is no absolute URL")?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("it holds a user name or a password");
    }
    if parsed.fragment().is_some() {
        return Err("it has a fragment");
    }
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&parsed) => Ok(()),
        "http" => Err("`http` is for addresses of this machine only"),
        _ => Err("its scheme is not `https`"),
    }
}

pub(super) fn is_loopback(url: &reqwest::Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Introspection, KeySource, Options, check_url};
    use crate::secret::Secret;

    #[test]
    fn no_algorithm_has_a_shared_key() {
        for name in ["none", "HS256", "HS384", "HS512", "rs256", "RSA1_5", ""] {
            assert_eq!(Algorithm::of_name(name), None, "{name}");
        }
        assert!(Algorithm::ALL.iter().all(|one| Algorithm::of_name(one.as_str()) == Some(*one)));
    }

    /// Requirements: AUTH-RS-03
    #[test]
    fn only_protected_urls_and_those_of_this_machine_are_asked() {
        for url in
            ["https://id.example.com/keys", "http://127.0.0.1:8080/", "http://[::1]/a", "http://localhost/"]
        {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in [
            "http://id.example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "https://user:secret@id.example.com/",
            "ftp://id.example.com/",
            "https://id.example.com/#a",
            "/keys",
            "",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    /// Requirements: AUTH-RS-03
    #[test]
    fn nobody_is_made_a_judge_of_tokens_who_would_ask_without_protection() {
        let issued = |issuer: &str| Options::new(issuer, "https://mcp.example.com/mcp");
        let keys = |keys| Options { keys, ..issued("https://id.example.com") };
        let asking = |url: &str| {
            let introspection = Introspection::new(url, "callgate", Secret::new("s".to_owned()));
            Options { introspection: Some(introspection), ..keys(KeySource::File("jwks.json".into())) }
        };
        let made = |options| {
            super::super::Bearer::new(
                Some(options),
                Vec::new(),
                std::sync::Arc::new(callgate_core::port::SystemClock),
            )
        };
        for options in [
            issued("http://id.example.com"),
            keys(KeySource::Url("http://id.example.com/jwks".into())),
            asking("http://id.example.com/introspect"),
        ] {
            let error = made(options).unwrap_err().to_string();
            assert!(error.contains("`http` is for addresses of this machine only"), "{error}");
        }
        for options in [
            issued("https://id.example.com"),
            Options { keys: KeySource::File("jwks.json".into()), ..issued("http://id.example.com") },
            keys(KeySource::Url("http://127.0.0.1:1/jwks".into())),
            asking("https://id.example.com/introspect"),
        ] {
            assert!(made(options).is_ok());
        }
    }
}
