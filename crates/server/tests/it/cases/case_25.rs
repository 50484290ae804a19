//! Case 25: cancellation meets completion. The kind of fault: a second answer, an answer after the
//! cancellation was honoured, work that goes on, or a process that ends.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use callgate_protocol::Revision;

use crate::cases::fixture;
use crate::cases::harness::child::Child;
use crate::cases::harness::http::{Connection, Post, post};
use crate::cases::harness::{at, call, is_error, shown};

const CALLS: usize = 1_000;

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"race"}}}}"#
    )
}

/// Requirements: CAN-10, CAN-12, STDIO-10, STDIO-11, BASE-25.
#[test]
fn a_thousand_races_on_stdio_give_at_most_one_answer_each() {
    let mut child = Child::start(Revision::V2026_07_28);
    // Each call is cancelled between no time and twice the time of the tool after it was sent.
    let mut due: VecDeque<(Instant, String)> = VecDeque::new();
    for number in 0..CALLS {
        let id = if number % 2 == 0 { number.to_string() } else { format!("\"{number}\"") };
        child.send(&call(&id, "five_milliseconds", "{}"));
        due.push_back((Instant::now() + Duration::from_millis(number as u64 % 11), id));
        for _ in 0..due.len() {
            // Those that are not due yet wait at the end of the queue.
            let Some((when, id)) = due.pop_front() else { break };
            if when <= Instant::now() { child.send(&cancel(&id)) } else { due.push_back((when, id)) }
        }
        if number % 50 == 0 {
            child.send(&cancel("\"never-sent\""));
            child.send(&cancel("1.5"));
            child.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#);
            child.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
        }
    }
    while let Some((when, id)) = due.pop_front() {
        while Instant::now() < when {
            std::thread::yield_now();
        }
        child.send(&cancel(&id));
    }
    // The judge refuses a second answer, so it is enough to read until the last question is answered.
    let mut answers = 0;
    child.send(&call("\"last\"", "echo", r#"{"message":"alive"}"#));
    loop {
        let answer = child.receive();
        if at(&answer, &["id"]).as_deref() == Some("\"last\"") {
            assert_eq!(shown(&answer), "alive");
            break;
        }
        answers += 1;
    }
    assert!(answers > 0 && answers < CALLS, "both sides of the race were seen: {answers}");
    // The handlers of cancelled calls were dropped, and the others have ended.
    while shown(&child.ask(&call("\"left\"", "still_running", "{}"))) != "0" {}
    let end = child.end();
    assert!(end.status.success() && end.rest.is_empty(), "{end:?}");
}

/// A call that is cancelled at once is not answered, and its handler ends.
///
/// Requirements: CAN-10, STDIO-10, STDIO-11.
#[test]
fn a_cancelled_call_is_never_answered() {
    let mut child = Child::start(Revision::V2026_07_28);
    child.send(&call("\"slow\"", "waits_for_ever", "{}"));
    loop {
        let running = child.ask(&call("1", "still_running", "{}"));
        if shown(&running) == "1" {
            break;
        }
    }
    child.send(&cancel("\"slow\""));
    loop {
        let running = child.ask(&call("1", "still_running", "{}"));
        assert!(!is_error(&running));
        if shown(&running) == "0" {
            break;
        }
    }
    assert_eq!(child.waiting(), 1, "only the cancelled call is without an answer");
    let end = child.end();
    assert!(end.status.success() && end.rest.is_empty(), "{end:?}");
}

/// Another JSON type is another request: neither cancels the other.
///
/// Requirements: CAN-14.
#[test]
fn an_id_of_another_type_cancels_nothing() {
    let mut child = Child::start(Revision::V2026_07_28);
    child.send(&call("7", "five_milliseconds", "{}"));
    child.send(&cancel("\"7\""));
    child.send(&cancel("70"));
    let answer = child.receive();
    assert_eq!(at(&answer, &["id"]).as_deref(), Some("7"));
    child.send(&cancel("7"));
    child.send(&cancel("7.0"));
    assert_eq!(shown(&child.ask(&call("8", "echo", r#"{"message":"on"}"#))), "on");
    assert!(child.end().status.success());
}

/// Requirements: CAN-04, CAN-12, HTTP-22, HTTP-23.
#[test]
fn a_client_that_goes_away_ends_its_call_and_no_other() {
    let server = fixture::http();
    for number in 0..200_u64 {
        let mut connection = Connection::open(server.address);
        connection.write(&Post::of(server.address, &call("1", "five_milliseconds", "{}")).bytes());
        let until = Instant::now() + Duration::from_micros((number % 11) * 1_000);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        connection.abandon();
    }
    for _ in 0..20 {
        let mut connection = Connection::open(server.address);
        connection.write(&Post::of(server.address, &call("1", "waits_for_ever", "{}")).bytes());
        while shown(&post(server.address, &call("2", "still_running", "{}")).response()) == "0" {}
        connection.abandon();
        let begun = Instant::now();
        while shown(&post(server.address, &call("2", "still_running", "{}")).response()) != "0" {
            assert!(begun.elapsed() < Duration::from_secs(10), "the call goes on without its client");
        }
    }
    assert_eq!(
        shown(&post(server.address, &call("9", "echo", r#"{"message":"alive"}"#)).response()),
        "alive"
    );
}
