//! `subscriptions/listen`: a stream of whole messages, the acknowledgement first and the closing result
//! last.
//!
//! Nothing but these messages ever travels on it. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use callgate_protocol::error::{push_notification, push_result};
use callgate_protocol::json::{Kind, Value, push_string};
use callgate_protocol::meta::{RequestMeta, SERVER_INFO, SUBSCRIPTION_ID};
use callgate_protocol::{Id, Method, Request};
use tokio::time::{Sleep, sleep};

use super::hub::{Change, Changes, HubFull, Opening, Wants};
use super::judge::{Judge, Verdict, watchable};
use super::list::ListKind;
use super::published::{Identity, Published};
use super::{Answered, Endpoint, Fault, From};

/// One open subscription. Dropping it ends it.
pub(crate) struct Subscription {
    changes: Changes,
    id: Id,
    identity: Arc<Identity>,
    acknowledgement: Option<String>,
    /// Ready when the credential ends under which it was opened.
    expiry: Option<Pin<Box<Sleep>>>,
    judge: Judge,
    is_closed: bool,
}

impl Endpoint {
    /// Opens a subscription, or gives the error to answer with.
    pub(crate) async fn listen(
        &self,
        request: &Request,
        meta: &RequestMeta<'_>,
        from: From<'_>,
        opening: Opening,
    ) -> Result<Subscription, Answered> {
        if let Err(error) = meta.revision() {
            return Err(Self::refuse_meta(request.id(), &error));
        }
        let published = self.published();
        self.open(&published, request, from, opening).await.map_err(|fault| fault.into_answer(request.id()))
    }

    async fn open(
        &self,
        published: &Arc<Published>,
        request: &Request,
        from: From<'_>,
        opening: Opening,
    ) -> Result<Subscription, Fault> {
        let principal = Self::authenticate(published, from.credentials).await?;
        let _places = match opening {
            Opening::First => Some(self.pipeline().admit(&published.gate, &principal)?),
            Opening::Again => None,
        };
        let filter = request
            .params()
            .and_then(|params| params.get("notifications"))
            .filter(|filter| filter.kind() == Kind::Object)
            .ok_or(Fault::params("`notifications` must be an object"))?;
        let flag = |name: &'static str| match filter.get(name) {
            None => Ok(false),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| Fault::params(format!("`notifications.{name}` must be a boolean"))),
        };
        // What is not offered is not honoured, so it is not acknowledged.
        let wants = Wants {
            tools: flag("toolsListChanged")?,
            prompts: flag("promptsListChanged")? && published.offered.prompts,
            resources: flag("resourcesListChanged")? && published.offered.resources,
        };
        let mut uris = watched(filter)?;
        let expiry = principal.expires.map(|expires| {
            let left = expires.0.saturating_sub(self.pipeline().clock().now().0);
            Box::pin(sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))))
        });
        let judge = Judge::new(Arc::clone(self.shared()), from.credentials, Arc::clone(&principal));
        let of_principal = published.limits.subscriptions_of_principal;
        let changes = self.hub().listen(Arc::clone(&principal), wants, opening, of_principal);
        let changes = changes.map_err(|full| match full {
            HubFull::Process => Fault::Full("too many subscriptions are open; try again later"),
            HubFull::Principal => {
                Fault::Full("this caller has as many subscriptions open as it may; end one")
            }
        })?;
        let mut honoured = Vec::new();
        // No more are looked at than may be watched, however many are named.
        uris.truncate(published.limits.watched_resources);
        for uri in watchable(published, &principal, uris).await {
            if changes.watch(&uri, published.limits.watched_resources) {
                honoured.push(uri);
            }
        }
        if !Arc::ptr_eq(&self.published(), published) {
            changes.assume_changed();
        }
        let id = request.id().clone();
        let acknowledgement = Some(acknowledge(&id, filter, wants, &honoured));
        let identity = Arc::clone(&published.identity);
        Ok(Subscription { changes, id, identity, acknowledgement, expiry, judge, is_closed: false })
    }
}

fn watched(filter: Value<'_>) -> Result<Vec<String>, Fault> {
    let Some(list) = filter.get("resourceSubscriptions") else { return Ok(Vec::new()) };
    let fault = || Fault::params("`notifications.resourceSubscriptions` must be an array of strings");
    if list.kind() != Kind::Array {
        return Err(fault());
    }
    list.items().map(|uri| uri.as_str().map(|uri| uri.into_owned()).ok_or_else(fault)).collect()
}

