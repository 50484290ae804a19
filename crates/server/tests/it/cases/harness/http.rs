//! A client that writes HTTP/1.1 byte by byte, so that a test can say exactly what is sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use callgate_protocol::{Message, Revision, decode, json::Limits};
use callgate_testkit::wire;

/// Longer than any answer takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The messages of the body: one, or those of an event stream.
    pub(crate) fn messages(&self) -> Vec<String> {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let data = self.body.split("\n\n").map(|event| {
                event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .map(str::trim_start)
                    .collect::<String>()
            });
            data.filter(|data| !data.is_empty()).collect()
        } else if self.body.is_empty() {
            Vec::new()
        } else {
            vec![self.body.clone()]
        }
    }

    /// The response message, which is the last one.
    pub(crate) fn response(&self) -> String {
        self.messages().pop().unwrap_or_else(|| panic!("no message: {self:?}"))
    }
}

/// A request that is about to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    /// The method of the message, by which the answer is judged.
    method: Option<String>,
}

impl Post {
    /// With the headers that a correct client would send for this message.
    pub(crate) fn of(address: SocketAddr, message: &str) -> Self {
        let mut headers = vec![
            ("Host".to_owned(), address.to_string().into_bytes()),
            ("Content-Type".to_owned(), b"application/json".to_vec()),
            ("Accept".to_owned(), b"application/json, text/event-stream".to_vec()),
            ("MCP-Protocol-Version".to_owned(), b"2026-07-28".to_vec()),
        ];
        let mut method = None;
        if let Ok(Message::Request(request)) = decode(message.as_bytes().to_vec(), &Limits::DEFAULT) {
            headers.push(("Mcp-Method".to_owned(), request.method().as_bytes().to_vec()));
            let name = request.params().and_then(|params| params.get("name").or_else(|| params.get("uri")));
            if let Some(name) = name.and_then(|name| name.as_str()) {
                let value = callgate_protocol::header::encode_value(&name).into_owned();
                headers.push(("Mcp-Name".to_owned(), value.into_bytes()));
            }
            method = Some(request.method().into_owned());
        }
        Self { path: "/mcp".to_owned(), headers, body: message.as_bytes().to_vec(), method }
    }

    /// To another path.
    pub(crate) fn to(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// Without a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self
    }

    /// With one more header.
    pub(crate) fn and(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// With a header in place of all of that name.
    pub(crate) fn with(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).and(name, value)
    }

    /// With another body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The bytes of the request.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("POST {} HTTP/1.1\r\n", self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a connection of its own and judges every message of the answer.
    pub(crate) fn send(&self, address: SocketAddr) -> Reply {
        let mut connection = Connection::open(address);
        connection.write(&self.bytes());
        let reply = connection.reply();
        for message in reply.messages() {
            wire::assert_server_message(Revision::V2026_07_28, self.method.as_deref(), &message);
        }
        reply
    }
}

/// Sends a message as a correct client would.
pub(crate) fn post(address: SocketAddr, message: &str) -> Reply {
    Post::of(address, message).send(address)
}

/// One connection.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Closes both directions, as a client does that goes away.
    pub(crate) fn abandon(self) {
        let _ = self.0.get_ref().shutdown(Shutdown::Both);
    }

    /// Reads one line, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    /// Reads the head of an answer.
    pub(crate) fn head(&mut self) -> Reply {
        let status_line = self.line();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {status_line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Reply { status, headers, body: String::new() }
    }

    /// Reads a whole answer.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let mut body = Vec::new();
        if let Some(length) = reply.header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            self.0.read_exact(&mut body).unwrap();
        } else if reply
            .header("transfer-encoding")
            .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
        {
            while let Some(chunk) = self.chunk() {
                body.extend_from_slice(&chunk);
            }
        } else if reply.status >= 200 && ![204, 304].contains(&reply.status) {
            self.0.read_to_end(&mut body).unwrap();
        }
        reply.body = String::from_utf8(body).unwrap();
        reply
    }

    /// Reads one chunk of a chunked body; nothing at its end.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.line();
        let size = usize::from_str_radix(line.split(';').next().unwrap().trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.0.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }
}
