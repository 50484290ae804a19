//! What the tests of cases share: a client over raw TCP, a client of a child process over stdio, and
//! the writing of requests. No code of the server's own clients or parsers of HTTP is used.

pub(crate) mod child;
pub(crate) mod http;

use callgate_protocol::json::{Document, Limits, push_string};

/// Metadata of a modern client without capabilities, without braces.
pub(crate) const META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"cases","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}"#,
);

/// A modern request; `members` are those of `params` beside `_meta`, without braces.
pub(crate) fn request(id: &str, method: &str, members: &str) -> String {
    let separator = if members.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{separator}"_meta":{{{META}}}}}}}"#
    )
}

/// A modern call of a tool with arguments as JSON text.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    let mut name = String::new();
    push_string(&mut name, tool);
    request(id, "tools/call", &format!(r#""name":{name},"arguments":{arguments}"#))
}

/// A JSON text as a document.
pub(crate) fn json(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The value at a path of member names, as JSON text.
pub(crate) fn at(text: &str, path: &[&str]) -> Option<String> {
    json(text).root().path(path.iter().copied()).map(|value| value.raw().to_owned())
}

/// The code of an error response.
pub(crate) fn error_code(text: &str) -> Option<i64> {
    json(text).root().path(["error", "code"]).and_then(|code| code.as_i64())
}

/// The text blocks of a tool's result, one after the other.
pub(crate) fn shown(text: &str) -> String {
    let document = json(text);
    let content = document.root().path(["result", "content"]).unwrap_or_else(|| panic!("no result: {text}"));
    content.items().filter_map(|block| block.get("text")).filter_map(|text| text.as_str()).collect()
}

/// True for a tool's result that says that the tool did not do it.
pub(crate) fn is_error(text: &str) -> bool {
    assert!(json(text).root().get("result").is_some(), "no result: {text}");
    at(text, &["result", "isError"]).as_deref() == Some("true")
}
