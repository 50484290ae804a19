//! Case 13: what the list hides cannot be called. The kind of fault: a filter that only the list passes, so that a
//! hidden tool runs for whoever knows its name, under another spelling of it, or over another transport.

use std::net::SocketAddr;

use callgate_protocol::Revision;
use callgate_testkit::wire;

use crate::cases::fixture;
use crate::cases::harness::child::Child;
use crate::cases::harness::http::{Connection, Post, Reply, post};
use crate::cases::harness::{at, call, error_code, request, shown};

/// Ways to ask for the tool `danger` of the server `cases`: by its name, under the name of its server spelled by hand,
/// and by what a careless comparison takes for its name.
const SPELLINGS: [&str; 10] = [
    "danger",
    "cases_danger",
    "cases.danger",
    "cases/danger",
    "cases__danger",
    "mcp__cases__danger",
    "Danger",
    "danger ",
    "danger\u{200b}",
    "danger\u{0}",
];

/// Asks for the list and for each spelling: nothing is listed, nothing runs, and each answer is that for a name that no
/// tool has. A twin that may be seen shows that what runs is counted.
fn nothing_runs(mut list: impl FnMut() -> String, mut call: impl FnMut(&str) -> String) {
    let listed = list();
    assert!(listed.contains(r#""name":"harmless""#), "{listed}");
    assert!(!listed.contains(r#""name":"danger""#), "{listed}");
    let unknown = call("no_such_tool");
    assert_eq!(error_code(&unknown), Some(-32602), "{unknown}");
    for spelling in SPELLINGS {
        let answer = call(spelling);
        assert_eq!(at(&answer, &["error"]), at(&unknown, &["error"]), "{spelling:?}: {answer}");
    }
    assert_eq!(shown(&call("runs")), "0", "the backend was reached");
    call("harmless");
    assert_eq!(shown(&call("runs")), "1", "what runs is counted");
}

#[test]
fn a_hidden_tool_never_runs_over_http() {
    let server = fixture::http_hiding();
    nothing_runs(
        || post(server.address, &request("1", "tools/list", "")).response(),
        |name| post(server.address, &call("1", name, "{}")).response(),
    );
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cases","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A request of an earlier revision.
fn earlier(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn earlier_call(id: u32, name: &str) -> String {
    let name = serde_json::to_string(name).unwrap();
    earlier(id, "tools/call", &format!(r#"{{"name":{name},"arguments":{{}}}}"#))
}

/// Sends a message of an earlier revision.
fn send(address: SocketAddr, session: Option<&str>, message: &str) -> Reply {
    let mut post = Post::of(address, message).without("Mcp-Method").without("Mcp-Name");
    post = match session {
        Some(session) => post.with("MCP-Protocol-Version", "2025-11-25").with("Mcp-Session-Id", session),
        None => post.without("MCP-Protocol-Version"),
    };
    let mut connection = Connection::open(address);
    connection.write(&post.bytes());
    connection.reply()
}

#[test]
fn a_hidden_tool_never_runs_in_a_session_of_an_earlier_revision() {
    let server = fixture::http_hiding();
    let opened = send(server.address, None, HELLO);
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    assert_eq!(send(server.address, Some(&session), READY).status, 202);
    let ask = |method: &str, message: &str| {
        let answer = send(server.address, Some(&session), message).response();
        wire::assert_server_message(Revision::V2025_11_25, Some(method), &answer);
        answer
    };
    nothing_runs(
        || ask("tools/list", &earlier(1, "tools/list", "{}")),
        |name| ask("tools/call", &earlier_call(2, name)),
    );
}

#[test]
fn a_hidden_tool_never_runs_over_stdio() {
    let child = std::cell::RefCell::new(Child::hiding(Revision::V2026_07_28));
    let mut id = 0;
    nothing_runs(
        || child.borrow_mut().ask(&request("\"list\"", "tools/list", "")),
        |name| {
            id += 1;
            child.borrow_mut().ask(&call(&id.to_string(), name, "{}"))
        },
    );
}

#[test]
fn a_hidden_tool_never_runs_over_stdio_for_a_client_of_an_earlier_revision() {
    let child = std::cell::RefCell::new(Child::hiding(Revision::V2025_11_25));
    child.borrow_mut().ask(HELLO);
    child.borrow_mut().send(READY);
    let mut id = 1;
    nothing_runs(
        || child.borrow_mut().ask(&earlier(1, "tools/list", "{}")),
        |name| {
            id += 1;
            child.borrow_mut().ask(&earlier_call(id, name))
        },
    );
}
