//! `callgate policy` over the example of policies, and the commands of the manual.

use std::path::Path;

use super::support::{run, stderr, stdout};

/// The example in a directory of its own, with its database.
fn example() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies");
    for entry in std::fs::read_dir(example).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
    }
    let tables = std::fs::read_to_string(directory.path().join("orders.sql")).unwrap();
    callgate_adapters::sqlite::create(&directory.path().join("orders.db"), &tables).unwrap();
    directory
}

#[test]
fn the_expected_decisions_of_the_example_are_decided() {
    let directory = example();
    let output = run(directory.path(), &["policy", "test", "decisions.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).ends_with("6 of 6 decisions as expected\n"), "{}", stdout(&output));
}

#[test]
fn a_decision_that_is_not_expected_is_shown_with_its_reasons_and_fails() {
    let directory = example();
    let file = directory.path().join("decisions.toml");
    let text = std::fs::read_to_string(&file).unwrap().replace("expect = \"hidden\"", "expect = \"permit\"");
    std::fs::write(&file, text).unwrap();
    let output = run(directory.path(), &["policy", "test", "decisions.toml"]);
    assert_eq!(output.status.code(), Some(6));
    let shown = stdout(&output);
    for line in [
        "FAILED  others do not know that customers can be looked up (decisions.toml:38)",
        "        expected permit, but it is hidden",
        "        |   permit support (main.cedar:10): does not apply: it is about other callers",
        "        |   the group `support`: permit",
        "4 of 6 decisions as expected",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(stderr(&output).contains("2 decisions are not the expected ones"));
}

/// A test of policies must not be green where the gate answers with a challenge.
#[test]
fn scopes_are_compared_as_at_the_gate_with_what_they_imply() {
    let directory = example();
    let file = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let oauth = "[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"https://mcp.example.com/mcp\"\n\
                 [auth.oauth.implies]\n\"orders\" = [\"orders:read\"]\n";
    let text = text.replace("labels = [\"personal\"]", "labels = [\"personal\"]\nscopes = [\"orders:read\"]");
    std::fs::write(&file, format!("{text}\n{oauth}")).unwrap();
    let outcome = |scopes: &str, expect: &str| {
        let case = format!(
            "[[case]]\nprincipal = \"ben\"\ntenant = \"tenant-a\"\ngroups = [\"support\"]\nscopes = [{scopes}]\n\
             tool = \"orders_of_customer\"\narguments = {{ customer = \"C-1\", reason = \"call\" }}\nexpect = \"{expect}\"\n"
        );
        std::fs::write(directory.path().join("scopes.toml"), case).unwrap();
        let output = run(directory.path(), &["policy", "test", "scopes.toml"]);
        (output.status.code(), stdout(&output))
    };
    let (code, shown) = outcome("", "permit");
    assert_eq!(code, Some(6), "{shown}");
    assert!(shown.contains("the caller is first challenged for the scopes orders:read"), "{shown}");
    for (scopes, expect) in [
        ("", "needs_scope"),
        ("\"orders:read\"", "permit"),
        ("\"orders\"", "permit"),
        ("\"other\"", "needs_scope"),
    ] {
        let (code, shown) = outcome(scopes, expect);
        assert_eq!(code, Some(0), "{scopes}: {shown}");
    }
    let explain = |principal: &[&str]| {
        let tool = ["--tool", "orders_of_customer", "--args", r#"{"customer":"C-1","reason":"call"}"#];
        let output = run(directory.path(), &[&["policy", "explain"], principal, &tool[..]].concat());
        stdout(&output)
    };
    let shown = explain(&["--principal", "ben", "--tenant", "tenant-a", "--group", "support"]);
    assert!(
        shown.starts_with(
            "decision: needs_scope (the caller is challenged for the scopes orders:read)\nwith them: permit"
        ),
        "{shown}"
    );
    // A tool that the caller does not see tells nothing of its scopes, at the gate and here.
    let shown = explain(&["--principal", "nobody", "--tenant", "tenant-a"]);
    assert!(shown.starts_with("decision: hidden"), "{shown}");
    assert!(!shown.contains("orders:read"), "{shown}");
}

#[test]
fn faults_of_the_expected_decisions_are_shown_with_their_lines() {
    let directory = example();
    let text = "[[case]]\nprincipal = \"a\"\ntool = \"turnovr\"\narguments = { day = \"2026-11-01\" }\nexpect = \"permit\"\n";
    std::fs::write(directory.path().join("some.toml"), text).unwrap();
    let output = run(directory.path(), &["policy", "test", "some.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("did you mean `turnover`?"), "{}", stdout(&output));
    let text = text.replace("turnovr", "turnover").replace("2026-11-01", "soon").replace("expect", "expcet");
    std::fs::write(directory.path().join("some.toml"), &text).unwrap();
    let output = run(directory.path(), &["policy", "test", "some.toml"]);
    assert!(stdout(&output).contains("unknown key `expcet`"), "{}", stdout(&output));
    std::fs::write(directory.path().join("some.toml"), text.replace("expcet", "expect")).unwrap();
    let output = run(directory.path(), &["policy", "test", "some.toml"]);
    assert!(stdout(&output).contains("do not fit the input schema"), "{}", stdout(&output));
}

#[test]
fn a_decision_is_explained_with_what_would_change_it() {
    let directory = example();
    let explain = |arguments: &[&str]| {
        let output = run(directory.path(), &[&["policy", "explain"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let looked_up = ["--tool", "orders_of_customer", "--args", r#"{"customer":"C-1","reason":"audit"}"#];
    let support = ["--principal", "ben", "--tenant", "tenant-a", "--group", "support"];
    let shown = explain(&[&support[..], &looked_up].concat());
    assert!(shown.starts_with("decision: needs_approval\ndecided by: support\n"), "{shown}");
    assert!(shown.contains("forbid audits-are-approved (main.cedar:15): applies"), "{shown}");
    assert!(shown.contains("what would change it:\n  an approval: permit\n"), "{shown}");
    let shown = explain(&[&support[..], &looked_up, &["--approved"]].concat());
    assert!(shown.starts_with("decision: permit\ndecided by: support\n"), "{shown}");
    let shown =
        explain(&["--principal", "eve", "--tenant", "tenant-a", "--tool", "turnover", "--args", "{}"]);
    assert!(shown.contains("note: the arguments do not fit the input schema"), "{shown}");

    let secret =
        "@id(\"secret\") forbid(principal, action == Action::\"list\", resource == Tool::\"turnover\");";
    let policies = directory.path().join("main.cedar");
    let text = std::fs::read_to_string(&policies).unwrap();
    std::fs::write(&policies, format!("{text}\n{secret}\n")).unwrap();
    let figures = ["--principal", "eve", "--tenant", "tenant-a", "--tool", "turnover"];
    let shown = explain(&figures);
    assert!(shown.starts_with("decision: hidden"), "{shown}");
    assert!(shown.contains("\nhidden by: secret\n"), "{shown}");
    assert!(shown.contains("what would change it:\n  without the policies secret: permit\n"), "{shown}");
    let never = "@id(\"never\") forbid(principal, action == Action::\"call:turnover\", resource);";
    std::fs::write(&policies, format!("{text}\n{secret}\n{never}\n")).unwrap();
    let shown = explain(&figures);
    let lines = "  without the policies secret: the caller sees the tool; deny\n  \
                 without the policies never, secret: permit\n";
    assert!(shown.contains(lines), "{shown}");

    let output = run(directory.path(), &["policy", "explain", "--principal", "a", "--tool", "turnovr"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `turnover`?"), "{}", stderr(&output));
}

#[test]
fn the_schema_is_printed_although_a_policy_has_a_fault() {
    let directory = example();
    std::fs::write(directory.path().join("other.cedar"), "permitt(principal, action, resource);").unwrap();
    let output = run(directory.path(), &["policy", "schema"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let schema = stdout(&output);
    assert!(schema.contains("action \"call:orders_of_customer\" in [call] appliesTo"), "{schema}");
    assert!(
        schema.contains(r#"arguments: {"customer": String, "reason": String, "cursor"?: String}"#),
        "{schema}"
    );
    let output = run(directory.path(), &["check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("bad_policy"), "{}", stdout(&output));
    let output = run(directory.path(), &["serve"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

/// The arguments of a command of the manual: words, of which some are in single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn the_commands_of_the_manual_give_what_it_shows() {
    let directory = example();
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let mut run_so_far = 0;
    for block in manual.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, shown) = block.split_once('\n').unwrap();
        let command = words(command.strip_prefix("$ callgate ").unwrap());
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = run(directory.path(), &command);
        assert_eq!(output.status.code(), Some(0), "{command:?}\n{}{}", stdout(&output), stderr(&output));
        if !shown.is_empty() {
            assert_eq!(stdout(&output), shown, "{command:?}");
        }
        run_so_far += 1;
    }
    assert_eq!(run_so_far, 5);
}

/// Case 13: over the standard streams, in the latest revision and in an earlier one, a hidden tool is in no
/// list, and a call of it is answered as one of a tool that does not exist.
#[test]
fn a_hidden_tool_is_unknown_over_stdio_in_every_revision() {
    use std::io::Write as _;
    use std::process::Stdio;

    let directory = example();
    let file = directory.path().join("callgate.toml");
    let text =
        std::fs::read_to_string(&file).unwrap().replace("groups = [\"support\"]", "groups = [\"sales\"]");
    std::fs::write(&file, text).unwrap();
    let modern = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |name: &str| {
        let arguments = serde_json::json!({"customer": "C-1", "reason": "call"});
        serde_json::json!({"name": name, "arguments": arguments})
    };
    let mut lines = Vec::new();
    let mut request = |method: &str, mut params: serde_json::Value, is_modern: bool| {
        if is_modern {
            params["_meta"] = modern.clone();
        }
        let id = lines.len();
        lines.push(serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    };
    for is_modern in [true, false] {
        if !is_modern {
            let client = serde_json::json!({"name": "test", "version": "1"});
            let params = serde_json::json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
            request("initialize", params, false);
        }
        request("tools/list", serde_json::json!({}), is_modern);
        request("tools/call", call("orders_of_customer"), is_modern);
        request("tools/call", call("orders_of_customers"), is_modern);
    }
    let mut child = super::support::callgate(directory.path())
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in &lines {
        writeln!(input, "{line}").unwrap();
        if line["method"] == "initialize" {
            writeln!(
                input,
                "{}",
                serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
            )
            .unwrap();
        }
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let mut answers = vec![serde_json::Value::Null; lines.len()];
    for line in stdout(&output).lines() {
        let mut answer: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = usize::try_from(answer["id"].take().as_u64().unwrap()).unwrap();
        answers[id] = answer;
    }
    for [list, hidden, unknown] in [[0, 1, 2], [4, 5, 6]] {
        let tools = answers[list]["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answers:?}"));
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["turnover"]);
        assert_eq!(answers[hidden], answers[unknown]);
        assert_eq!(answers[hidden]["error"]["code"], -32602, "{}", answers[hidden]);
    }
}
