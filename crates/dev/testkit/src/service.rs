//! A service behind tools that does what a test tells it, on a real socket: it answers, waits, resets, cuts, grows,
//! unpacks to too much, points elsewhere, or closes where it said that it would not.
//!
//! It keeps every request as it came, so that a test can look for what must not be in it. It is for tests only.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What the service does when a path is asked for.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// It answers with a status, more header lines and a body, and keeps the connection.
    Answer(u16, String, Vec<u8>),
    /// It answers with the request as JSON: method, target, headers and body.
    Echo,
    /// It takes the request and says nothing.
    Hang,
    /// It sends a head and half of the body, and then nothing.
    HangInBody,
    /// It takes the request and closes the connection.
    Close,
    /// It takes the request and resets the connection.
    Reset,
    /// It announces more than it sends, and closes.
    Truncate,
    /// It begins a body that never ends.
    Grow,
    /// It answers, and closes the connection although it did not say so.
    CloseAfter(String),
}

impl Behaviour {
    /// An answer of JSON.
    #[must_use]
    pub fn json(text: impl Into<String>) -> Self {
        Self::Answer(200, "Content-Type: application/json\r\n".to_owned(), text.into().into_bytes())
    }

    /// A status without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Answer(status, String::new(), Vec::new())
    }

    /// An answer of JSON with a status.
    #[must_use]
    pub fn failure(status: u16, text: impl Into<String>) -> Self {
        Self::Answer(status, "Content-Type: application/json\r\n".to_owned(), text.into().into_bytes())
    }

    /// JSON that was packed by gzip.
    ///
    /// # Panics
    /// Never: memory takes everything.
    #[must_use]
    #[expect(clippy::expect_used, reason = "writing to memory does not fail")]
    pub fn packed(json: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(json).expect("memory");
        let head = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n".to_owned();
        Self::Answer(200, head, encoder.finish().expect("memory"))
    }
}

/// A running service.
#[derive(Debug)]
pub struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Told when a client leaves while it is kept waiting.
    left: Notify,
}

#[derive(Debug, Default)]
struct State {
    behaviours: BTreeMap<String, Behaviour>,
    requests: Vec<String>,
    connections: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Starts on a free loopback port. Every path is answered with 404 until a behaviour is given.
    pub async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    /// Starts at an address.
    ///
    /// # Panics
    /// When the address is in use.
    #[expect(clippy::expect_used, reason = "without a port the test fails")]
    pub async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.expect("a loopback port");
        let address = listener.local_addr().expect("the address of a bound socket");
        let shared: Arc<Shared> = Arc::default();
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                state.lock().connections += 1;
                tokio::spawn(async move {
                    // A client that goes away is no fault.
                    let _gone = serve(stream, &state).await;
                });
            }
        });
        Self { address, shared, task }
    }

    /// Where it is, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Says what happens at a path. The query does not count.
    pub fn behave(&self, path: &str, behaviour: Behaviour) {
        self.shared.lock().behaviours.insert(path.to_owned(), behaviour);
    }

    /// Every request so far, head and body.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.shared.lock().requests.clone()
    }

    /// The last request, head and body.
    #[must_use]
    pub fn last(&self) -> String {
        self.shared.lock().requests.last().cloned().unwrap_or_default()
    }

    /// How many connections were made.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// Comes back when a client has left that was kept waiting, and false when none does in time.
    pub async fn is_left(&self, within: Duration) -> bool {
        tokio::time::timeout(within, self.shared.left.notified()).await.is_ok()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut unread = Vec::new();
    while let Some(request) = read(&mut stream, &mut unread).await? {
        let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let behaviour = {
            let mut state = shared.lock();
            state.requests.push(request.clone());
            state.behaviours.get(&path).cloned().unwrap_or_else(|| Behaviour::status(404))
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        match behaviour {
            Behaviour::Answer(status, more, body) => answer(&mut stream, status, &more, &body).await?,
            Behaviour::Echo => {
                let body = echo(&request);
                answer(&mut stream, 200, "Content-Type: application/json\r\n", body.as_bytes()).await?;
            }
            Behaviour::Hang => return wait(&mut stream, shared).await,
            Behaviour::HangInBody => {
                stream.write_all(format!("{head}Content-Length: 100\r\n\r\n{{\"a\":").as_bytes()).await?;
                return wait(&mut stream, shared).await;
            }
            Behaviour::Close => return Ok(()),
            Behaviour::Reset => {
                // Bytes that nobody reads make the system reset instead of ending in order.
                stream.set_zero_linger()?;
                return Ok(());
            }
            Behaviour::Truncate => {
                let text = format!("{head}Content-Length: 100\r\n\r\n{{\"a\":");
                return stream.write_all(text.as_bytes()).await;
            }
            Behaviour::Grow => {
                stream.write_all(format!("{head}Connection: close\r\n\r\n[").as_bytes()).await?;
                loop {
                    stream.write_all(&[b' '; 8192]).await?;
                }
            }
            Behaviour::CloseAfter(body) => {
                return answer(&mut stream, 200, "Content-Type: application/json\r\n", body.as_bytes()).await;
            }
        }
    }
    Ok(())
}

/// Keeps a client waiting until it leaves.
async fn wait(stream: &mut TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut part = [0; 64];
    let ended = stream.read(&mut part).await;
    if !matches!(ended, Ok(read) if read > 0) {
        shared.left.notify_one();
    }
    Ok(())
}

async fn answer(stream: &mut TcpStream, status: u16, more: &str, body: &[u8]) -> std::io::Result<()> {
    let length = match status {
        204 | 304 => String::new(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    let mut text = format!("HTTP/1.1 {status} Said\r\n{more}{length}\r\n").into_bytes();
    text.extend_from_slice(body);
    stream.write_all(&text).await
}

/// The next request of a connection; nothing at its end.
async fn read(stream: &mut TcpStream, unread: &mut Vec<u8>) -> std::io::Result<Option<String>> {
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(unread).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length: usize = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0);
            let end = head.len() + 4 + length;
            if unread.len() >= end {
                let request = unread.drain(..end).collect::<Vec<_>>();
                return Ok(Some(String::from_utf8_lossy(&request).into_owned()));
            }
        }
        let read = stream.read(&mut part).await?;
        if read == 0 {
            return Ok(None);
        }
        unread.extend_from_slice(part.get(..read).unwrap_or_default());
    }
}

/// A request as JSON.
fn echo(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let mut json = String::from("{\"method\":");
    let push = |json: &mut String, text: &str| callgate_protocol::json::push_string(json, text);
    push(&mut json, first.next().unwrap_or_default());
    json.push_str(",\"target\":");
    push(&mut json, first.next().unwrap_or_default());
    json.push_str(",\"headers\":[");
    for (index, line) in lines.enumerate() {
        if index > 0 {
            json.push(',');
        }
        push(&mut json, line);
    }
    json.push_str("],\"body\":");
    push(&mut json, body);
    json.push('}');
    json
}
