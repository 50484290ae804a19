use callgate_protocol::Revision;
use callgate_protocol::wire::prompt::{GetPromptResult, ListPromptsResult};
use callgate_protocol::wire::resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
};
use callgate_protocol::wire::tool::{CallToolResult, ListToolsResult, Tool};
use callgate_protocol::wire::{Project, Wire};

use super::{assert_valid_message, check, check_server_message};
use crate::traffic::Traffic;
use crate::vectors;

#[test]
fn every_example_fits_its_definition() {
    for example in vectors::examples() {
        assert_valid_message(Revision::V2026_07_28, &example.text, &example.definition);
    }
}

#[test]
fn every_definition_of_every_revision_is_judged_and_refuses_something() {
    for revision in Revision::ALL {
        assert!(
            check(revision, "Tool", r#"{"name":"a","inputSchema":{"type":"object"}}"#).is_ok(),
            "{revision}"
        );
        for bad in [
            r#"{"name":"a"}"#,
            r#"{"name":1,"inputSchema":{"type":"object"}}"#,
            r#"{"name":"a","inputSchema":{"type":"string"}}"#,
            r#"{"name":"a","inputSchema":null}"#,
        ] {
            assert!(check(revision, "Tool", bad).is_err(), "{revision} {bad}");
        }
        assert!(check(revision, "NoSuchDefinition", "{}").is_err());
    }
}

#[test]
fn what_a_server_may_send_depends_on_the_revision() {
    use Revision::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};
    let call = Some("tools/call");
    for (revision, answered, text, valid) in [
        (
            V2026_07_28,
            call,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete"}}"#,
            true,
        ),
        (V2026_07_28, call, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#, false),
        (V2025_11_25, call, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#, true),
        (
            V2025_11_25,
            call,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete"}}"#,
            false,
        ),
        (
            V2025_11_25,
            call,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":[1]}}"#,
            false,
        ),
        (
            V2026_07_28,
            call,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text"}],"resultType":"complete"}}"#,
            false,
        ),
        (
            V2026_07_28,
            call,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
            true,
        ),
        (V2026_07_28, call, r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}"#, false),
        (
            V2026_07_28,
            Some("tools/list"),
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}"#,
            false,
        ),
        (V2026_07_28, Some("ping"), r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#, false),
        (V2025_06_18, Some("ping"), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#, true),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","error":{"code":-32002,"message":"m"}}"#, false),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","error":{"code":-32050,"message":"m"}}"#, false),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}"#, false),
        (V2025_11_25, None, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m"}}"#, false),
        (V2024_11_05, None, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m"}}"#, true),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#, false),
        (V2025_06_18, None, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#, true),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#, true),
        (
            V2026_07_28,
            None,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
            false,
        ),
        (V2026_07_28, None, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, false),
        (V2026_07_28, None, "{\n\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}", false),
        (V2026_07_28, None, "[]", false),
        (V2026_07_28, None, "Server ready", false),
    ] {
        let verdict = check_server_message(revision, answered, text);
        assert_eq!(verdict.is_ok(), valid, "{revision} {text} {verdict:?}");
    }
}

/// What `project` leaves of an example is what an older revision defines.
#[test]
fn projected_examples_fit_the_schema_of_every_older_revision() {
    fn projected<T: Wire + Project>(text: &str, revision: Revision) -> String {
        let mut value = T::from_json(text).unwrap();
        value.project(revision);
        value.to_json()
    }
    let mut judged = 0;
    for example in vectors::examples() {
        for revision in Revision::ALL {
            let text = match &*example.definition {
                "CallToolResult" => projected::<CallToolResult>(&example.text, revision),
                "GetPromptResult" => projected::<GetPromptResult>(&example.text, revision),
                "ListPromptsResult" => projected::<ListPromptsResult>(&example.text, revision),
                "ListResourcesResult" => projected::<ListResourcesResult>(&example.text, revision),
                "ListResourceTemplatesResult" => {
                    projected::<ListResourceTemplatesResult>(&example.text, revision)
                }
                "ListToolsResult" => projected::<ListToolsResult>(&example.text, revision),
                "ReadResourceResult" => projected::<ReadResourceResult>(&example.text, revision),
                "Resource" => projected::<Resource>(&example.text, revision),
                "Tool" => projected::<Tool>(&example.text, revision),
                _ => continue,
            };
            judged += 1;
            assert_valid_message(revision, &text, &example.definition);
            if !revision.is_modern() {
                assert!(!text.contains("resultType") && !text.contains("ttlMs"), "{text}");
            }
        }
    }
    assert!(judged > 60, "{judged}");
}

/// Traffic is followed by id and type.
#[test]
fn an_answer_to_nothing_and_a_second_answer_are_refused() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete"}}"#;
    let mut traffic = Traffic::new(Revision::V2026_07_28);
    traffic.sent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#);
    assert_eq!(traffic.waiting(), 1);
    traffic.received(answer);
    assert_eq!(traffic.waiting(), 0);
    for id in ["1", "\"1\"", "2"] {
        let answer = answer.replace("\"id\":1", &format!("\"id\":{id}"));
        let refused = std::panic::catch_unwind(|| {
            let mut traffic = Traffic::new(Revision::V2026_07_28);
            if id != "1" {
                traffic.sent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
            }
            traffic.received(&answer);
        });
        assert!(refused.is_err(), "{id}");
    }
}