fn acknowledge(id: &Id, filter: Value<'_>, wants: Wants, uris: &[String]) -> String {
    let mut params = open_meta(id);
    params.push_str("},\"notifications\":{");
    let start = params.len();
    let member = |out: &mut String, name: &str, text: &str| {
        if out.len() > start {
            out.push(',');
        }
        push_string(out, name);
        out.push(':');
        out.push_str(text);
    };
    for (name, is_wanted) in [
        ("toolsListChanged", wants.tools),
        ("promptsListChanged", wants.prompts),
        ("resourcesListChanged", wants.resources),
    ] {
        if is_wanted {
            member(&mut params, name, "true");
        }
    }
    if filter.get("resourceSubscriptions").is_some() {
        let mut list = String::from("[");
        for (at, uri) in uris.iter().enumerate() {
            if at > 0 {
                list.push(',');
            }
            push_string(&mut list, uri);
        }
        list.push(']');
        member(&mut params, "resourceSubscriptions", &list);
    }
    params.push_str("}}");
    notification(Method::SubscriptionsAcknowledged, &params)
}

/// The start of `params` with the subscription's id; `_meta` is left open.
fn open_meta(id: &Id) -> String {
    let mut out = String::with_capacity(192);
    out.push_str("{\"_meta\":{\"");
    out.push_str(SUBSCRIPTION_ID);
    out.push_str("\":");
    out.push_str(id.as_json());
    out
}

fn notification(method: Method, params: &str) -> String {
    let mut out = String::with_capacity(params.len() + 96);
    push_notification(&mut out, method.as_str(), Some(params));
    out
}

impl Subscription {
    /// The next message, or nothing after the closing result.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        if let Some(acknowledgement) = self.acknowledgement.take() {
            return Poll::Ready(Some(acknowledgement));
        }
        if self.is_closed {
            return Poll::Ready(None);
        }
        // Nothing more is told on the strength of a credential that has ended.
        if let Some(expiry) = &mut self.expiry
            && expiry.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Some(self.close()));
        }
        loop {
            if self.judge.is_running() {
                match self.judge.poll_verdict(context) {
                    Poll::Ready(Verdict::Ends) => return Poll::Ready(Some(self.close())),
                    Poll::Ready(Verdict::GoesOn(watched)) => self.changes.keep(&watched),
                    // The end of the server waits for nobody.
                    Poll::Pending if self.changes.is_closing(context) => {
                        return Poll::Ready(Some(self.close()));
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
            if self.judge.poll_due(context).is_ready() {
                self.judge.ask(self.changes.watched());
                continue;
            }
            match self.changes.poll_next(context) {
                Poll::Ready(Change::Judge) => self.judge.ask(self.changes.watched()),
                change => return change.map(|change| Some(self.render(&change))),
            }
        }
    }

    /// The next message. Cancel safe: a message that was not returned is not lost.
    pub(crate) async fn next(&mut self) -> Option<String> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// The closing result, for a transport that ends before the server does. Nothing follows it.
    pub(crate) fn close(&mut self) -> String {
        self.render(&Change::Closing)
    }

    fn render(&mut self, change: &Change) -> String {
        let mut params = open_meta(&self.id);
        let method = match change {
            Change::List(ListKind::Tools) => Method::ToolsListChanged,
            Change::List(ListKind::Prompts) => Method::PromptsListChanged,
            Change::List(ListKind::Resources | ListKind::Templates) => Method::ResourcesListChanged,
            Change::Resource(uri) => {
                params.push_str("},\"uri\":");
                push_string(&mut params, uri);
                params.push('}');
                return notification(Method::ResourcesUpdated, &params);
            }
            // Judging is no message; it is never rendered.
            Change::Judge | Change::Closing => {
                self.is_closed = true;
                let mut result = String::with_capacity(192);
                result.push_str("{\"resultType\":\"complete\",\"_meta\":{\"");
                result.push_str(SUBSCRIPTION_ID);
                result.push_str("\":");
                result.push_str(self.id.as_json());
                result.push_str(",\"");
                result.push_str(SERVER_INFO);
                result.push_str("\":");
                result.push_str(&self.identity.rendered);
                result.push_str("}}");
                let mut out = String::with_capacity(result.len() + 64);
                push_result(&mut out, &self.id, &result);
                return out;
            }
        };
        params.push_str("}}");
        notification(method, &params)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({})", self.id)
    }
}
