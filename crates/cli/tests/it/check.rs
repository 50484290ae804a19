use super::support::{run, stderr, stdout};

const BROKEN: &str = r#"[server]
nmae = "billing"

[source.billing]
kind = "sqlite"
path = "billing.db"
tenant_scoped = true

[tool.pay]
description = "Pays."
effect = "append"
source = "biling"
sql = "select 1"

[tool.pay.input]
is_admin = { type = "boolean" }

[tool.pay.output]
n = { type = "integer" }
"#;

#[test]
fn every_error_of_a_broken_file_is_shown_with_line_caret_and_remedy() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("callgate.toml"), BROKEN).unwrap();
    let output = run(directory.path(), &["check"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    for part in ["nmae", "callgate.toml:2", "name", "biling", "is_admin", "append"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let json = run(directory.path(), &["check", "--json"]);
    let lines: Vec<serde_json::Value> =
        stdout(&json).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 4, "{lines:?}");
    for line in &lines {
        assert!(line["code"].is_string() && line["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()));
    }
    assert!(lines.iter().any(|line| line["line"] == 2 && line["severity"] == "error"));
}

#[test]
fn a_missing_file_is_an_error_that_says_how_to_make_one() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["check"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = stdout(&output) + &stderr(&output);
    assert!(shown.contains("callgate init"), "{shown}");
}

#[test]
fn warnings_count_as_errors_only_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["init", "."]).status.code(), Some(0));
    let path = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let vague = text.replace("[tool.invoice_get", "[tool.query");
    std::fs::write(&path, vague).unwrap();
    assert_eq!(run(directory.path(), &["check"]).status.code(), Some(0));
    let strict = run(directory.path(), &["check", "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(stdout(&strict).contains("query"), "{}", stdout(&strict));
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("callgate.toml"), BROKEN).unwrap();
    let mut child = super::support::callgate(directory.path())
        .arg("check")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn hidden_text_of_the_server_itself_is_an_error_at_its_place() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["init", "."]).status.code(), Some(0));
    let path = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("Invoices of the caller's", "Invoices of\u{202e} the caller's"))
        .unwrap();
    let output = run(directory.path(), &["check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("text-hidden"), "{}", stdout(&output));
}
