//! What waiting clients cost: thousands of subscriptions and of connections on one process.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::fixture::Fixture;
use super::multiplexed::Client;
use super::wire::{Call, Connection};
use http_body_util::BodyExt as _;

const SUBSCRIPTIONS: usize = 10_000;
/// Set for the process that serves.
const ASKED: &str = "CALLGATE_TEST_SERVE_FOR_COST";
/// Test processes may often open no more than 1,024 files.
const CONNECTIONS: usize = 800;

/// A server in a process of its own, so that its memory is its own.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "http::cost::serves_in_a_process_of_its_own_when_asked", "--nocapture"])
            .env(ASKED, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let (_, address) = line.split_once("listening on ")?;
            address.trim().parse().ok()
        });
        Self { child, address: address.expect("the server does not say where it listens") }
    }

    /// Resident memory in bytes.
    fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// No test, but the other process of the test below; it ends when it is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn serves_in_a_process_of_its_own_when_asked() {
    if std::env::var_os(ASKED).is_some() {
        let fixture = Fixture::with(|options| options.limits.notices_per_second = 100_000).await;
        println!("listening on {}", fixture.address);
        fixture.served.await.unwrap();
    }
}

/// What each of so many costs, with a bound that leaves room for another allocator and an unoptimized build.
fn assert_cost(what: &str, server: &Server, before: usize, count: usize, bound: usize) {
    let each = server.memory().saturating_sub(before) / count;
    assert!(each <= bound, "{each} bytes for each {what}, and {bound} is the bound");
}

#[tokio::test]
async fn ten_thousand_idle_subscriptions_and_many_connections_cost_little_and_hinder_nobody() {
    let server = Server::start();
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    // The first few make the process grow for reasons of its own.
    for _ in 0..20 {
        assert_eq!(echo.send(server.address).await.status, 200);
    }
    let before = server.memory();
    let mut used = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(server.address).await;
        connection.write(&echo.bytes()).await;
        assert_eq!(connection.answer().await.status, 200);
        used.push(connection);
    }
    assert_cost("connection", &server, before, CONNECTIONS, 48 << 10);

    let before = server.memory();
    let listen = Call::modern("subscriptions/listen", r#""notifications":{"toolsListChanged":true}"#);
    let (mut clients, mut subscribed) = (Vec::new(), Vec::new());
    for _ in 0..SUBSCRIPTIONS / 100 {
        let mut client = Client::open(server.address).await;
        assert_eq!(client.send(&echo).await.unwrap().status(), 200);
        let answers: Vec<_> = (0..100).map(|_| client.send(&listen)).collect();
        for answer in answers {
            let mut body = answer.await.unwrap().into_body();
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(first.starts_with(b"data: "));
            subscribed.push(body);
        }
        clients.push(client);
    }
    assert_eq!(subscribed.len(), SUBSCRIPTIONS);
    assert_cost("subscription", &server, before, SUBSCRIPTIONS, 8 << 10);
    // Nobody else waits for them.
    let start = std::time::Instant::now();
    assert_eq!(echo.send(server.address).await.status, 200);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[tokio::test]
async fn clients_that_never_read_cost_a_bounded_amount() {
    let server = Server::start();
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    assert_eq!(echo.send(server.address).await.status, 200);
    let before = server.memory();
    let mut deaf = Vec::new();
    for _ in 0..50 {
        let mut connection = Connection::open(server.address).await;
        connection.write(&Call::listening_tool("chatter", "{}").bytes()).await;
        deaf.push(connection);
    }
    // Each call says some megabytes a second; what the system keeps for a socket is soon full.
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_cost("client that does not read", &server, before, deaf.len(), 512 << 10);
        assert_eq!(echo.send(server.address).await.status, 200);
    }
}

#[tokio::test]
async fn bodies_that_never_end_cost_a_bounded_amount() {
    let server = Server::start();
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    assert_eq!(echo.send(server.address).await.status, 200);
    let before = server.memory();
    let mut endless = Vec::new();
    for _ in 0..50 {
        let mut connection = Connection::open(server.address).await;
        let head = Call::tool("echo", "{}").header("Transfer-Encoding", "chunked").head();
        connection.write(head.as_bytes()).await;
        connection.write(format!("10000\r\n{}\r\n", " ".repeat(0x10000)).as_bytes()).await;
        endless.push(connection);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Twice what was sent, because a buffer doubles, and what the connection itself needs.
    assert_cost("body without an end", &server, before, endless.len(), 256 << 10);
    assert_eq!(echo.send(server.address).await.status, 200);
}
