//! A client of 2026-07-28 that calls a server in the same process.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use callgate_protocol::Revision;
use callgate_protocol::header::encode_value;
use callgate_protocol::json::{Document, Limits, Value};
use callgate_server::{Body, Handle, HttpOptions, HttpService, RemoteAddress, ServerBuilder, Shutdown};
use callgate_testkit::wire::assert_server_message;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use tower_service::Service as _;

const REVISION: Revision = Revision::V2026_07_28;

/// The capabilities of a client that can be asked for everything.
pub(super) const EVERYTHING: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

/// A server and the way to it.
pub(super) struct Caller {
    service: HttpService,
    handle: Handle,
    /// The `clientCapabilities` of each request.
    pub(super) capabilities: &'static str,
    /// Where the requests come from.
    pub(super) remote: SocketAddr,
}

/// One answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) document: Document,
}

impl Answer {
    pub(super) fn text(&self) -> &str {
        self.document.text()
    }

    pub(super) fn result(&self) -> Value<'_> {
        self.document.root().get("result").unwrap_or_else(|| panic!("no result: {}", self.text()))
    }

    pub(super) fn error(&self) -> Value<'_> {
        self.document.root().get("error").unwrap_or_else(|| panic!("no error: {}", self.text()))
    }

    /// The text at a path of the result.
    pub(super) fn string(&self, path: &[&str]) -> String {
        let value = self.result().path(path.iter().copied());
        value
            .and_then(|value| value.as_str())
            .unwrap_or_else(|| panic!("{path:?}: {}", self.text()))
            .into_owned()
    }

    /// The text of the first content block.
    pub(super) fn content(&self) -> String {
        let block = self.result().get("content").and_then(|content| content.items().next());
        let text = block.and_then(|block| block.get("text")).and_then(|text| text.as_str());
        text.unwrap_or_else(|| panic!("no text: {}", self.text())).into_owned()
    }

    pub(super) fn is_error(&self) -> bool {
        self.result().get("isError").and_then(|flag| flag.as_bool()).unwrap_or_default()
    }
}

impl Caller {
    pub(super) fn new(builder: ServerBuilder) -> Self {
        let server = builder.build().unwrap();
        let service = server.http(HttpOptions::default(), &Shutdown::new());
        let remote = (Ipv4Addr::LOCALHOST, 9).into();
        Self { service, handle: server.handle(), capabilities: "{}", remote }
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The same server for a client that can be asked for other things.
    pub(super) fn declaring(mut self, capabilities: &'static str) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Calls a tool.
    pub(super) async fn tool(&self, name: &str, arguments: &str) -> Answer {
        self.send("tools/call", &format!(r#""name":"{name}","arguments":{arguments}"#)).await
    }

    /// Calls a tool with further members of the parameters.
    pub(super) async fn tool_with(&self, name: &str, arguments: &str, members: &str) -> Answer {
        self.send("tools/call", &format!(r#""name":"{name}","arguments":{arguments},{members}"#)).await
    }

    /// Sends a request whose parameters have these members, and judges the answer.
    pub(super) async fn send(&self, method: &str, members: &str) -> Answer {
        let (status, body) = self.open(method, members, &[]).await;
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        assert_server_message(REVISION, Some(method), &text);
        Answer { status, document: Document::parse(text, &Limits::DEFAULT).unwrap() }
    }

    /// Sends a request and gives the body of the answer.
    pub(super) async fn open(&self, method: &str, members: &str, headers: &[(&str, &str)]) -> (u16, Body) {
        let separator = if members.is_empty() { "" } else { "," };
        let capabilities = self.capabilities;
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":"r-1","method":"{method}","params":{{{members}{separator}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}}}"#
        );
        let document = Document::parse(text.as_str(), &Limits::DEFAULT).unwrap();
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        let member = if method == "resources/read" { "uri" } else { "name" };
        if ["tools/call", "prompts/get", "resources/read"].contains(&method)
            && let Some(name) = document.root().path(["params", member]).and_then(|name| name.as_str())
        {
            request = request.header("mcp-name", &*encode_value(&name));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Full::new(Bytes::from(text))).unwrap();
        request.extensions_mut().insert(RemoteAddress(self.remote));
        let mut service = self.service.clone();
        let response = service.call(request).await.unwrap();
        (response.status().as_u16(), response.into_body())
    }

    /// Sends what a client of an earlier revision does: a body to post, or a stream to open where there is none.
    pub(super) async fn legacy(&self, body: Option<&str>, headers: &[(&str, &str)]) -> Response<Body> {
        let method = if body.is_some() { "POST" } else { "GET" };
        let accept = if body.is_some() { "application/json, text/event-stream" } else { "text/event-stream" };
        let mut request = Request::builder().method(method).uri("/mcp").header("host", "localhost");
        request = request.header("content-type", "application/json").header("accept", accept);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::from(body.unwrap_or_default().to_owned()));
        let mut request = request.body(body).unwrap();
        request.extensions_mut().insert(RemoteAddress(self.remote));
        self.service.clone().call(request).await.unwrap()
    }

    /// Opens a subscription.
    pub(super) async fn listen(&self, filter: &str) -> Stream {
        let (status, body) =
            self.open("subscriptions/listen", &format!(r#""notifications":{filter}"#), &[]).await;
        assert_eq!(status, 200);
        Stream::new(body)
    }
}

/// An open subscription.
pub(super) struct Stream {
    body: Pin<Box<Body>>,
    buffer: String,
}

impl Stream {
    pub(super) fn new(body: Body) -> Self {
        Self { body: Box::pin(body), buffer: String::new() }
    }

    /// The next message, or nothing when the stream has ended.
    pub(super) async fn next(&mut self) -> Option<Document> {
        loop {
            if let Some(message) = self.take() {
                return Some(message);
            }
            let frame = poll_fn(|context| self.body.as_mut().poll_frame(context)).await?.unwrap();
            self.push(frame.data_ref().unwrap());
        }
    }

    /// The next message, if one is there now.
    pub(super) fn now(&mut self) -> Option<Document> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(frame)) = self.body.as_mut().poll_frame(&mut context) {
            self.push(frame.unwrap().data_ref().unwrap());
        }
        self.take()
    }

    fn push(&mut self, data: &Bytes) {
        self.buffer.push_str(std::str::from_utf8(data).unwrap());
    }

    fn take(&mut self) -> Option<Document> {
        while let Some(end) = self.buffer.find("\n\n") {
            let event: String = self.buffer.drain(..end + 2).collect();
            if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                assert_server_message(REVISION, Some("subscriptions/listen"), data);
                return Some(Document::parse(data, &Limits::DEFAULT).unwrap());
            }
        }
        None
    }
}
