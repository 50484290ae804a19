//! Calls that wait for a yes: asked of the caller over stdio in both eras, or decided with `callgate approve`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::serve::project;
use super::support::{callgate, run, stderr, stdout};

const KEY: &str = "dev.callgate/approval";

/// The example project with a store, a trail, and policies that want approvals.
fn guarded() -> tempfile::TempDir {
    let directory = project();
    let path = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let tables = "[store]\nkind = \"sqlite\"\npath = \"store.db\"\n\n[audit]\npath = \"audit.db\"\n\n\
                  [policy]\nfiles = [\"main.cedar\"]\n\n[approval]\napprovers = [\"kim\", \"dana\"]\n";
    std::fs::write(&path, format!("{text}\n{tables}")).unwrap();
    let policies = "@id(\"all\") permit (principal, action, resource);\n\
        @id(\"by-two\") forbid (principal, action == Action::\"call:invoice_get\", resource) unless { context.second_person };\n\
        @id(\"approved\") forbid (principal, action == Action::\"call:invoice_list\", resource) unless { context.approved };\n";
    std::fs::write(directory.path().join("main.cedar"), policies).unwrap();
    ok(directory.path(), &["migrate"]);
    directory
}

fn ok(directory: &Path, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// A server and the two ends of its streams.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u32,
}

impl Client {
    fn new(directory: &Path) -> Self {
        let mut command = callgate(directory);
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output), next: 0 }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn request(&mut self, method: &str, params: &Value) {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// One round of a call at the latest revision.
    fn call(&mut self, tool: &str, arguments: &Value, forms: bool, round: Option<(&Value, &str)>) -> Value {
        let capabilities = if forms { json!({"elicitation": {"form": {}}}) } else { json!({}) };
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }});
        if let Some((state, action)) = round {
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({KEY: {"action": action}});
        }
        self.request("tools/call", &params);
        self.receive()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn refusal(answer: &Value) -> &str {
    answer["result"]["_meta"]["dev.callgate/refusal"]["code"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn id_of(answer: &Value) -> String {
    assert_eq!(refusal(answer), "approval_pending", "{answer}");
    assert_eq!(answer["result"]["isError"], true);
    let id = answer["result"]["_meta"]["dev.callgate/refusal"]["data"]["approval"].as_str().unwrap();
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(id), "{answer}");
    id.to_owned()
}

#[test]
fn a_call_waits_for_a_second_person_and_then_runs_once() {
    let directory = guarded();
    let directory = directory.path();
    let mut client = Client::new(directory);
    let arguments = json!({"invoice_reference": "A-2026-00017"});
    let id = id_of(&client.call("invoice_get", &arguments, true, None));
    assert_eq!(id_of(&client.call("invoice_get", &arguments, false, None)), id, "the same call waits once");

    let listed = ok(directory, &["approve", "list"]);
    assert!(
        listed.contains(&id) && listed.contains("second person") && listed.contains("1 pending"),
        "{listed}"
    );
    let shown = ok(directory, &["approve", "show", &id]);
    for part in
        ["dana", "tenant-a", "\"Show an invoice\" (invoice_get)", "- invoice_reference: \"A-2026-00017\""]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let own = run(directory, &["approve", "grant", &id, "--by", "dana"]);
    assert_eq!(own.status.code(), Some(9), "{}", stderr(&own));
    assert!(stderr(&own).contains("the caller's own"), "{}", stderr(&own));
    let stranger = run(directory, &["approve", "grant", &id, "--by", "eve"]);
    assert_eq!(stranger.status.code(), Some(9), "{}", stderr(&stranger));
    ok(directory, &["approve", "grant", &id, "--by", "kim", "--reason", "looked at it"]);
    let again = run(directory, &["approve", "deny", &id, "--by", "kim"]);
    assert_eq!(again.status.code(), Some(9));

    // Another process, as after a restart.
    drop(client);
    let mut client = Client::new(directory);
    let other = client.call("invoice_get", &json!({"invoice_reference": "A-2026-00018"}), false, None);
    let other = id_of(&other);
    let done = client.call("invoice_get", &arguments, false, None);
    assert_eq!(done["result"]["isError"], Value::Null, "{done}");
    let used = id_of(&client.call("invoice_get", &arguments, false, None));
    assert_ne!(used, id, "the approval is used up");

    ok(directory, &["approve", "deny", &other, "--by", "kim", "--reason", "not that one"]);
    let denied = client.call("invoice_get", &json!({"invoice_reference": "A-2026-00018"}), false, None);
    assert_eq!(refusal(&denied), "approval_denied");
    assert!(denied["result"]["content"][0]["text"].as_str().unwrap().contains("not that one"), "{denied}");

    let lines = ok(directory, &["approve", "list", "--json"]);
    let listed: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = listed.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["burned", "denied", "pending"], "{lines}");
    let found = ok(directory, &["audit", "search", "looked at it", "--json"]);
    let record: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!((&record["kind"], &record["principal"]), (&"approval".into(), &"kim".into()), "{found}");
    let found = ok(directory, &["audit", "search", "given by kim", "--json"]);
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(ok(directory, &["audit", "verify"]).contains("0 breaks"));
    let absent = run(directory, &["approve", "show", "0199f2a0-0000-7000-8000-000000000000"]);
    assert_eq!(absent.status.code(), Some(8));
    assert_eq!(run(directory, &["approve", "show", "no-id"]).status.code(), Some(2));
}

