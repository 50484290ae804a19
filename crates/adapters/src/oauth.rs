//! Who calls over HTTP: signed access tokens, introspection of opaque ones, and static tokens.
//!
//! [`Bearer`] judges the token of one request by that request alone. It must never accept a token that was
//! issued for another server, by anybody else, or with a symmetric algorithm; it must never let a token, or
//! a part of one, into a log or an error, and never ask a foreign server without a bound on time and size.
//! The gateway makes one from the configuration and gives it to the gate as its authenticator.
//!
//! # What a signed token must have
//! A header with an algorithm that is configured, no `crit`, and no type but that of an access token; claims
//! with `iss` and `aud` exactly as configured, `sub`, and an `exp` that is not over; a signature by a key of
//! the issuer that is meant for this algorithm. A token that is bound to a key of its client (`cnf`) is
//! refused, because taking it as a bearer token would undo what it is bound for.

mod cache;
mod claims;
mod discovery;
mod fetch;
pub(crate) mod fuzzing;
mod header;
mod introspection;
mod jwt;
mod keys;
mod limits;
mod options;
mod scope;
mod tokens;

use std::fmt;
use std::sync::Arc;

use callgate_core::port::{Answer, Authenticate, Authorization, Clock, Credentials};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use sha2::{Digest as _, Sha256};

pub use limits::Limits;
pub use options::{
    Algorithm, ClaimPath, Claims, ClientAuthentication, Introspection, KeySource, OpaqueTokens, Options,
    OptionsError, Tenancy, TokenType, check_url,
};
pub use scope::Hierarchy;
pub use tokens::StaticToken;

use cache::Cache;
use fetch::Fetch;
use header::Presented;
use introspection::Introspector;
use jwt::Verifier;
use tokens::StaticTokens;

/// The digest of a token, by which it is known here.
type TokenDigest = [u8; 32];

/// Judges the bearer token of each request.
pub struct Bearer {
    tokens: StaticTokens,
    oauth: Option<OAuth>,
    clock: Arc<dyn Clock>,
}

/// Tokens of an authorization server.
struct OAuth {
    verifier: Verifier,
    introspector: Option<Introspector>,
    cache: Cache,
    options: Arc<Options>,
}

/// A token that was found to be good, with the revision of the keys that said so; nothing where no key did.
struct Verified {
    principal: Principal,
    revision: Option<u64>,
}

impl Bearer {
    /// Takes tokens of an authorization server, static tokens, or both. Nothing is asked of the
    /// authorization server before the first token comes.
    ///
    /// # Errors
    /// The client for the authorization server cannot be made, or a URL would be asked without protection.
    pub fn new(
        oauth: Option<Options>,
        tokens: Vec<StaticToken>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OptionsError> {
        let oauth = oauth.map(OAuth::new).transpose()?;
        Ok(Self { tokens: StaticTokens::new(tokens), oauth, clock })
    }

    fn judge<'a>(&'a self, token: &'a str) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        let digest: TokenDigest = Sha256::digest(token.as_bytes()).into();
        let now = self.clock.now();
        if let Some(known) = self.tokens.find(&digest, now) {
            return Answer::now(known);
        }
        let Some(oauth) = &self.oauth else {
            return Answer::now(Err(invalid("the token is not known here")));
        };
        if token.len() > oauth.options.limits.token_bytes {
            return Answer::now(Err(invalid("the token is longer than this server accepts")));
        }
        let revision = oauth.verifier.revision();
        if let Some(principal) = oauth.cache.find(&digest, now, revision) {
            return Answer::now(Ok(principal));
        }
        Answer::later(async move {
            let verified = oauth.verify(token, digest, &*self.clock).await?;
            let principal = Arc::new(verified.principal);
            // Where all are asked about, a revoked one is refused at once, so nothing is remembered.
            if !oauth.introspector.as_ref().is_some_and(Introspector::asks_for_all) {
                oauth.cache.keep(digest, &principal, self.clock.now(), verified.revision);
            }
            Ok(principal)
        })
    }
}

impl OAuth {
    fn new(options: Options) -> Result<Self, OptionsError> {
        options.check_urls()?;
        let options = Arc::new(options);
        let fetch = Fetch::new(&options.limits)?;
        let verifier = Verifier::new(Arc::clone(&options), fetch.clone());
        let introspector = options
            .introspection
            .clone()
            .map(|introspection| Introspector::new(introspection, Arc::clone(&options), fetch));
        let cache = Cache::new(options.limits.cached_tokens, options.cache);
        Ok(Self { verifier, introspector, cache, options })
    }

    async fn verify(&self, token: &str, digest: TokenDigest, clock: &dyn Clock) -> Result<Verified, Refusal> {
        let signed = jwt::Signed::read(token, &self.options.limits);
        match (signed, &self.introspector) {
            (Some(_), Some(introspector)) if introspector.asks_for_all() => {
                introspector.ask(token, digest, clock).await
            }
            (Some(signed), _) => self.verifier.verify(signed, clock).await,
            (None, Some(introspector)) => introspector.ask(token, digest, clock).await,
            (None, None) => Err(invalid("the token is no signed token")),
        }
    }
}

impl Authenticate for Bearer {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        let value = match credentials.authorization {
            Authorization::One(value) => value,
            Authorization::Absent => {
                return Answer::now(Err(Refusal::new(Code::Unauthenticated, "a bearer token is required")));
            }
            // Also for kinds of credentials that may come later: what is not known proves nothing.
            _ => {
                let message = "`Authorization` must be sent once, as text";
                return Answer::now(Err(Refusal::new(Code::MalformedCredential, message)));
            }
        };
        match header::read(value) {
            Presented::Token(token) => self.judge(token),
            Presented::OtherScheme => {
                let message = "this server takes bearer tokens only";
                Answer::now(Err(Refusal::new(Code::Unauthenticated, message)))
            }
            Presented::Malformed => {
                let message = "`Authorization` must be `Bearer` and one token";
                Answer::now(Err(Refusal::new(Code::MalformedCredential, message)))
            }
        }
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").field("oauth", &self.oauth.is_some()).finish_non_exhaustive()
    }
}

/// The refusal of a token. The reason is for the client; it holds nothing of the token.
fn invalid(reason: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::new(Code::InvalidToken, reason)
}

/// The refusal of a request whose token cannot be judged now.
fn unavailable(detail: impl fmt::Display) -> Refusal {
    let message = "tokens cannot be checked just now";
    Refusal::new(Code::IdentityUnavailable, message).with_detail(detail)
}
