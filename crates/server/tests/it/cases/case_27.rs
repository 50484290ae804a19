//! Case 27: mirrored headers are compared by what they mean. The kind of fault: a comparison of the
//! encoded text, a header that is not compared at all, and one that counts only in part.

use crate::cases::fixture;
use crate::cases::harness::http::{Post, post};
use crate::cases::harness::{call, error_code, is_error, json, request, shown};

/// Requirements: HTTP-34, HTTP-40, XH-18, XH-21.
#[test]
fn an_encoded_name_is_the_name() {
    let server = fixture::http();
    let read = request("1", "resources/read", r#""uri":"file:///données/é.txt""#);
    let reply = Post::of(server.address, &read)
        .with("Mcp-Name", "=?base64?ZmlsZTovLy9kb25uw6llcy/DqS50eHQ=?=")
        .send(server.address);
    assert_eq!(reply.status, 200, "{reply:?}");
    let answer = reply.response();
    let document = json(&answer);
    let contents = document.root().path(["result", "contents"]).unwrap();
    assert!(contents.items().next().unwrap().get("text").unwrap().is_str("été"));
    let fast = call("1", "fast", "{}");
    for name in ["=?base64?ZmFzdA==?=", "fast", "  fast\t", " =?base64?ZmFzdA==?= "] {
        let reply = Post::of(server.address, &fast).with("Mcp-Name", name).send(server.address);
        assert_eq!((reply.status, shown(&reply.response()).as_str()), (200, "fast"), "{name}");
    }
    // Names of headers have no case, their values have.
    let reply =
        Post::of(server.address, &fast).without("Mcp-Name").and("MCP-NAME", "fast").send(server.address);
    assert_eq!(reply.status, 200);
}

/// Requirements: HTTP-35, HTTP-36, HTTP-37, HTTP-38, HTTP-39, XH-22, XH-23.
#[test]
fn a_name_that_differs_or_is_missing_is_refused_before_the_tool_runs() {
    let server = fixture::http();
    let fast = call("1", "fast", "{}");
    let honest = Post::of(server.address, &fast);
    let before = server.calls();
    for (what, post) in [
        ("another name", honest.clone().with("Mcp-Name", "slow")),
        ("another name, encoded", honest.clone().with("Mcp-Name", "=?base64?c2xvdw==?=")),
        ("another case", honest.clone().with("Mcp-Name", "Fast")),
        ("no name", honest.clone().without("Mcp-Name")),
        ("an empty name", honest.clone().with("Mcp-Name", "")),
        ("two names that agree", honest.clone().and("Mcp-Name", "fast")),
        ("two names that differ", honest.clone().and("Mcp-Name", "slow")),
        ("Base64 without padding", honest.clone().with("Mcp-Name", "=?base64?ZmFzdA?=")),
        ("Base64 of no UTF-8", honest.clone().with("Mcp-Name", "=?base64?wyg=?=")),
        ("markers in another case", honest.clone().with("Mcp-Name", "=?BASE64?ZmFzdA==?=")),
        ("only the prefix", honest.clone().with("Mcp-Name", "=?base64?ZmFzdA==")),
        ("bytes that are no ASCII", honest.clone().with("Mcp-Name", "fast\u{e9}")),
        ("another method", honest.clone().with("Mcp-Method", "tools/list")),
        ("another case of the method", honest.clone().with("Mcp-Method", "Tools/Call")),
        ("no method", honest.clone().without("Mcp-Method")),
        ("another version", honest.clone().with("MCP-Protocol-Version", "2025-11-25")),
        ("no version", honest.clone().without("MCP-Protocol-Version")),
    ] {
        let reply = post.send(server.address);
        assert_eq!(reply.status, 400, "{what}: {reply:?}");
        assert_eq!(error_code(&reply.response()), Some(-32020), "{what}: {reply:?}");
    }
    assert_eq!(server.calls(), before, "no refused request reached a tool");
}

/// Requirements: HTTP-41, XH-27, XH-28, XH-29, XH-31, XH-32.
#[test]
fn mirrored_parameters_are_compared_by_value() {
    let server = fixture::http();
    let arguments = r#"{"region":"Zürich","count":42,"dry":true}"#;
    let honest = Post::of(server.address, &call("1", "mirrored", arguments))
        .and("Mcp-Param-Region", "=?base64?WsO8cmljaA==?=")
        .and("Mcp-Param-Count", "42")
        .and("Mcp-Param-Dry", "true");
    for good in [
        honest.clone(),
        honest.clone().with("mcp-param-count", "42.0"),
        honest.clone().and("Mcp-Param-Unheard-Of", "anything"),
    ] {
        let reply = good.send(server.address);
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    for (what, post) in [
        ("missing", honest.clone().without("Mcp-Param-Region")),
        ("another text", honest.clone().with("Mcp-Param-Region", "Genf")),
        ("raw bytes", honest.clone().with("Mcp-Param-Region", "Zürich")),
        ("broken Base64", honest.clone().with("Mcp-Param-Region", "=?base64?WsO8cmljaA=?=")),
        ("another number", honest.clone().with("Mcp-Param-Count", "43")),
        ("no number", honest.clone().with("Mcp-Param-Count", "forty-two")),
        ("another boolean", honest.clone().with("Mcp-Param-Dry", "false")),
        ("another case", honest.clone().with("Mcp-Param-Dry", "True")),
        ("twice", honest.clone().and("Mcp-Param-Dry", "true")),
    ] {
        let reply = post.send(server.address);
        assert_eq!(reply.status, 400, "{what}: {reply:?}");
        assert_eq!(error_code(&reply.response()), Some(-32020), "{what}: {reply:?}");
    }
    // A value that is null or absent has no header, and none is expected.
    for (arguments, failed) in [("{}", false), (r#"{"region":null}"#, true)] {
        let reply = post(server.address, &call("1", "mirrored", arguments));
        // `null` is no string, which is the schema's business and not the header's.
        assert_eq!((reply.status, is_error(&reply.response())), (200, failed), "{arguments}");
    }
}