#[test]
fn a_caller_is_asked_in_its_call_and_each_answer_counts_once() {
    let directory = guarded();
    let mut client = Client::new(directory.path());
    let arguments = json!({"status": "open"});
    for (action, expected) in
        [("accept", None), ("decline", Some("approval_denied")), ("cancel", Some("approval_denied"))]
    {
        let asked = client.call("invoice_list", &arguments, true, None);
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let question = &asked["result"]["inputRequests"][KEY]["params"]["message"];
        assert!(question.as_str().unwrap().contains("- status: \"open\""), "{question}");
        let state = &asked["result"]["requestState"];
        let answer = client.call("invoice_list", &arguments, true, Some((state, action)));
        match expected {
            None => assert!(answer["result"]["structuredContent"].is_object(), "{answer}"),
            Some(code) => assert_eq!(refusal(&answer), code),
        }
        let repeated = client.call("invoice_list", &arguments, true, Some((state, "accept")));
        assert_eq!(repeated["error"]["code"], -32602, "{repeated}");
    }
    // A client that cannot be asked is told where its approval waits.
    id_of(&client.call("invoice_list", &arguments, false, None));
}

#[test]
fn a_client_of_an_earlier_revision_is_asked_while_its_call_waits() {
    for revision in ["2025-11-25", "2025-06-18"] {
        let directory = guarded();
        let mut client = Client::new(directory.path());
        client.request(
            "initialize",
            &json!({
                "protocolVersion": revision,
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(client.receive()["result"]["protocolVersion"], revision);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for (action, is_error) in [("accept", false), ("decline", true), ("cancel", true)] {
            client.request("tools/call", &json!({"name": "invoice_list", "arguments": {"status": "open"}}));
            let question = client.receive();
            assert_eq!(question["method"], "elicitation/create", "{question}");
            assert!(question["params"]["message"].as_str().unwrap().contains("List invoices"), "{question}");
            let mut result = json!({"action": action});
            if action == "accept" {
                result["content"] = json!({});
            }
            client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
            let answer = client.receive();
            assert_eq!(answer["result"]["isError"].as_bool().unwrap_or(false), is_error, "{answer}");
        }
        client.request(
            "tools/call",
            &json!({"name": "invoice_get", "arguments": {"invoice_reference": "A-2026-00017"}}),
        );
        let waits = client.receive();
        assert!(
            waits["result"]["content"][0]["text"].as_str().unwrap().contains("approval_pending"),
            "{waits}"
        );
    }
}
