use super::support::{callgate, run, stderr, stdout};

#[test]
fn the_demonstration_makes_a_database_and_shows_a_call_with_every_digit_twice_in_one_place() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = run(directory.path(), &["demo"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for part in [
            "POST /mcp HTTP/1.1",
            "mcp-protocol-version: 2026-07-28",
            "The answer (HTTP 200)",
            "\"resultType\": \"complete\"",
            "dev.callgate/receipt",
            "artifact://callgate/",
            "invoice_reference,customer_name,status",
            "\"mcpServers\"",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }
    assert!(directory.path().join("callgate-demo/callgate.toml").exists());
}

#[test]
fn a_demonstration_that_cannot_write_says_where_and_ends_with_code_3() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("taken"), "a file").unwrap();
    let output = run(directory.path(), &["demo", "--directory", "taken"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("taken"), "{}", stderr(&output));
}

#[test]
fn init_makes_a_project_without_findings_and_never_overwrites_one() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["init", "billing"]).status.code(), Some(0));
    let project = directory.path().join("billing");
    let checked = run(&project, &["check", "--strict"]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    assert!(stdout(&checked).contains("0 errors, 0 warnings"));
    let before = std::fs::read(project.join("callgate.toml")).unwrap();
    let again = run(directory.path(), &["init", "billing"]);
    assert_eq!(again.status.code(), Some(3));
    assert!(stderr(&again).contains("exists already"));
    assert_eq!(std::fs::read(project.join("callgate.toml")).unwrap(), before);
}

#[test]
fn wrong_usage_ends_with_code_2_and_says_what_is_possible() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["serv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("serve"), "{}", stderr(&output));
    let output = callgate(directory.path()).args(["--log", "callgate=loud", "check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
