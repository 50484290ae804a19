//! HTTP/2: the same service, many requests on one connection.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::fixture::Fixture;
use super::wire::Call;

/// A client with one HTTP/2 connection.
pub(super) struct Client {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
}

impl Client {
    pub(super) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(async move {
            let _ended = connection.await;
        });
        Self { sender, address }
    }

    pub(super) fn send(
        &mut self,
        call: &Call,
    ) -> impl Future<Output = hyper::Result<http::Response<Incoming>>> + use<> {
        let mut request = http::Request::post(format!("http://{}/mcp", self.address));
        for (name, value) in call.headers.iter().filter(|(name, _)| name != "Host") {
            request = request.header(name, value);
        }
        self.sender.send_request(request.body(Full::from(call.body.clone())).unwrap())
    }
}

/// Requirements: CAN-04, HTTP-22.
#[tokio::test]
async fn a_reset_request_is_cancelled_and_its_neighbours_go_on() {
    let fixture = Fixture::new().await;
    let mut client = Client::open(fixture.address).await;
    let pending = tokio::spawn(client.send(&Call::tool("wait", r#"{"ms":600000}"#)));
    let neighbour = client.send(&Call::tool("wait", r#"{"ms":200}"#));
    let neighbour = tokio::spawn(neighbour);
    let streamed = client.send(&Call::listening_tool("say_and_wait", r#"{"ms":600000}"#)).await.unwrap();
    fixture.seen.reach(|seen| seen.started(), 3).await;
    pending.abort();
    fixture.seen.reach(|seen| seen.cancelled(), 1).await;
    drop(streamed);
    fixture.seen.reach(|seen| seen.cancelled(), 2).await;
    let body = neighbour.await.unwrap().unwrap().into_body().collect().await.unwrap().to_bytes();
    assert!(body.ends_with(b"}") && fixture.seen.finished() == 1);
    drop(client);
    fixture.end().await;
}

/// Requirements: HTTP-02, HTTP-03.
#[tokio::test]
async fn a_foreign_authority_is_refused() {
    let fixture = Fixture::new().await;
    let mut client = Client::open(fixture.address).await;
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    assert_eq!(client.send(&echo).await.unwrap().status(), 200);
    assert_eq!(client.send(&echo.clone().header("Origin", "null")).await.unwrap().status(), 403);
    client.address = "10.1.2.3:80".parse().unwrap();
    assert_eq!(client.send(&echo).await.unwrap().status(), 403);
    assert_eq!(fixture.seen.started(), 1);
    drop(client);
    fixture.end().await;
}

#[tokio::test]
async fn a_stalled_stream_loses_its_call_and_its_neighbours_go_on() {
    let fixture = Fixture::with(|options| {
        options.limits.keep_alive_interval = Duration::from_millis(100);
        options.limits.stall_timeout = Duration::from_millis(300);
        options.limits.notices_per_second = 100_000;
    })
    .await;
    let mut client = Client::open(fixture.address).await;
    let stalled = client.send(&Call::listening_tool("chatter", "{}")).await.unwrap();
    fixture.seen.reach(|seen| seen.cancelled(), 1).await;
    let echo = client.send(&Call::tool("echo", r#"{"text":"hi"}"#)).await.unwrap();
    assert_eq!(echo.status(), 200);
    drop((stalled, client));
    fixture.end().await;
}
