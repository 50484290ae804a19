use proptest::prelude::*;

use super::{DecodeError, DecodeErrorKind, Message, ResponseOutcome, decode, decode_with};
use crate::error::{ErrorCode, push_error, push_notification, push_request, push_result};
use crate::id::Id;
use crate::json::{Limits, Memory, Value};

fn read(text: &str) -> Result<Message, super::DecodeError> {
    decode(text.as_bytes().to_vec(), &Limits::DEFAULT)
}

fn refusal(text: &str) -> (i32, Option<String>) {
    let error = read(text).unwrap_err();
    (error.code.number(), error.id.map(|id| id.as_json().to_owned()))
}

/// Requirements: BASE-02, BASE-03.
#[test]
fn a_request_is_read_without_changing_a_byte() {
    let text = r#" {"method":"tools\/call","id": "é\n" ,"params":{"n":9007199254740993.0},"jsonrpc":"2.0"}"#;
    let Message::Request(request) = read(text).unwrap() else { panic!("a request") };
    assert_eq!(request.method(), "tools/call");
    assert_eq!(request.id().as_json(), r#""é\n""#);
    assert_eq!(request.params().unwrap().raw(), r#"{"n":9007199254740993.0}"#);
    assert_eq!(request.document().text(), text);
}

/// Requirements: BASE-26.
#[test]
fn a_message_without_an_id_is_a_notification() {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let Message::Notification(notification) = read(text).unwrap() else { panic!("a notification") };
    assert_eq!(notification.method(), "notifications/cancelled");
    assert_eq!(notification.params().unwrap().get("requestId").unwrap().raw(), "1");
    assert_eq!(notification.document().text(), text);
}

#[test]
fn responses_of_legacy_clients_are_read() {
    let Message::Response(response) = read(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#).unwrap() else {
        panic!("a response")
    };
    assert_eq!(response.id().unwrap().as_json(), "7");
    assert!(matches!(response.outcome(), ResponseOutcome::Result(value) if value.raw() == "{\"a\":1}"));
    let Message::Response(response) = read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1}}"#).unwrap()
    else {
        panic!("a response")
    };
    assert!(response.id().is_none());
    assert!(matches!(response.outcome(), ResponseOutcome::Error(value) if value.raw() == "{\"code\":-1}"));
}

