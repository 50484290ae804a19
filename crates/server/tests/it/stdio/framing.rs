//! Lines that are messages, lines that are not, and how both arrive.

use super::child::{Server, code_of, id_of, modern, parse};

/// Requirements: STDIO-01, STDIO-02, STDIO-03.
#[test]
fn nothing_but_messages_reaches_standard_output_even_when_a_handler_prints() {
    let mut server = Server::start();
    let answer = server.call(1, "print", "{}");
    assert!(answer.contains("printed"), "{answer}");
    let answer = server.call(2, "panic", "{}");
    assert!(answer.contains("tool_panicked"), "{answer}");
    server.send(modern(3, "tools/call", r#""name":"echo","arguments":{"text":"a\nb"}"#));
    assert_eq!(id_of(&server.receive()), "3");
    server.end_input();
    let (rest, errors, status) = server.finish();
    assert!(rest.is_empty(), "{rest:?}");
    assert!(errors.contains("a line that is no message"), "{errors}");
    assert!(status.success());
}

/// Requirements: TRN-01.
#[test]
fn a_message_that_arrives_byte_by_byte_is_the_same_message() {
    let mut server = Server::start();
    let text = "読—🎉é";
    let request = modern(7, "tools/call", &format!(r#""name":"echo","arguments":{{"text":"{text}"}}"#));
    for byte in request.bytes().chain(*b"\r\n") {
        server.send_bytes(&[byte]);
    }
    let answer = server.receive();
    let answer = parse(&answer);
    assert!(answer.root().path(["result", "structuredContent", "text"]).unwrap().is_str(text));
}

/// Requirements: TRN-01.
#[test]
fn text_that_is_no_utf8_is_an_error_and_never_replaced() {
    let mut server = Server::start();
    let request = modern(1, "tools/call", r#""name":"echo","arguments":{"text":"??"}"#);
    let mut bytes = request.into_bytes();
    let at = bytes.windows(2).position(|pair| pair == b"??").unwrap();
    bytes[at] = 0xC3;
    bytes[at + 1] = 0x28;
    server.send(&bytes);
    assert_eq!(code_of(&server.receive()), Some(-32700));
    server.send([0xFF; 40]);
    assert_eq!(code_of(&server.receive()), Some(-32700));
    // A line that ends inside a character, and with it the stream.
    let request = modern(2, "tools/call", r#""name":"echo","arguments":{"text":"読"}"#);
    let cut = request.find('読').unwrap() + 2;
    server.send_bytes(&request.as_bytes()[..cut]);
    server.end_input();
    let (rest, _, status) = server.finish();
    assert_eq!(rest.iter().map(|line| code_of(line)).collect::<Vec<_>>(), [Some(-32700)]);
    assert!(status.success());
}

/// Whatever a line holds, the next one is served.
#[test]
fn stray_lines_get_an_error_each_and_the_stream_stays_open() {
    let mut server = Server::start();
    let lines: [(&str, Option<i64>); 12] = [
        ("Server 1.2 started", Some(-32700)),
        ("\x1b[32mINFO\x1b[0m ready", Some(-32700)),
        ("", None),
        ("   \t", None),
        ("{}", Some(-32600)),
        ("[]", Some(-32600)),
        ("42", Some(-32600)),
        ("\"hi\"", Some(-32600)),
        ("null", Some(-32600)),
        (r#"{"jsonrpc":"2.0"}"#, Some(-32600)),
        (r#"{"jsonrpc":"2.0","id":1,"#, Some(-32700)),
        (r#"{"jsonrpc":"2.0","method":"notifications/unheard_of"}"#, None),
    ];
    for (at, (line, code)) in (0..).zip(lines) {
        server.send(line);
        if code.is_some() {
            let error = server.receive();
            assert_eq!(code_of(&error), code, "{line:?}: {error}");
            assert_eq!(id_of(&error), "", "{line:?}: {error}");
        }
        let answer = server.call(at, "echo", r#"{"text":"still here"}"#);
        assert_eq!(id_of(&answer), at.to_string(), "after {line:?}");
    }
}

/// Two peers that answer each other's errors would never stop.
#[test]
fn errors_and_malformed_answers_are_never_answered() {
    let mut server = Server::start();
    server.send("{}");
    let error = server.receive();
    for line in [
        &*error,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"error":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[]}"#,
    ] {
        server.send(line);
    }
    assert_eq!(id_of(&server.call(5, "echo", r#"{"text":"quiet"}"#)), "5");
}

#[test]
fn a_malformed_request_is_answered_under_its_id_when_that_can_be_read() {
    let mut server = Server::start();
    for (line, id, code) in [
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, "1", -32600),
        (r#"{"jsonrpc":"2.0","id":"b","method":5}"#, "\"b\"", -32600),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}"#, "3", -32602),
        (r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a":1,"a":2}}"#, "4", -32600),
        (r#"{"jsonrpc":"2.0","id":5.5,"method":"tools/list"}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#, "6", -32602),
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, "7", -32601),
    ] {
        let error = server.ask(line);
        assert_eq!((&*id_of(&error), code_of(&error)), (id, Some(code)), "{line}: {error}");
    }
}
