//! Opaque tokens: the authorization server is asked what they are worth (RFC 7662).
//!
//! It must never take a token for active that the server does not call so, and never one for another
//! audience; an answer passes the same checks as the claims of a signed token. Strangers can make up tokens
//! as fast as they like, so how many questions are open and how many wait is bounded, a refused token is not
//! asked about again for a short time, and an endpoint that fails is left alone for a while.
//! [`Bearer`](super::Bearer) calls it.

mod pause;
mod refused;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callgate_core::port::Clock;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Document, Limits as JsonLimits};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::claims::{self, Presence};
use super::fetch::{Fetch, FetchError};
use super::options::{ClientAuthentication, Introspection, OpaqueTokens, Options};
use super::scope::Hierarchy;
use super::{TokenDigest, Verified, invalid, unavailable};
use crate::form::push_encoded;
use pause::{Pause, Trouble};
use refused::Refused;

/// Asks about tokens.
pub(super) struct Introspector {
    introspection: Introspection,
    options: Arc<Options>,
    hierarchy: Hierarchy,
    fetch: Fetch,
    places: Semaphore,
    /// Places in the queue for a place.
    queue: Semaphore,
    refused: Refused,
    pause: Pause,
}

impl Introspector {
    pub(super) fn new(introspection: Introspection, options: Arc<Options>, fetch: Fetch) -> Self {
        let hierarchy = Hierarchy::new(&options.implies);
        let limits = &options.limits;
        let places = Semaphore::new(limits.introspections.max(1));
        let queue = Semaphore::new(limits.introspections_waiting);
        let refused = Refused::new(limits.refused_tokens, limits.refused_for);
        let pause = Pause::new(limits);
        Self { introspection, options, hierarchy, fetch, places, queue, refused, pause }
    }

    /// Whether it is asked about signed tokens too.
    pub(super) fn asks_for_all(&self) -> bool {
        self.introspection.tokens == OpaqueTokens::All
    }

    /// Cancel safe: the question is given up.
    pub(super) async fn ask(
        &self,
        token: &str,
        digest: TokenDigest,
        clock: &dyn Clock,
    ) -> Result<Verified, Refusal> {
        if let Some(reason) = self.refused.find(&digest) {
            return Err(invalid(reason));
        }
        let _place = self.place().await?;
        if !self.pause.may_ask() {
            return Err(unavailable("introspection: the endpoint has failed and is left alone for a while"));
        }
        let answer = self.question(token).await.map_err(|error| {
            self.pause.failed(trouble(&error));
            tracing::warn!(%error, "the introspection endpoint did not say what a token is worth");
            unavailable(format_args!("introspection: {error}"))
        })?;
        self.pause.worked();
        let judged = self.judge(&answer, clock);
        if let Err(refusal) = &judged
            && refusal.code() == Code::InvalidToken
        {
            self.refused.keep(digest, refusal.public());
        }
        judged
    }

    /// A place to ask; nobody waits for one when too many do.
    async fn place(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let too_many = |_| unavailable("introspection: too many tokens wait for the endpoint");
        let _waiting = self.queue.try_acquire().map_err(too_many)?;
        self.places.acquire().await.map_err(unavailable)
    }

    fn judge(&self, answer: &Document, clock: &dyn Clock) -> Result<Verified, Refusal> {
        // `active` is a boolean and nothing else: "true" in quotes is no yes.
        if answer.root().get("active").and_then(|active| active.as_bool()) != Some(true) {
            return Err(invalid("the token is not active"));
        }
        let principal =
            claims::read(answer, Presence::IfPresent, &self.options, &self.hierarchy, clock.now())?;
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

/// Whose trouble a failed question is. What an endpoint says of one strange token must not keep it from being
/// asked about others: whoever made that token up would lock everybody out.
const fn trouble(error: &FetchError) -> Trouble {
    match error {
        FetchError::Status(401 | 403 | 429 | 500..) => Trouble::Endpoint,
        FetchError::Timeout | FetchError::Unreachable | FetchError::Broken => Trouble::Endpoint,
        FetchError::Status(_) | FetchError::TooLong | FetchError::Malformed(_) | FetchError::File => {
            Trouble::Token
        }
    }
}
