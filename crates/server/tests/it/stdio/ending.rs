//! The end of a conversation: of the input, of the process, of the client.

use std::time::{Duration, Instant};

use super::child::{Server, id_of, modern};

fn wait(id: u32, milliseconds: u32) -> String {
    modern(id, "tools/call", &format!(r#""name":"wait","arguments":{{"milliseconds":{milliseconds}}}"#))
}

/// Requirements: STDIO-13.
#[test]
fn at_the_end_of_the_input_accepted_requests_are_answered_and_the_process_ends() {
    let mut server = Server::start();
    server.send(wait(1, 200));
    server.send(wait(2, 100));
    // The last line has no newline and is whole.
    server.send_bytes(modern(3, "tools/call", r#""name":"echo","arguments":{"text":"x"}"#).as_bytes());
    server.end_input();
    let (mut rest, errors, status) = server.finish();
    rest.sort();
    assert_eq!(rest.iter().map(|line| id_of(line)).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(!errors.contains("dropped"), "{errors}");
    assert!(status.success());
}

#[test]
fn a_call_that_takes_too_long_does_not_hold_the_process() {
    let mut server = Server::start();
    server.send(wait(1, 20_000));
    server.end_input();
    let since = Instant::now();
    let (rest, errors, status) = server.finish();
    assert!(rest.is_empty(), "{rest:?}");
    assert!(errors.contains("dropped"), "the handler was not stopped: {errors}");
    assert!(status.success());
    assert!(since.elapsed() < Duration::from_secs(15));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_process_once_accepted_requests_are_answered() {
    let mut server = Server::start();
    server.send(wait(1, 300));
    // The answer shows that the line before it was accepted.
    assert_eq!(id_of(&server.call(2, "echo", r#"{"text":"x"}"#)), "2");
    server.terminate();
    let (rest, _, status) = server.finish();
    assert_eq!(rest.iter().map(|line| id_of(line)).collect::<Vec<_>>(), ["1"]);
    assert!(status.success());
}
