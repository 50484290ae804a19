//! A client of an earlier revision, over either transport. Everything that the server sends to it is judged
//! by the schema of the revision.

use std::net::SocketAddr;
use std::time::Duration;

use callgate_protocol::Revision;
use callgate_server::{Handle, HttpOptions, Shutdown};
use callgate_testkit::traffic::Traffic;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::time::timeout;

use super::server;
use crate::stdio::child::{Server, id_of, legacy, parse};

const PATIENCE: Duration = Duration::from_secs(30);

/// Over which transport a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Stdio,
    Http,
}

/// Everything that a client of any revision may declare.
pub(super) const EVERYTHING: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#;

/// The parameters of `initialize`.
pub(super) fn hello(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"t","version":"1"}}}}"#
    )
}

/// How a client answers a question of the server: with the `result` or `error` member.
pub(super) type Answerer = fn(question: &str) -> &'static str;

/// A client that has nothing to say.
pub(super) fn silent(_: &str) -> &'static str {
    r#""error":{"code":-1,"message":"nobody is here"}"#
}

/// A client.
pub(super) struct Client {
    wire: Wire,
    traffic: Traffic,
    next: u32,
}

enum Wire {
    Stdio(Server),
    Http(Http),
}

impl Client {
    /// Connects and shakes hands.
    pub(super) async fn open(over: Over, revision: Revision, capabilities: &str) -> Self {
        let wire = match over {
            Over::Stdio => Wire::Stdio(Server::start()),
            Over::Http => Wire::Http(Http::start(HttpOptions::default()).await),
        };
        let mut client = Self { wire, traffic: Traffic::new(revision), next: 1 };
        let answer = client.ask("initialize", &hello(revision.as_str(), capabilities)).await;
        assert!(answer.contains(&format!(r#""protocolVersion":"{revision}""#)), "{answer}");
        client.notify(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        client
    }

    /// Sends a request and gives its answer.
    pub(super) async fn ask(&mut self, method: &str, params: &str) -> String {
        let mut messages = self.exchange(method, params, silent).await;
        messages.pop().unwrap()
    }

    /// Calls a tool without arguments.
    pub(super) async fn call(&mut self, tool: &str) -> String {
        self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)).await
    }

    /// Sends a request and gives all that belongs to it, the answer last.
    pub(super) async fn exchange(&mut self, method: &str, params: &str, answerer: Answerer) -> Vec<String> {
        let id = self.next;
        self.next += 1;
        let request = legacy(id, method, params);
        self.traffic.sent(&request);
        let messages = match &mut self.wire {
            Wire::Stdio(server) => over_stdio(server, id, &request, answerer),
            Wire::Http(http) => http.exchange(&request, answerer).await,
        };
        for message in &messages {
            self.traffic.received(message);
        }
        assert_eq!(self.traffic.waiting(), 0, "{messages:?}");
        messages
    }

    /// Sends a notification.
    pub(super) async fn notify(&mut self, text: &str) {
        match &mut self.wire {
            Wire::Stdio(server) => server.send(text),
            Wire::Http(http) => http.accept(text).await,
        }
    }
}

fn over_stdio(server: &mut Server, id: u32, request: &str, answerer: Answerer) -> Vec<String> {
    server.send(request);
    let mut messages = Vec::new();
    loop {
        let text = server.receive();
        let is_question = question_id(&text);
        messages.push(text);
        let text = messages.last().unwrap();
        match is_question {
            Some(question) => server.send(response(&question, answerer(text))),
            None if id_of(text) == id.to_string() => return messages,
            None => {}
        }
    }
}

/// The id of a message that is a request.
fn question_id(text: &str) -> Option<String> {
    parse(text).root().get("method")?;
    Some(id_of(text)).filter(|id| !id.is_empty())
}

fn response(id: &str, outcome: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)
}

/// A server on a socket and a client that speaks to it.
pub(super) struct Http {
    pub(super) address: SocketAddr,
    pub(super) handle: Handle,
    pub(super) shutdown: Shutdown,
    client: reqwest::Client,
    /// The session, once there is one.
    pub(super) session: Option<String>,
}

impl Http {
    pub(super) async fn start(options: HttpOptions) -> Self {
        let server = server::build().unwrap();
        let shutdown = Shutdown::new();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let http = server.bind_http(address, options, shutdown.clone()).await.unwrap();
        let address = http.local_addr().unwrap();
        tokio::spawn(http.run());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, handle: server.handle(), shutdown, client, session: None }
    }

