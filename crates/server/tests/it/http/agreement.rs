//! The agreement of headers and body.

use super::fixture::Fixture;
use super::wire::Call;

fn echo() -> Call {
    Call::tool("echo", r#"{"text":"hi"}"#)
}

async fn assert_mismatch(fixture: &Fixture, calls: impl IntoIterator<Item = Call>) {
    for call in calls {
        let answer = call.send(fixture.address).await;
        assert_eq!((answer.status, answer.code()), (400, Some(-32020)), "{:?}: {answer:?}", call.headers);
        assert!(answer.body.contains("\"id\":1"), "{answer:?}");
    }
}

/// Requirements: HTTP-27, HTTP-31, HTTP-35, HTTP-36, HTTP-37, HTTP-38, HTTP-39, BASE-20.
#[tokio::test]
async fn a_standard_header_that_is_missing_repeated_or_different_is_a_mismatch() {
    let fixture = Fixture::new().await;
    let calls = [
        echo().without("MCP-Protocol-Version"),
        echo().header("MCP-Protocol-Version", "2025-11-25"),
        echo().header("MCP-Protocol-Version", "2027-01-01"),
        echo().also("MCP-Protocol-Version", "2026-07-28"),
        echo().also("MCP-Protocol-Version", "2025-11-25"),
        echo().with("2026-07-28", "2027-01-01"),
        echo().without("Mcp-Method"),
        echo().header("Mcp-Method", "tools/list"),
        echo().header("Mcp-Method", "Tools/Call"),
        echo().header("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?="),
        echo().also("Mcp-Method", "tools/call"),
        echo().without("Mcp-Name"),
        echo().header("Mcp-Name", "wait"),
        echo().header("Mcp-Name", "Echo"),
        echo().header("Mcp-Name", ""),
        echo().also("Mcp-Name", "echo"),
        echo().also("Mcp-Name", "wait"),
    ];
    assert_mismatch(&fixture, calls).await;
    assert_eq!(fixture.seen.started(), 0, "nothing ran");
    let answer = echo().header("Mcp-Name", "wait").send(fixture.address).await;
    insta::assert_snapshot!("mismatch", answer.show());
    fixture.end().await;
}

/// Requirements: HTTP-35.
#[tokio::test]
async fn header_names_have_no_case_and_space_around_values_does_not_count() {
    let fixture = Fixture::new().await;
    let calls = [
        echo().without("Mcp-Method").also("MCP-METHOD", "tools/call"),
        echo().without("MCP-Protocol-Version").also("mcp-protocol-version", "2026-07-28"),
        echo().header("Mcp-Name", " \t echo \t "),
        echo().header("Mcp-Method", "  tools/call  "),
    ];
    for call in calls {
        let answer = call.send(fixture.address).await;
        assert_eq!(answer.status, 200, "{:?}: {answer:?}", call.headers);
    }
    fixture.end().await;
}

/// Requirements: HTTP-40, XH-21, XH-22.
#[tokio::test]
async fn an_encoded_name_is_decoded_before_it_is_compared_and_only_strict_base64_is() {
    let fixture = Fixture::new().await;
    assert_eq!(echo().header("Mcp-Name", "=?base64?ZWNobw==?=").send(fixture.address).await.status, 200);
    let uri = "file:///données/é.txt";
    let read = Call::modern("resources/read", &format!(r#""uri":"{uri}""#));
    let encoded = read.clone().header("Mcp-Name", "=?base64?ZmlsZTovLy9kb25uw6llcy/DqS50eHQ=?=");
    let answer = encoded.send(fixture.address).await;
    assert_ne!(answer.code(), Some(-32020), "{answer:?}");
    let calls = [
        // It decodes to another name.
        echo().header("Mcp-Name", "=?base64?d2FpdA==?="),
        // Padding is missing, too long, or the alphabet is another one.
        echo().header("Mcp-Name", "=?base64?ZWNobw?="),
        echo().header("Mcp-Name", "=?base64?ZWNobw===?="),
        echo().header("Mcp-Name", "=?base64?ZWNo-w==?="),
        echo().header("Mcp-Name", "=?base64?ZWNobw==\u{20}?="),
        // The last bits are not zero, so an encoder cannot have written it.
        echo().header("Mcp-Name", "=?base64?ZWNobx==?="),
        // The decoded bytes are no UTF-8.
        echo().header("Mcp-Name", "=?base64?wyg=?="),
        // The markers are lower case, and without both a value is literal.
        echo().header("Mcp-Name", "=?BASE64?ZWNobw==?="),
        echo().header("Mcp-Name", "=?base64?ZWNobw=="),
        echo().header("Mcp-Name", "ZWNobw==?="),
        // A character outside ASCII must be encoded.
        read.clone().header("Mcp-Name", uri),
        read.without("Mcp-Name"),
    ];
    assert_mismatch(&fixture, calls).await;
    assert_eq!(fixture.seen.started(), 1);
    fixture.end().await;
}

/// Requirements: XH-27, XH-28, XH-29, XH-31, XH-32, HTTP-40, XH-21, XH-22.
#[tokio::test]
async fn mirrored_parameters_agree_with_the_body_or_the_call_is_refused() {
    let fixture = Fixture::new().await;
    let text = |value: &str| Call::tool("mirrored", &format!(r#"{{"text":"{value}"}}"#));
    let number = |value: &str| Call::tool("mirrored", &format!(r#"{{"number":{value}}}"#));
    let good = [
        Call::tool("mirrored", "{}"),
        Call::tool("mirrored", r#"{"text":null}"#).with("null", "\"\"").header("Mcp-Param-Text", ""),
        text("plain").header("Mcp-Param-Text", "plain"),
        text("plain").header("MCP-PARAM-TEXT", "=?base64?cGxhaW4=?="),
        text("é").header("Mcp-Param-Text", "=?base64?w6k=?="),
        text("=?base64?cGxhaW4=").header("Mcp-Param-Text", "=?base64?cGxhaW4="),
        number("42").header("Mcp-Param-Number", "42"),
        number("42").header("Mcp-Param-Number", "42.0"),
        number("42.0").header("Mcp-Param-Number", "42"),
        text("plain").header("Mcp-Param-Text", "plain").header("Mcp-Param-Unheard", "of"),
    ];
    let runs = good.len();
    for call in good {
        let answer = call.send(fixture.address).await;
        assert_eq!(answer.status, 200, "{:?}: {answer:?}", call.headers);
    }
    let bad = [
        text("plain"),
        text("plain").header("Mcp-Param-Text", "other"),
        text("plain").header("Mcp-Param-Text", "Plain"),
        text("plain").header("Mcp-Param-Text", "plain").also("Mcp-Param-Text", "plain"),
        text("plain").header("Mcp-Param-Text", "=?base64?cGxhaW4?="),
        text("é").header("Mcp-Param-Text", "é"),
        number("42").header("Mcp-Param-Number", "43"),
        number("42").header("Mcp-Param-Number", "forty-two"),
        number("42"),
    ];
    assert_mismatch(&fixture, bad).await;
    assert_eq!(fixture.seen.started(), runs);
    fixture.end().await;
}
