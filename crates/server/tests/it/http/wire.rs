//! HTTP/1.1 by hand, so that a test can say anything and sees everything.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use callgate_protocol::Revision;
use callgate_testkit::wire::assert_server_message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Long enough for a busy machine, short enough to fail before the test runner does.
const PATIENCE: Duration = Duration::from_secs(20);

/// The metadata of a modern request whose client can do nothing.
pub(super) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// One request, as it goes over the wire.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Call {
    /// A request with a body and the headers of every request.
    pub(super) fn raw(body: impl Into<Vec<u8>>) -> Self {
        let headers = [
            ("Host", "127.0.0.1"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { line: String::from("POST /mcp HTTP/1.1"), headers, body: body.into() }
    }

    /// A correct modern request. `params` are members, or nothing.
    pub(super) fn modern(method: &str, params: &str) -> Self {
        let separator = if params.is_empty() { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{separator}{META}}}}}"#
        );
        Self::raw(body).header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method)
    }

    /// A correct call of a tool.
    pub(super) fn tool(name: &str, arguments: &str) -> Self {
        Self::modern("tools/call", &format!(r#""name":"{name}","arguments":{arguments}"#))
            .header("Mcp-Name", name)
    }

    /// A correct call of a tool by a client that wants to hear of progress and of log messages.
    pub(super) fn listening_tool(name: &str, arguments: &str) -> Self {
        let mut call = Self::tool(name, arguments);
        let meta = META.replace(
            "\"_meta\":{",
            r#""_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"debug","#,
        );
        call.body = String::from_utf8(call.body).unwrap().replace(META, &meta).into_bytes();
        call
    }

    /// Sets a header.
    pub(super) fn header(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    /// Adds a header, whether it is there or not.
    pub(super) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub(super) fn line(mut self, line: &str) -> Self {
        line.clone_into(&mut self.line);
        self
    }

    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Replaces a part of the body.
    pub(super) fn with(mut self, part: &str, by: &str) -> Self {
        let body = String::from_utf8(self.body).unwrap();
        assert!(body.contains(part), "{part} is not in {body}");
        self.body = body.replace(part, by).into_bytes();
        self
    }

    /// The head, with the length of the body.
    pub(super) fn head(&self) -> String {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if !self.body.is_empty()
            && !self.headers.iter().any(|(name, _)| name == "Transfer-Encoding" || name == "Content-Length")
        {
            write!(head, "Content-Length: {}\r\n", self.body.len()).unwrap();
        }
        head.push_str("\r\n");
        head
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head().into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a connection of its own and reads the whole answer.
    pub(super) async fn send(&self, address: SocketAddr) -> Answer {
        let mut connection = Connection::open(address).await;
        connection.write(&self.bytes()).await;
        let method = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("Mcp-Method"));
        connection.answer_to(method.map_or("tools/call", |(_, method)| method.trim())).await
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The code of the JSON-RPC error.
    pub(super) fn code(&self) -> Option<i64> {
        serde_json::from_str::<serde_json::Value>(&self.body).ok()?.get("error")?.get("code")?.as_i64()
    }

    /// Everything but the date.
    pub(super) fn show(&self) -> String {
        let mut text = format!("{}\n", self.status);
        let mut headers = self.headers.clone();
        headers.sort();
        for (name, value) in headers.iter().filter(|(name, _)| name != "date") {
            writeln!(text, "{name}: {value}").unwrap();
        }
        writeln!(text, "\n{}", self.body).unwrap();
        text
    }

    /// The messages of a stream of events, in their order.
    pub(super) fn events(&self) -> Vec<serde_json::Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        events(&self.body)
    }
}

/// The messages in a text of events.
pub(super) fn events(text: &str) -> Vec<serde_json::Value> {
    text.split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// One connection, read byte by byte.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Writes what the server may refuse to read to its end.
    pub(super) async fn try_write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// The next answer to a call of a tool, to its end.
    pub(super) async fn answer(&mut self) -> Answer {
        self.answer_to("tools/call").await
    }

    /// The next answer to a method, to its end; each message in it fits the schema of the revision.
    async fn answer_to(&mut self, method: &str) -> Answer {
        let (status, headers) = self.head().await;
        let mut answer = Answer { status, headers, body: String::new() };
        let body = if answer.header("transfer-encoding") == Some("chunked") {
            let mut body = Vec::new();
            while let Some(chunk) = self.chunk().await {
                body.extend_from_slice(&chunk);
            }
            body
        } else {
            let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
            self.take(length).await
        };
        answer.body = String::from_utf8(body).unwrap();
        for message in answer.body.split("\n\n").map(|event| event.trim_start_matches("data: ")) {
            if message.contains("\"jsonrpc\"") {
                assert_server_message(Revision::V2026_07_28, Some(method), message);
            }
        }
        answer
    }

    /// The status and the headers of the next answer.
    pub(super) async fn head(&mut self) -> (u16, Vec<(String, String)>) {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            assert!(
                self.fill().await,
                "the connection ended before an answer: {:?}",
                String::from_utf8_lossy(&self.buffer)
            );
        };
        let head = String::from_utf8(self.take(end + 4).await).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        (status, headers)
    }

    /// The next chunk of a body, or nothing after the last.
    pub(super) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            if let Some(end) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                break end;
            }
            assert!(self.fill().await, "the connection ended within a body");
        };
        let line = String::from_utf8(self.take(end + 2).await).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let chunk = self.take(length).await;
        self.take(2).await;
        (length > 0).then_some(chunk)
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.fill().await, "the connection ended within an answer");
        }
        self.buffer.drain(..length).collect()
    }

    /// Reads more; false at the end.
    async fn fill(&mut self) -> bool {
        let mut bytes = [0; 16 << 10];
        match timeout(PATIENCE, self.stream.read(&mut bytes)).await.expect("the server says nothing") {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.buffer.extend_from_slice(&bytes[..read]);
                true
            }
        }
    }

    /// True when the server has closed the connection without a word.
    pub(super) async fn is_closed(&mut self) -> bool {
        !self.fill().await
    }

    /// True when nothing comes for so long.
    pub(super) async fn is_silent(&mut self, duration: Duration) -> bool {
        let mut bytes = [0; 1];
        self.buffer.is_empty() && timeout(duration, self.stream.peek(&mut bytes)).await.is_err()
    }
}
