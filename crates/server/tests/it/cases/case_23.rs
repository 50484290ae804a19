//! Case 23: text that arrives in pieces. The kind of fault: a character that depends on where a packet
//! ends, and a broken text that is mended in silence.

use callgate_protocol::Revision;

use crate::cases::fixture;
use crate::cases::harness::child::Child;
use crate::cases::harness::http::{Connection, Post};
use crate::cases::harness::{call, error_code, shown};

const TEXT: &str = "読—🎉é";

fn message() -> String {
    call("1", "echo", &format!("{{\"message\":\"{TEXT}\"}}"))
}

/// Requirements: TRN-01, STDIO-01.
#[test]
fn every_split_of_a_line_gives_the_same_text() {
    let mut child = Child::start(Revision::V2026_07_28);
    let message = message();
    let line = format!("{message}\n");
    child.wrote(&message);
    for byte in line.bytes() {
        child.write(&[byte]);
    }
    assert_eq!(shown(&child.receive()), TEXT);
    let first = line.find('読').unwrap();
    for cut in first..line.len() {
        child.wrote(&message);
        child.write(&line.as_bytes()[..cut]);
        child.write(&line.as_bytes()[cut..]);
        assert_eq!(shown(&child.receive()), TEXT, "{cut}");
    }
    assert!(child.end().status.success());
}

/// Requirements: TRN-01.
#[test]
fn every_split_of_a_body_gives_the_same_text() {
    let server = fixture::http();
    let bytes = Post::of(server.address, &message()).bytes();
    let mut connection = Connection::open(server.address);
    for byte in &bytes {
        connection.write(&[*byte]);
    }
    assert_eq!(shown(&connection.reply().response()), TEXT);
    // Chunks that end inside a character.
    let post = Post::of(server.address, &message());
    let whole = post.bytes();
    let head_end = whole.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(whole[..head_end].to_vec()).unwrap();
    let head =
        head.lines().filter(|line| !line.starts_with("Content-Length")).collect::<Vec<_>>().join("\r\n");
    let mut connection = Connection::open(server.address);
    connection.write(format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n").as_bytes());
    for byte in &whole[head_end + 4..] {
        connection.write(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']);
    }
    connection.write(b"0\r\n\r\n");
    assert_eq!(shown(&connection.reply().response()), TEXT);
}

/// Requirements: TRN-01.
#[test]
fn broken_text_is_a_parse_error_and_never_replaced() {
    let server = fixture::http();
    let message = message().into_bytes();
    let at = message.windows(3).position(|window| window == "読".as_bytes()).unwrap();
    let mut lone = message.clone();
    lone.splice(at..at + 3, [0xC3, 0x28]);
    let mut overlong = message.clone();
    overlong.splice(at..at + 3, [0xC0, 0xAF]);
    let mut surrogate = message.clone();
    surrogate.splice(at..at + 3, [0xED, 0xA0, 0x80]);
    let cut = message[..at + 2].to_vec();
    let mut marked = b"\xEF\xBB\xBF".to_vec();
    marked.extend_from_slice(&message);
    for body in [&lone, &overlong, &surrogate, &cut, &marked] {
        let reply = Post::of(server.address, &self::message()).body(body.as_slice()).send(server.address);
        assert_eq!((reply.status, error_code(&reply.response())), (400, Some(-32700)), "{reply:?}");
    }
    let mut child = Child::start(Revision::V2026_07_28);
    for body in [&lone, &overlong, &surrogate] {
        child.write(body);
        child.write(b"\n");
        assert_eq!(error_code(&child.receive()), Some(-32700));
    }
    // The last line ends inside a character and the input with it.
    child.write(&cut);
    let end = child.end();
    assert!(end.status.success(), "{end:?}");
    assert!(end.rest.iter().all(|message| error_code(message) == Some(-32700)), "{end:?}");
}
