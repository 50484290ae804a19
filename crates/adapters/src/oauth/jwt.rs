//! Signed tokens (RFC 7515, 7519, 9068).
//!
//! The algorithm comes from the configuration and the key, never from the token alone: what the token names
//! must be configured and fit the key, so that none, a symmetric one and one of another family never verify.
//! Keys that a token brings along or points to are not looked at. [`Bearer`](super::Bearer) calls it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_core::port::Clock;
use callgate_core::refusal::Refusal;
use callgate_protocol::json::{Document, Kind, Limits as JsonLimits};

use super::claims::{self, Presence};
use super::fetch::Fetch;
use super::keys::{KeyError, KeyStore};
use super::options::{Algorithm, TokenType};
use super::scope::Hierarchy;
use super::{Limits, Options, Verified, invalid, unavailable};

/// Bounds on the parts of a token, whose length was bounded before.
const PARTS: JsonLimits = JsonLimits::DEFAULT.with_depth(32).with_nodes(1 << 14);
/// The longest name of a key, in bytes.
const KEY_NAME: usize = 512;

/// A token in three parts with a header that can be read. Nothing of it is proved.
pub(super) struct Signed<'t> {
    header: Document,
    claims: &'t str,
    signature: &'t str,
    /// What was signed.
    message: &'t str,
}

impl<'t> Signed<'t> {
    /// Nothing for what is no signed token at all, and may be an opaque one.
    pub(super) fn read(token: &'t str, limits: &Limits) -> Option<Self> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        if claims.contains('.') || token.len() > limits.token_bytes {
            return None;
        }
        let header = Document::parse_bytes(URL_SAFE_NO_PAD.decode(header).ok()?, &PARTS).ok()?;
        let is_header = header.root().kind() == Kind::Object && header.root().get("alg").is_some();
        is_header.then_some(Self { header, claims, signature, message })
    }

    /// The algorithm and the name of the key, as far as the options accept them.
    pub(super) fn read_header(&self, options: &Options) -> Result<(Algorithm, Option<String>), Refusal> {
        let header = self.header.root();
        let member = |name: &str| header.get(name);
        // "If any of the listed extension Header Parameters are not understood and supported by the
        // recipient, then the JWS is invalid" (RFC 7515, section 4.1.11). None is supported.
        if member("crit").is_some() || member("b64").is_some() || member("zip").is_some() {
            return Err(invalid("the token uses an extension that is not supported"));
        }
        let algorithm = member("alg").and_then(|name| Algorithm::of_name(&name.as_str()?));
        let algorithm = algorithm.filter(|algorithm| options.algorithms.contains(algorithm));
        let algorithm =
            algorithm.ok_or(invalid("the token is signed with an algorithm that is not accepted"))?;
        let of_type = |name: &str| {
            let name = name.to_ascii_lowercase();
            let name = name.strip_prefix("application/").unwrap_or(&name);
            name == "at+jwt" || (name == "jwt" && options.token_type == TokenType::Any)
        };
        let is_access_token = match member("typ") {
            None => options.token_type == TokenType::Any,
            Some(name) => name.as_str().is_some_and(|name| of_type(&name)),
        };
        if !is_access_token {
            return Err(invalid("the token is of a type that gives no access"));
        }
        let kid = match member("kid") {
            None => None,
            Some(name) => {
                let name = name.as_str().filter(|name| name.len() <= KEY_NAME);
                Some(
                    name.ok_or(invalid("the token names its key in a way that cannot be read"))?.into_owned(),
                )
            }
        };
        Ok((algorithm, kid))
    }
}

/// Verifies signed tokens.
pub(super) struct Verifier {
    options: Arc<Options>,
    hierarchy: Hierarchy,
    keys: Arc<KeyStore>,
}

impl Verifier {
    pub(super) fn new(options: Arc<Options>, fetch: Fetch) -> Self {
        let hierarchy = Hierarchy::new(&options.implies);
        let keys = Arc::new(KeyStore::new(&options, fetch));
        Self { options, hierarchy, keys }
    }

    /// A number that changes with the keys.
    pub(super) fn revision(&self) -> u64 {
        self.keys.revision()
    }

    /// Cancel safe: keys that are being fetched arrive all the same.
    pub(super) async fn verify(&self, signed: Signed<'_>, clock: &dyn Clock) -> Result<Verified, Refusal> {
        let (algorithm, kid) = signed.read_header(&self.options)?;
        let found = self.keys.find(kid.as_deref(), algorithm).await.map_err(|error| match error {
            KeyError::Unknown => invalid("the token is signed with a key that its issuer does not publish"),
            KeyError::Unavailable(why) => unavailable(why),
        })?;
        if !found.keys.iter().any(|key| key.verifies(algorithm, signed.message, signed.signature)) {
            return Err(invalid("the signature of the token is wrong"));
        }
        let claims = URL_SAFE_NO_PAD.decode(signed.claims).ok();
        let claims = claims.and_then(|claims| Document::parse_bytes(claims, &PARTS).ok());
        // Also for a name that stands twice: which of the two would count?
        let claims = claims.ok_or(invalid("the claims of the token cannot be read"))?;
        let principal =
            claims::read(&claims, Presence::Required, &self.options, &self.hierarchy, clock.now())?;
        // Whatever the subject is taken from, an access token names one (RFC 9068, section 2.2).
        if claims.root().get("sub").is_none_or(|subject| subject.kind() != Kind::String) {
            return Err(invalid("the token lacks `sub`"));
        }
        Ok(Verified { principal, revision: Some(found.revision) })
    }
}
