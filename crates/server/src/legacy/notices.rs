//! What a legacy client is told outside its requests: changed lists and changed resources.
//!
//! It must never tell of a resource that the client did not subscribe to. It listens as a modern client
//! does, and takes the subscription's id away. stdio runs it from `notifications/initialized` on, HTTP while
//! a client holds a stream open.

use std::pin::pin;

use callgate_protocol::json::Document;
use callgate_protocol::meta::RequestMeta;
use futures_util::FutureExt as _;

use super::{Channel, Session, exchange, render, translate};
use crate::endpoint::{Endpoint, From, Opening, Subscription};

impl Session {
    /// Passes notices on until the server closes its subscriptions. Cancel safe.
    pub(crate) async fn notices(&self, endpoint: &Endpoint, from: From<'_>, channel: &dyn Channel) {
        let mut changed = pin!(self.resubscribe.notified());
        let Some(mut subscription) = self.listen(endpoint, from, Opening::First).await else { return };
        loop {
            tokio::select! {
                biased;
                () = &mut changed => {
                    changed.set(self.resubscribe.notified());
                    let Some(wider) = self.listen(endpoint, from, Opening::Again).await else { return };
                    let mut narrower = std::mem::replace(&mut subscription, wider);
                    // What the one before had still to say is not lost.
                    while let Some(Some(text)) = narrower.next().now_or_never() {
                        if !pass_on(&text, channel) {
                            return;
                        }
                    }
                }
                text = subscription.next() => {
                    if !text.is_some_and(|text| pass_on(&text, channel)) {
                        return;
                    }
                    // A slow reader delays its own notices; the hub keeps the last change of each kind.
                    channel.room().await;
                }
            }
        }
    }

    /// Opens a subscription to everything that this client is told, and takes its acknowledgement.
    async fn listen(&self, endpoint: &Endpoint, from: From<'_>, opening: Opening) -> Option<Subscription> {
        let request = translate::listen(self).ok()?;
        let meta = RequestMeta::read(request.params()).ok()?;
        match endpoint.listen(&request, &meta, from, opening).await {
            Ok(mut subscription) => {
                subscription.next().await?;
                Some(subscription)
            }
            Err(_refusal) => {
                tracing::warn!(
                    "a legacy client gets no notices: it, or the server, has as many subscriptions as it may"
                );
                None
            }
        }
    }
}

/// Sends one notification. False at the closing result, which a legacy client does not know.
fn pass_on(text: &str, channel: &dyn Channel) -> bool {
    let Ok(message) = Document::parse(text, &exchange::OURS) else { return false };
    if message.root().get("method").is_none() {
        return false;
    }
    let mut notice = String::with_capacity(text.len());
    render::push_notice(&mut notice, message.root());
    channel.message(&notice);
    true
}
