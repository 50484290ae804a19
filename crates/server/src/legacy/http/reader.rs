//! The body of a streamed response: the events of one stream, from a place on.
//!
//! It must never show an event twice in one response, and must end when its session does. The HTTP transport
//! polls it; dropped, it leaves the stream to the next reader.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use callgate_core::port::Answer;
use callgate_protocol::Revision;
use futures_util::Stream;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::Sessions;
use super::caller::Caller;
use super::client::Client;
use super::streams::{STANDALONE, priming_event};
use crate::legacy::Channel;

/// Reads one stream.
pub(super) struct Reader {
    client: Arc<Client>,
    stream: u64,
    reader: u64,
    after: u64,
    first: Option<String>,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Reader {
    /// Reads a stream from its beginning.
    pub(super) fn begin(client: Arc<Client>, stream: u64) -> Self {
        let revision = client.session().revision();
        // Clients of earlier revisions take an event without content for a malformed message.
        let first = (revision >= Revision::V2025_11_25)
            .then(|| priming_event(stream, 0, client.session().limits().retry));
        Self::attach(client, stream, 0, first)
    }

    /// Reads a stream from behind an event that the client has seen.
    pub(super) fn resume(client: Arc<Client>, stream: u64, after: u64) -> Self {
        client.streams().go_on(stream);
        Self::attach(client, stream, after, None)
    }

    fn attach(client: Arc<Client>, stream: u64, after: u64, first: Option<String>) -> Self {
        client.add_reader();
        let reader = client.streams().attach(stream);
        let ended = Box::pin(client.closed().clone().cancelled_owned());
        Self { client, stream, reader, after, first, ended }
    }
}

impl Stream for Reader {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<String>> {
        let this = &mut *self;
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(first));
        }
        if this.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        this.client.streams().poll_events(this.stream, this.reader, &mut this.after, context)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.client.streams().detach(self.stream, self.reader);
        self.client.remove_reader();
    }
}

/// The stream for what belongs to no request, and what fills it while somebody reads.
pub(super) struct Standalone {
    reader: Reader,
    notices: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Sessions {
    /// Opens the stream for what belongs to no request.
    pub(super) fn standalone(&self, client: Arc<Client>, caller: Caller, after: u64) -> Standalone {
        let (endpoint, told) = (Arc::clone(&self.endpoint), Arc::clone(&client));
        let notices = Box::pin(async move {
            let channel = StandaloneChannel { client: &told };
            told.session().notices(&endpoint, caller.from(), &channel).await;
        });
        let retry = client.session().limits().retry;
        let first = (client.session().revision() >= Revision::V2025_11_25)
            .then(|| priming_event(STANDALONE, after, retry));
        let reader = Reader::attach(client, STANDALONE, after, first);
        let shutdown = self.shutdown.clone();
        let stopped = Box::pin(async move { shutdown.begun().await });
        Standalone { reader, notices: Some(notices), stopped }
    }
}

impl Stream for Standalone {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<String>> {
        if self.stopped.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        if let Some(notices) = &mut self.notices
            && notices.as_mut().poll(context).is_ready()
        {
            self.notices = None;
        }
        match Pin::new(&mut self.reader).poll_next(context) {
            // Nothing will come any more: the credential has ended, or there was no room for a listener. An
            // open stream would hide that and keep the session in use.
            Poll::Pending if self.notices.is_none() => Poll::Ready(None),
            polled => polled,
        }
    }
}

/// The way onto that stream.
struct StandaloneChannel<'c> {
    client: &'c Client,
}

impl Channel for StandaloneChannel<'_> {
    fn lines(&self, lines: &str) {
        for line in lines.lines() {
            self.message(line);
        }
    }

    fn message(&self, text: &str) {
        self.client.streams().push(STANDALONE, text.to_owned());
    }

    fn room(&self) -> Answer<'_, ()> {
        // The body takes each notice before it asks for the next: see `poll_next`.
        Answer::now(())
    }

    fn close_stream(&self) {
        // It belongs to no request that could close it.
    }
}