    /// Starts a server and opens a session.
    pub(super) async fn open(version: &str, options: HttpOptions) -> Self {
        let mut http = Self::start(options).await;
        http.initialize(version).await;
        http
    }

    /// Opens a session; it is used from now on.
    pub(super) async fn initialize(&mut self, version: &str) -> String {
        self.session = None;
        let response = self.post(&legacy(0, "initialize", &hello(version, EVERYTHING))).await;
        assert_eq!(response.status(), StatusCode::OK);
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        self.session = Some(session.clone());
        session
    }

    /// The headers of a client that has a session.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(session) = &self.session {
            headers.insert("mcp-session-id", HeaderValue::from_str(session).unwrap());
        }
        headers
    }

    pub(super) async fn post(&self, text: &str) -> Response {
        self.post_with(text, self.headers()).await
    }

    /// Posts with another `Accept` and gives the status.
    pub(super) async fn ask_accepting(&self, accept: &'static str, text: &str) -> u16 {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        self.post_with(text, headers).await.status().as_u16()
    }

    pub(super) async fn post_with(&self, text: &str, mut headers: HeaderMap) -> Response {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.entry(ACCEPT).or_insert(both);
        let request = self.client.post(format!("http://{}/mcp", self.address));
        let request = request.header(CONTENT_TYPE, "application/json");
        timeout(PATIENCE, request.headers(headers).body(text.to_owned()).send()).await.unwrap().unwrap()
    }

    /// Posts what is not answered.
    pub(super) async fn accept(&self, text: &str) {
        let response = self.post(text).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED, "{text}");
        assert_eq!(response.text().await.unwrap(), "");
    }

    /// Posts a request and gives the status, and the one JSON message of the answer.
    pub(super) async fn ask(&self, request: &str) -> (u16, String) {
        let response = self.post(request).await;
        (response.status().as_u16(), response.text().await.unwrap())
    }

    pub(super) async fn delete(&self) -> u16 {
        let request = self.client.delete(format!("http://{}/mcp", self.address)).headers(self.headers());
        timeout(PATIENCE, request.send()).await.unwrap().unwrap().status().as_u16()
    }

    /// Opens a stream, at an event if one is given.
    pub(super) async fn get(&self, last_event: Option<&str>) -> Response {
        let request = self.client.get(format!("http://{}/mcp", self.address)).headers(self.headers());
        let mut request = request.header(ACCEPT, "text/event-stream");
        if let Some(last_event) = last_event {
            request = request.header("last-event-id", last_event);
        }
        timeout(PATIENCE, request.send()).await.unwrap().unwrap()
    }

    async fn exchange(&mut self, request: &str, answerer: Answerer) -> Vec<String> {
        let response = self.post(request).await;
        if let Some(session) = response.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_owned());
        }
        if response.headers()[CONTENT_TYPE] == "application/json" {
            return vec![response.text().await.unwrap()];
        }
        let mut events = Events::of(response);
        let mut messages = Vec::new();
        while let Some(event) = events.next().await {
            if event.data.is_empty() {
                continue;
            }
            if let Some(question) = question_id(&event.data) {
                self.accept(&self::response(&question, answerer(&event.data))).await;
            }
            messages.push(event.data);
        }
        messages
    }
}

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) retry: String,
    pub(super) data: String,
}

/// The events of a response.
pub(super) struct Events {
    response: Response,
    text: String,
}

impl Events {
    pub(super) fn of(response: Response) -> Self {
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Self { response, text: String::new() }
    }

    /// The next event; nothing at the end of the response.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let mut parsed = Event::default();
                for line in event.lines() {
                    match line.split_once(": ") {
                        Some(("id", id)) => parsed.id = id.to_owned(),
                        Some(("retry", retry)) => parsed.retry = retry.to_owned(),
                        Some(("data", data)) => parsed.data = data.to_owned(),
                        _ => assert!(line.starts_with(':'), "{line:?}"),
                    }
                }
                let is_comment = event.starts_with(':');
                self.text = rest.to_owned();
                if is_comment {
                    continue;
                }
                return Some(parsed);
            }
            let chunk = timeout(PATIENCE, self.response.chunk()).await.expect("no event comes").unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}
