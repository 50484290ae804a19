//! Every bound of the transport, at it and one past it.

use std::time::Duration;

use super::fixture::Fixture;
use super::wire::{Call, Connection};

/// A call whose body has exactly so many bytes.
fn call_of_length(length: usize) -> Call {
    let empty = Call::tool("echo", r#"{"text":""}"#).body.len();
    Call::tool("echo", &format!(r#"{{"text":"{}"}}"#, "x".repeat(length - empty)))
}

fn chunked(mut call: Call) -> Call {
    let body = call.body;
    call.body = format!("{:x}\r\n", body.len()).into_bytes();
    call.body.extend_from_slice(&body);
    call.body.extend_from_slice(b"\r\n0\r\n\r\n");
    call.header("Transfer-Encoding", "chunked")
}

#[tokio::test]
async fn a_body_at_the_bound_is_read_and_one_past_it_is_refused_announced_or_not() {
    let fixture =
        Fixture::with(|options| options.limits.message = options.limits.message.with_bytes(2000)).await;
    assert_eq!(call_of_length(2000).send(fixture.address).await.status, 200);
    assert_eq!(chunked(call_of_length(2000)).send(fixture.address).await.status, 200);
    let announced = call_of_length(2001).send(fixture.address).await;
    let streamed = chunked(call_of_length(2001)).send(fixture.address).await;
    assert_eq!((announced.status, announced.code()), (413, Some(-32600)));
    assert_eq!((streamed.status, streamed.code()), (413, Some(-32600)));
    insta::assert_snapshot!("body_too_long", announced.show());
    assert_eq!(fixture.seen.started(), 2);
    fixture.end().await;
}

#[tokio::test]
async fn a_body_that_never_ends_is_refused_in_time_or_at_the_bound() {
    let fixture = Fixture::with(|options| {
        options.limits.message = options.limits.message.with_bytes(100_000);
        options.limits.body_timeout = Duration::from_millis(200);
    })
    .await;
    // It stops in the middle.
    let mut stops = Connection::open(fixture.address).await;
    let call = call_of_length(500);
    stops.write(call.head().as_bytes()).await;
    stops.write(&call.body[..200]).await;
    let answer = stops.answer().await;
    assert_eq!((answer.status, answer.code()), (408, Some(-32600)), "{answer:?}");
    insta::assert_snapshot!("body_too_slow", answer.show());
    assert!(stops.is_closed().await);
    // It goes on for ever.
    let mut goes_on = Connection::open(fixture.address).await;
    let endless = Call::tool("echo", "{}").header("Transfer-Encoding", "chunked");
    goes_on.write(endless.head().as_bytes()).await;
    while goes_on.try_write(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes()).await {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
    assert_eq!(fixture.seen.started(), 0);
    fixture.end().await;
}

#[tokio::test]
async fn long_bodies_share_a_bound_of_their_own() {
    let fixture = Fixture::with(|options| options.limits.buffered_bytes = 60_000).await;
    // Held while the call runs.
    let mut holding = Connection::open(fixture.address).await;
    let filler = " ".repeat(40_000);
    holding.write(&Call::tool("wait", &format!(r#"{{"ms":600000{filler}}}"#)).bytes()).await;
    fixture.seen.reach(|seen| seen.started(), 1).await;
    let answer = call_of_length(20_001).send(fixture.address).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
    insta::assert_snapshot!("out_of_memory", answer.show());
    // Short ones do not count, and the share comes back.
    assert_eq!(call_of_length(16 << 10).send(fixture.address).await.status, 200);
    drop(holding);
    fixture.seen.reach(|seen| seen.cancelled(), 1).await;
    assert_eq!(call_of_length(20_001).send(fixture.address).await.status, 200);
    fixture.end().await;
}

#[tokio::test]
async fn a_head_at_the_bound_is_read_and_one_past_it_is_refused() {
    let fixture = Fixture::with(|options| {
        options.limits.header_count = 10;
        options.limits.header_bytes = 8192;
    })
    .await;
    let echo = || Call::tool("echo", r#"{"text":"hi"}"#);
    // Six of its own and the length.
    let with = |count: usize| (0..count).fold(echo(), |call, at| call.also(&format!("X-{at}"), "y"));
    assert_eq!(with(3).send(fixture.address).await.status, 200);
    assert_eq!(with(4).send(fixture.address).await.status, 431);
    assert_eq!(echo().header("X-Long", &"y".repeat(7000)).send(fixture.address).await.status, 200);
    assert_eq!(echo().header("X-Long", &"y".repeat(9000)).send(fixture.address).await.status, 431);
    fixture.end().await;
}

#[tokio::test]
async fn a_connection_that_sends_no_head_or_half_of_one_is_closed() {
    let fixture = Fixture::with(|options| options.limits.header_timeout = Duration::from_millis(200)).await;
    for start in ["", "P", "PRI * HTTP/2.0\r\n", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"] {
        let begun = std::time::Instant::now();
        let mut slow = Connection::open(fixture.address).await;
        slow.write(start.as_bytes()).await;
        assert!(slow.is_closed().await, "{start:?}");
        assert!(begun.elapsed() >= Duration::from_millis(190), "{start:?} {:?}", begun.elapsed());
    }
    // The head of a second request is no better.
    let mut second = Connection::open(fixture.address).await;
    second.write(&Call::tool("echo", r#"{"text":"hi"}"#).bytes()).await;
    assert_eq!(second.answer().await.status, 200);
    second.write(b"POST /mcp").await;
    assert!(second.is_closed().await);
    fixture.end().await;
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_when_its_time_is_over_and_not_before() {
    let fixture = Fixture::with(|options| options.limits.idle_timeout = Duration::from_millis(600)).await;
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    let mut connection = Connection::open(fixture.address).await;
    for _ in 0..3 {
        connection.write(&echo.bytes()).await;
        assert_eq!(connection.answer().await.status, 200);
        assert!(connection.is_silent(Duration::from_millis(300)).await, "it is kept alive");
    }
    let mut busy = Connection::open(fixture.address).await;
    busy.write(&Call::tool("wait", r#"{"ms":1500}"#).bytes()).await;
    let begun = std::time::Instant::now();
    assert!(connection.is_closed().await);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(busy.answer().await.status, 200, "a request in flight keeps its connection");
    fixture.end().await;
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_a_place() {
    let fixture = Fixture::with(|options| options.limits.connections = 2).await;
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    let mut first = Connection::open(fixture.address).await;
    let mut second = Connection::open(fixture.address).await;
    for connection in [&mut first, &mut second] {
        connection.write(&echo.bytes()).await;
        assert_eq!(connection.answer().await.status, 200);
    }
    let mut third = Connection::open(fixture.address).await;
    third.write(&echo.bytes()).await;
    assert!(third.is_silent(Duration::from_millis(200)).await);
    drop(first);
    assert_eq!(third.answer().await.status, 200);
    fixture.end().await;
}

#[tokio::test]
async fn a_client_that_stops_reading_loses_its_call_after_a_while() {
    let fixture = Fixture::with(|options| {
        options.limits.keep_alive_interval = Duration::from_millis(100);
        options.limits.stall_timeout = Duration::from_secs(1);
        options.limits.notices_per_second = 100_000;
    })
    .await;
    let mut reading = Connection::open(fixture.address).await;
    reading.write(&Call::listening_tool("chatter", "{}").bytes()).await;
    reading.head().await;
    let mut deaf = Connection::open(fixture.address).await;
    deaf.write(&Call::listening_tool("chatter", "{}").bytes()).await;
    let reads = async {
        loop {
            reading.chunk().await.unwrap();
        }
    };
    tokio::select! {
        () = reads => {}
        () = fixture.seen.reach(|seen| seen.cancelled(), 1) => {}
    }
    assert_eq!(fixture.seen.cancelled(), 1, "who reads goes on");
    reading.chunk().await.unwrap();
    drop((reading, deaf));
    fixture.seen.reach(|seen| seen.cancelled(), 2).await;
    fixture.end().await;
}

#[tokio::test]
async fn requests_on_one_http2_connection_are_bounded() {
    let fixture = Fixture::with(|options| options.limits.requests_per_connection = 2).await;
    let mut client = super::multiplexed::Client::open(fixture.address).await;
    // The bound is told with the first answer; until then a client may send more, and is refused.
    assert_eq!(client.send(&Call::tool("echo", r#"{"text":"hi"}"#)).await.unwrap().status(), 200);
    let waits: Vec<_> = (0..3).map(|_| client.send(&Call::tool("wait", r#"{"ms":300}"#))).collect();
    fixture.seen.reach(|seen| seen.started(), 3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(fixture.seen.started(), 3, "the third wait is not let in");
    for wait in waits {
        assert_eq!(wait.await.unwrap().status(), 200);
    }
    assert_eq!(fixture.seen.finished(), 4);
    drop(client);
    fixture.end().await;
}