/// Requirements: BASE-02, BASE-03, BASE-04, BASE-12, BASE-13, BASE-15, TRN-01.
#[test]
fn every_malformed_message_gets_its_code_and_its_id_when_it_has_one() {
    let one = Some("1".to_owned());
    for (text, code, id) in [
        ("", -32700, None),
        ("{", -32700, None),
        ("not json", -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x""#, -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x",}"#, -32700, None),
        ("[]", -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, -32600, None),
        ("42", -32600, None),
        ("null", -32600, None),
        ("\"hi\"", -32600, None),
        ("{}", -32600, None),
        (r#"{"jsonrpc":"2.0"}"#, -32600, None),
        (r#"{"id":1,"method":"x"}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, -32600, one.clone()),
        (r#"{"jsonrpc":2.0,"id":1,"method":"x"}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, -32602, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#, -32602, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"a":2}}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#, -32600, one.clone()),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","\u0069d":1,"id":2,"method":"x"}"#, -32600, None),
    ] {
        assert_eq!(refusal(text), (code, id), "{text}");
    }
}

/// Requirements: BASE-25.
#[test]
fn a_malformed_notification_or_response_is_not_to_be_answered() {
    for text in [
        r#"{"jsonrpc":"2.0","method":"x","params":[]}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"no object"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"error":{}}"#,
    ] {
        let error = read(text).unwrap_err();
        assert!(!error.is_answered(), "{text}");
        assert_eq!(error.http_status(), 400);
    }
    assert!(read("{}").unwrap_err().is_answered());
}

#[test]
fn a_bound_refuses_with_the_id_and_names_the_place() {
    let limits = Limits::DEFAULT.with_depth(4);
    let deep = br#"{"jsonrpc":"2.0","id":"q","method":"x","params":{"a":[[[1]]]}}"#.to_vec();
    let error = decode(deep, &limits).unwrap_err();
    assert_eq!((error.code, error.id), (ErrorCode::InvalidRequest, Some(Id::string("q"))));
    assert!(error.kind.to_string().contains("nested deeper"), "{}", error.kind);
    let long = decode(vec![b' '; 100], &Limits::DEFAULT.with_bytes(99)).unwrap_err();
    assert_eq!((long.code, long.http_status()), (ErrorCode::InvalidRequest, 413));
    let hundred_thousand = decode(vec![b'['; 100_000], &Limits::DEFAULT).unwrap_err();
    assert_eq!(hundred_thousand.code, ErrorCode::InvalidRequest);
}

/// Requirements: TRN-01.
#[test]
fn text_that_is_no_utf8_is_a_parse_error() {
    let whole = r#"{"jsonrpc":"2.0","id":1,"method":"読—🎉é"}"#.as_bytes();
    for cut in 0..whole.len() {
        assert_eq!(decode(whole[..cut].to_vec(), &Limits::DEFAULT).unwrap_err().code, ErrorCode::ParseError);
    }
    let mut broken = whole.to_vec();
    let at = whole.windows(3).position(|window| window == "読".as_bytes()).unwrap();
    broken[at..at + 2].copy_from_slice(&[0xC3, 0x28]);
    assert_eq!(decode(broken, &Limits::DEFAULT).unwrap_err().code, ErrorCode::ParseError);
}

#[test]
fn ids_are_compared_by_type_and_value_and_kept_as_text() {
    let id = |text: &str| Id::from_json(text).unwrap();
    assert_eq!(id("1"), id("1.0"));
    assert_eq!(id("10"), id("1e1"));
    assert_eq!(id(r#""a""#), id(r#""\u0061""#));
    assert_ne!(id("1"), id(r#""1""#));
    assert_ne!(id("9007199254740992"), id("9007199254740993"));
    assert_eq!(id("1.0").as_json(), "1.0");
    let long = format!("\"{}\"", "x".repeat(Id::MAX_BYTES - 2));
    assert_eq!(id(&long).as_json(), long);
    assert!(Id::from_json(&format!("\"{}\"", "x".repeat(Id::MAX_BYTES - 1))).is_none());
    assert!(id("7") < id(r#""0""#));
    assert_eq!(Id::string("a\"b"), id(r#""a\"b""#));
    assert_eq!(Id::number(-4), id("-4"));
    let hash = |id: &Id| {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        BuildHasherDefault::<DefaultHasher>::default().hash_one(id)
    };
    assert_eq!(hash(&id("100")), hash(&id("1E2")));
    assert_eq!(hash(&id(r#""\u0061""#)), hash(&id(r#""a""#)));
}

/// Requirements: BASE-06, BASE-07, BASE-12, BASE-13, BASE-26.
#[test]
fn envelopes_have_this_form() {
    let mut out = String::new();
    let write: [&dyn Fn(&mut String); 8] = [
        &|out| push_error(out, None, ErrorCode::ParseError, "Parse error: \"x\"", None),
        &|out| {
            let data = "{\"supported\":[]}";
            push_error(out, Some(&Id::number(1)), ErrorCode::UnsupportedProtocolVersion, "no", Some(data));
        },
        &|out| push_result(out, &Id::string("é"), "{\"resultType\":\"complete\"}"),
        &|out| push_notification(out, "notifications/progress", Some("{}")),
        &|out| push_notification(out, "notifications/initialized", None),
        &|out| push_request(out, &Id::number(2), "roots/list", None),
        &|out| read("{\"id\":5}").unwrap_err().push(out),
        &|out| read("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\",\"params\":[]}").unwrap_err().push(out),
    ];
    for write in write {
        write(&mut out);
        out.push('\n');
    }
    insta::assert_snapshot!(out, @r#"
    {"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error: \"x\""}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}
    {"jsonrpc":"2.0","id":"é","result":{"resultType":"complete"}}
    {"jsonrpc":"2.0","method":"notifications/progress","params":{}}
    {"jsonrpc":"2.0","method":"notifications/initialized"}
    {"jsonrpc":"2.0","id":2,"method":"roots/list"}
    {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"Invalid request: `jsonrpc` must be \"2.0\""}}
    {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"Invalid params: `params` must be an object"}}
    "#);
}

/// Every kind of refusal, as it is sent.
///
/// Requirements: BASE-13, BASE-14, BASE-19.
#[test]
fn refusals_have_this_form() {
    let mut out = String::new();
    for text in [
        "{",
        "\"\\ud800\"",
        "[1,]",
        "01",
        "{\"id\":1,\"a\":1,\"a\":2}",
        "[]",
        "7",
        "{\"id\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
    ] {
        read(text).unwrap_err().push(&mut out);
        out.push('\n');
    }
    insta::assert_snapshot!(out);
}

/// Requirements: BASE-16, BASE-17, BASE-18, BASE-19, BASE-20, BASE-24.
#[test]
fn codes_have_the_meaning_of_the_specification_and_others_have_none() {
    for number in (-32019..=-32000).filter(|number| *number != -32002) {
        assert_eq!(ErrorCode::of_number(number), None, "{number}");
    }
    for number in -32099..=-32023 {
        assert!(matches!(ErrorCode::of_number(number), None | Some(ErrorCode::UrlElicitationRequired)));
    }
    assert_eq!(ErrorCode::of_number(-32020), Some(ErrorCode::HeaderMismatch));
    assert_eq!(ErrorCode::of_number(-32021), Some(ErrorCode::MissingRequiredClientCapability));
    assert_eq!(ErrorCode::of_number(-32022), Some(ErrorCode::UnsupportedProtocolVersion));
    for code in ErrorCode::ALL {
        assert_eq!(ErrorCode::of_number(i64::from(code.number())), Some(code));
    }
}

#[test]
fn batches_are_named_as_such() {
    assert_eq!(read("[]").unwrap_err().kind, DecodeErrorKind::Batch);
    assert!(read("[]").unwrap_err().kind.to_string().contains("batch"));
}

proptest! {
    #[test]
    fn the_decoder_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        crate::fuzzing::decode(&bytes);
    }

    #[test]
    fn the_decoder_never_panics_near_a_message(
        cut in 0_usize..80, byte in any::<u8>(), insert in any::<bool>(),
    ) {
        let mut bytes = br#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"\u00e9":[1.5e3]}}"#.to_vec();
        let at = cut.min(bytes.len() - 1);
        if insert { bytes.insert(at, byte) } else { bytes[at] = byte }
        crate::fuzzing::decode(&bytes);
    }

    /// Requirements: BASE-06, BASE-12.
    #[test]
    fn ids_echo_exactly(number in any::<i128>(), text in ".{0,40}", as_number in any::<bool>()) {
        let json = if as_number { number.to_string() } else { Id::string(&text).as_json().to_owned() };
        let message = format!(r#"{{"jsonrpc":"2.0","id": {json} ,"method":"x"}}"#);
        let Message::Request(request) = read(&message).unwrap() else { panic!("a request") };
        prop_assert_eq!(request.id().as_json(), &json);
        let mut out = String::new();
        push_result(&mut out, request.id(), "{}");
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{json},"result":{{}}}}"#);
        prop_assert_eq!(out, expected);
    }
}

/// What a decoder says of a message: every node of the document, or the refusal.
fn told(decoded: Result<Message, DecodeError>) -> String {
    match decoded {
        Ok(Message::Request(request)) => {
            let document = request.document();
            let nodes = (0..document.len() as u32).map(|at| {
                let value = document.at(at);
                let parts: Vec<u32> = value.items().map(Value::position).collect();
                let members: Vec<u32> = value.members().map(|(_, member)| member.position()).collect();
                format!("{:?} {} {} {parts:?} {members:?}\n", value.kind(), value.raw(), value.len())
            });
            nodes.collect()
        }
        other => format!("{other:?}"),
    }
}

/// Requests as one client sends them: with one `_meta`, with another one, and with parts of it elsewhere.
fn conversation() -> Vec<String> {
    let meta = r#"{"a":{"b":[1,{"c":null}],"d":"e"},"f":"g"}"#;
    let longer = r#"{"a":{"b":[1,{"c":null}],"d":"e"},"f":"g","h":1}"#;
    let request = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
    vec![
        request(&format!(r#"{{"_meta":{meta},"name":"x"}}"#)),
        request(&format!(r#"{{"_meta":{meta},"name":"y","arguments":{{"z":1}}}}"#)),
        request(&format!(r#"{{"name":"x","_meta":{meta}}}"#)),
        request(&format!(r#"{{"name":"x","arguments":{meta},"_meta":{meta}}}"#)),
        request(&format!(r#"{{"_meta":{longer},"name":"x"}}"#)),
        request(&format!(r#"{{"_meta":{meta}}}"#)),
        request(&format!(r#"{{"_meta":{meta},"_meta":{meta}}}"#)),
        request(&format!(r#"{{"_meta":{meta}x}}"#)),
        request(&format!(r#"{{"_meta":{meta}"#)),
        request(r#"{"_meta":{}}"#),
        request(r#"{"_meta":{},"arguments":{}}"#),
        request("{}"),
        request(&format!(r#"{{"arguments":{{"_meta":{meta}}}}}"#)),
    ]
}

#[test]
fn what_an_earlier_message_left_changes_nothing() {
    for limits in [Limits::DEFAULT, Limits::DEFAULT.with_depth(5), Limits::DEFAULT.with_nodes(27)] {
        for first in conversation() {
            for second in conversation() {
                let mut memory = Memory::default();
                if let Ok(Message::Request(request)) =
                    decode_with(first.clone().into_bytes(), &mut memory, &limits)
                {
                    request.leave(&mut memory, &limits);
                }
                let expected = told(decode(second.clone().into_bytes(), &limits));
                let found = told(decode_with(second.clone().into_bytes(), &mut memory, &limits));
                assert_eq!(found, expected, "{second} after {first}");
            }
        }
    }
}

#[test]
fn what_was_left_under_other_bounds_is_not_used() {
    let text = || conversation().swap_remove(0).into_bytes();
    let narrow = Limits::DEFAULT.with_depth(4);
    let mut memory = Memory::default();
    if let Ok(Message::Request(request)) = decode_with(text(), &mut memory, &Limits::DEFAULT) {
        request.leave(&mut memory, &Limits::DEFAULT);
    }
    assert_eq!(told(decode_with(text(), &mut memory, &narrow)), told(decode(text(), &narrow)));
}
