//! Whether a subscription may go on: a subscription lives as long as a request with its credential would be
//! accepted, and tells of a resource as long as it may be read.
//!
//! It is asked again after each reload that could change the answer, and from time to time, because a token
//! may be revoked. It must never let a subscription tell anything while it is being asked, and no answer is
//! the end. It holds the credential for as long as the subscription is open, and shows it to nobody.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arc_swap::ArcSwap;
use callgate_core::offer::OfferKind;
use callgate_core::port::{Authorization, Credentials, Transport};
use callgate_core::principal::Principal;
use callgate_core::usage::permit;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, Sleep, sleep};

use super::{Endpoint, Published};

/// What is found out about a subscription.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Its credential is good no more, or proves somebody else.
    Ends,
    /// It goes on, and may tell of these resources of those that it watched.
    GoesOn(Vec<String>),
}

/// What is needed to ask again.
pub(super) struct Judge {
    published: Arc<ArcSwap<Published>>,
    transport: Transport,
    authorization: Option<Arc<SecretString>>,
    principal: Arc<Principal>,
    running: Option<Pin<Box<dyn Future<Output = Verdict> + Send>>>,
    timer: Pin<Box<Sleep>>,
}

impl Judge {
    pub(super) fn new(
        published: Arc<ArcSwap<Published>>,
        credentials: Credentials<'_>,
        principal: Arc<Principal>,
    ) -> Self {
        let authorization = match credentials.authorization {
            Authorization::One(value) => Some(Arc::new(SecretString::from(value))),
            // What is malformed was refused; as absent it proves no more than that.
            _ => None,
        };
        let timer = Box::pin(sleep(published.load().limits.subscription_check));
        Self { published, transport: credentials.transport, authorization, principal, running: None, timer }
    }

    /// Begins to ask, anew if it is being asked: what is in force may just have changed again.
    pub(super) fn ask(&mut self, watched: Vec<String>) {
        let published = self.published.load_full();
        let (transport, principal) = (self.transport, Arc::clone(&self.principal));
        let authorization = self.authorization.clone();
        self.timer.as_mut().reset(Instant::now() + published.limits.subscription_check);
        self.running = Some(Box::pin(async move {
            let authorization = authorization.as_deref().map(ExposeSecret::expose_secret);
            let credentials = Credentials::new(transport, authorization);
            match Endpoint::authenticate(&published, credentials).await {
                Ok(now) if is_same(&now, &principal) => {
                    Verdict::GoesOn(watchable(&published, &principal, watched).await)
                }
                _ => Verdict::Ends,
            }
        }));
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether it is time to ask again.
    pub(super) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().poll(context)
    }

    /// What was found out. Only asked while it is running.
    pub(super) fn poll_verdict(&mut self, context: &mut Context<'_>) -> Poll<Verdict> {
        let Some(running) = &mut self.running else { return Poll::Pending };
        let verdict = running.as_mut().poll(context);
        if verdict.is_ready() {
            self.running = None;
        }
        verdict
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}

/// Whether both may do the same. A credential that was renewed in place may end later.
fn is_same(now: &Principal, before: &Principal) -> bool {
    let mut now = now.clone();
    now.expires = before.expires;
    now == *before
}

/// Those of the resources that exist for the principal and that it may read.
pub(super) async fn watchable(
    published: &Published,
    principal: &Principal,
    uris: Vec<String>,
) -> Vec<String> {
    let mut kept = Vec::with_capacity(uris.len());
    for uri in uris {
        let found = published.offered.resources.then(|| published.resources.find(&uri)).flatten();
        let none = BTreeMap::new();
        let (kind, name, variables) = match &found {
            Some(found) => (found.offered.0, Some(found.offered.1), found.variables()),
            None => (OfferKind::Resource, None, &none),
        };
        if permit(&published.gate, principal, kind, name, variables).await.is_ok() {
            kept.push(uri);
        }
    }
    kept
}
