//! The page of the manual on HTTP tools: its commands and files, and the service of its example when it misbehaves.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use super::examples::{Service, copy, migrate};
use super::support::{callgate, run, stderr, stdout};

const PAGE: &str = include_str!("../../../../docs/http-tools.md");

fn example() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/http-service"), directory.path());
    directory
}

fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    PAGE.split(&open).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn the_commands_of_the_page_give_what_it_shows() {
    let directory = example();
    let blocks = blocks("console");
    for block in &blocks {
        let (command, shown) = block.split_once('\n').unwrap_or((block, ""));
        let words: Vec<&str> = command.strip_prefix("$ callgate ").unwrap().split(' ').collect();
        let output = run(directory.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        assert!(shown.is_empty() || stdout(&output).trim_end() == shown, "{}", stdout(&output));
    }
    assert_eq!(blocks.len(), 2, "the page has other commands; adapt this test");
}

/// Only the secrets are missing on this machine, and each of the credentials is one that is read.
#[test]
fn every_file_of_the_page_is_one_that_is_read() {
    let [whole, changing, credentials] = &blocks("toml")[..] else {
        panic!("the page has other files; adapt this test");
    };
    let directory = tempfile::tempdir().unwrap();
    let head = "[server]\nname = \"helpdesk\"\n[auth.local]\nprincipal = \"dana\"\ntenant = \"acme\"\n[store]\nkind = \"sqlite\"\npath = \"store.db\"\n";
    let own = "credential = { kind = \"bearer\", secret = \"env:HELPDESK_TOKEN\" }\n";
    let lines =
        credentials.lines().filter(|line| line.starts_with("credential = ")).map(|line| format!("{line}\n"));
    let tables = credentials.split("[source.helpdesk.credential]\n").skip(1);
    let tables = tables.map(|table| format!("\n[source.helpdesk.credential]\n{table}\n"));
    let whole = format!("{whole}\n{changing}");
    let mut seen = 0;
    for credential in lines.chain(tables) {
        std::fs::write(
            directory.path().join("callgate.toml"),
            format!("{head}{}", whole.replace(own, &credential)),
        )
        .unwrap();
        migrate(directory.path());
        let output = run(directory.path(), &["check", "--json"]);
        let said = stdout(&output);
        let codes: Vec<String> = said
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|finding| finding["code"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(codes, ["missing_secret"], "{credential}: {said}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn a_service_that_misbehaves_is_told_of_and_shows_nothing_of_itself() {
    let directory = example();
    let _service = Service::of(directory.path());
    migrate(directory.path());
    let mut child = callgate(directory.path())
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let cases = [
        ("T-8", "no ticket of this company has that reference"),
        ("T-9", "no ticket of this company has that reference"),
        ("T-90", "timeout"),
        ("T-91", "source_unavailable"),
        ("T-92", "output_too_large"),
        ("T-93", "points elsewhere"),
        ("T-94", "maintenance"),
    ];
    let mut input = child.stdin.take().unwrap();
    for (id, (reference, _)) in cases.iter().enumerate() {
        let request = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "ticket_get", "arguments": {"reference": reference}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        writeln!(input, "{request}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let mut seen = 0;
    for line in stdout(&output).lines() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        let (reference, expected) = cases[usize::try_from(answer["id"].as_u64().unwrap()).unwrap()];
        assert_eq!(answer["result"]["isError"], true, "{reference}: {line}");
        assert!(line.contains(expected), "{reference}: {line}");
        assert!(!line.contains("127.0.0.1") && !line.contains("example-key"), "{reference}: {line}");
        seen += 1;
    }
    assert_eq!(seen, cases.len());
}
