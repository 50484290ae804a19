//! Opaque tokens: the authorization server is asked what they are worth (RFC 7662).
//!
//! It must never take a token for active that the server does not call so, and never one for another
//! audience; an answer passes the same checks as the claims of a signed token. How many questions are open at
//! a time is bounded. [`Bearer`](super::Bearer) calls it.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callgate_core::port::Clock;
use callgate_core::refusal::Refusal;
use callgate_protocol::json::{Document, Limits as JsonLimits};
use tokio::sync::Semaphore;

use super::claims::{self, Presence};
use super::fetch::{Fetch, FetchError};
use super::options::{ClientAuthentication, Introspection, OpaqueTokens, Options};
use super::scope::Hierarchy;
use super::{Verified, invalid, unavailable};

/// Asks about tokens.
pub(super) struct Introspector {
    introspection: Introspection,
    options: Arc<Options>,
    hierarchy: Hierarchy,
    fetch: Fetch,
    places: Semaphore,
}

impl Introspector {
    pub(super) fn new(introspection: Introspection, options: Arc<Options>, fetch: Fetch) -> Self {
        let hierarchy = Hierarchy::new(&options.implies);
        let places = Semaphore::new(options.limits.introspections.max(1));
        Self { introspection, options, hierarchy, fetch, places }
    }

    /// Whether it is asked about signed tokens too.
    pub(super) fn asks_for_all(&self) -> bool {
        self.introspection.tokens == OpaqueTokens::All
    }

    /// Cancel safe: the question is given up.
    pub(super) async fn ask(&self, token: &str, clock: &dyn Clock) -> Result<Verified, Refusal> {
        let _place = self.places.acquire().await.map_err(unavailable)?;
        let answer = self.question(token).await.map_err(|error| {
            tracing::warn!(%error, "the introspection endpoint did not say what a token is worth");
            unavailable(format_args!("introspection: {error}"))
        })?;
        // `active` is a boolean and nothing else: "true" in quotes is no yes.
        if answer.root().get("active").and_then(|active| active.as_bool()) != Some(true) {
            return Err(invalid("the token is not active"));
        }
        let principal =
            claims::read(&answer, Presence::IfPresent, &self.options, &self.hierarchy, clock.now())?;
        Ok(Verified { principal, revision: None })
    }

    async fn question(&self, token: &str) -> Result<Document, FetchError> {
        let Introspection { url, client_id, client_secret, authentication, .. } = &self.introspection;
        let (mut id, mut secret) = (String::new(), String::new());
        push_encoded(&mut id, client_id);
        push_encoded(&mut secret, client_secret.expose());
        let mut form = String::from("token_type_hint=access_token&token=");
        push_encoded(&mut form, token);
        let authorization = match authentication {
            ClientAuthentication::Basic => {
                Some(format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
            }
            ClientAuthentication::Post => {
                form.push_str("&client_id=");
                form.push_str(&id);
                form.push_str("&client_secret=");
                form.push_str(&secret);
                None
            }
        };
        let body = self.fetch.post(url, form, authorization).await?;
        let limits = JsonLimits::DEFAULT.with_depth(32);
        Document::parse_bytes(body, &limits).map_err(|_| FetchError::Malformed("no JSON"))
    }
}

/// Appends a text as `application/x-www-form-urlencoded` has it.
fn push_encoded(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._*".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
