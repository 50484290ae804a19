//! An authorization server that does what a test tells it, on a real socket: it answers, hangs, lies, grows,
//! redirects or breaks off.
//!
//! It issues nothing by itself; tokens come from [`SigningKey`]. It is for tests only: it checks nothing of
//! what it is asked.

mod key;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub use key::{SigningKey, assemble};

/// What the server does when a path is asked for.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// It answers with this JSON.
    Json(String),
    /// It answers with this status and nothing else.
    Status(u16),
    /// It sends the client elsewhere.
    Redirect(String),
    /// It takes the request and says nothing.
    Hang,
    /// It begins an answer that never ends.
    Grow,
    /// It announces more than it sends.
    BreakOff,
}

/// A running server.
#[derive(Debug)]
pub struct Issuer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    behaviours: BTreeMap<String, Behaviour>,
    requests: Vec<(String, String)>,
}

impl Issuer {
    /// Starts on a free loopback port. Every path is answered with 404 until a behaviour is given.
    ///
    /// # Panics
    /// When there is no free port.
    #[expect(clippy::expect_used, reason = "without a port the test fails")]
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("the address of a bound socket");
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    // A client that goes away is no fault.
                    let _gone = answer(stream, &state).await;
                });
            }
        });
        Self { address, state, task }
    }

    /// The server as an issuer, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Says what happens at a path.
    pub fn behave(&self, path: &str, behaviour: Behaviour) {
        self.state().behaviours.insert(path.to_owned(), behaviour);
    }

    /// Publishes keys at `/jwks`, and metadata that points there.
    pub fn publish(&self, keys: &[&SigningKey]) {
        let keys: Vec<_> = keys.iter().map(|key| key.jwk()).collect();
        self.behave("/jwks", Behaviour::Json(format!("{{\"keys\":[{}]}}", keys.join(","))));
        let url = self.url();
        let metadata = format!(r#"{{"issuer":"{url}","jwks_uri":"{url}/jwks"}}"#);
        self.behave("/.well-known/oauth-authorization-server", Behaviour::Json(metadata));
    }

    /// How often a path was asked for.
    #[must_use]
    pub fn hits(&self, path: &str) -> usize {
        self.state().requests.iter().filter(|(asked, _)| asked == path).count()
    }

    /// The last request for a path, head and body.
    #[must_use]
    pub fn last(&self, path: &str) -> Option<String> {
        self.state().requests.iter().rev().find(|(asked, _)| asked == path).map(|(_, text)| text.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    let (head, length) = loop {
        let read = stream.read(&mut part).await?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(part.get(..read).unwrap_or_default());
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let head = head.to_owned();
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0);
            break (head, length);
        }
    };
    while request.len() < head.len() + 4 + length {
        let read = stream.read(&mut part).await?;
        if read == 0 {
            break;
        }
        request.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let behaviour = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.requests.push((path.clone(), String::from_utf8_lossy(&request).into_owned()));
        state.behaviours.get(&path).cloned().unwrap_or(Behaviour::Status(404))
    };
    let close = "Connection: close\r\n";
    match behaviour {
        Behaviour::Json(text) => {
            let length = text.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{close}\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(text.as_bytes()).await
        }
        Behaviour::Status(status) => {
            let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n{close}\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Behaviour::Redirect(to) => {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n{close}\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Behaviour::Hang => std::future::pending().await,
        Behaviour::Grow => {
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{close}\r\n{{\"keys\":[").as_bytes()).await?;
            loop {
                stream.write_all(&[b' '; 8192]).await?;
            }
        }
        Behaviour::BreakOff => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n{close}\r\n{{\"keys\":");
            stream.write_all(head.as_bytes()).await
        }
    }
}
