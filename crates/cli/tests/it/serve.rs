use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use callgate_protocol::Revision;
use callgate_testkit::wire::assert_server_message;

use super::support::{callgate, run, stderr};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A child that does not outlive its test.
pub(crate) struct Served(Child);

impl Served {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["init"]).status.code(), Some(0));
    directory
}

pub(crate) fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{META}}}}}"#
    )
}

pub(crate) fn listen(directory: &Path) -> (Served, String) {
    let mut command = callgate(directory);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    listening(command)
}

/// Starts a server that says where it listens, and gives its address.
pub(crate) fn listening(mut command: Command) -> (Served, String) {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("listening on http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    (Served(child), address)
}

#[test]
fn calls_over_stdio_are_answered_and_the_end_of_input_ends_the_process() {
    let directory = project();
    let mut child = callgate(directory.path())
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00001"}"#)).unwrap();
    writeln!(input, "{}", call(2, "invoice_list", r#"{"status":"paid"}"#)).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut answers: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .inspect(|line| assert_server_message(Revision::V2026_07_28, Some("tools/call"), line))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 2);
    let rows = &answers[0]["result"]["structuredContent"]["rows"];
    assert_eq!(rows[0]["amount_minor"].to_string(), "9007199254740993");
    assert_eq!(answers[1]["result"]["isError"], true);
    let refusal = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(refusal.contains("/status") && refusal.contains("invalid_arguments"), "{refusal}");
}

#[test]
fn another_tenant_sees_its_own_invoices_only() {
    let directory = project();
    let path = directory.path().join("callgate.toml");
    let text =
        std::fs::read_to_string(&path).unwrap().replace("tenant = \"tenant-a\"", "tenant = \"tenant-b\"");
    std::fs::write(&path, text).unwrap();
    let (_served, address) = listen(directory.path());
    let own =
        post(&address, "invoice_get", &call(1, "invoice_get", r#"{"invoice_reference":"B-2026-00002"}"#));
    assert!(own.contains("B-2026-00002") && own.contains("\"currency\""), "{own}");
    let foreign =
        post(&address, "invoice_get", &call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00002"}"#));
    assert!(foreign.contains(r#""rows":[]"#), "{foreign}");
}

#[test]
fn an_address_that_others_can_reach_is_refused_without_authentication() {
    let directory = project();
    let output = run(directory.path(), &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("127.0.0.1"), "{}", stderr(&output));
}

#[test]
fn a_broken_configuration_is_not_served() {
    let directory = project();
    std::fs::write(directory.path().join("callgate.toml"), "[server]\nname = 3\n").unwrap();
    let output = run(directory.path(), &["serve"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_changed_file_is_taken_over_and_clients_that_listen_are_told() {
    let directory = project();
    let (_served, address) = listen(directory.path());
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}},{META}}}}}"#
    );
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "notifications/subscriptions/acknowledged");

    let path = directory.path().join("callgate.toml");
    let good = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, good.replace("[tool.invoice_get", "[tool.invoice_show")).unwrap();
    read_until(&mut stream, &mut seen, "notifications/tools/list_changed");
    let answer =
        post(&address, "invoice_show", &call(1, "invoice_show", r#"{"invoice_reference":"A-2026-00002"}"#));
    assert!(answer.contains("A-2026-00002"), "{answer}");
}

fn read_until(stream: &mut TcpStream, seen: &mut String, wanted: &str) {
    let mut chunk = [0; 4096];
    while !seen.contains(wanted) {
        let read =
            stream.read(&mut chunk).unwrap_or_else(|error| panic!("{error} before {wanted} in {seen}"));
        assert!(read > 0, "the stream ended before {wanted} in {seen}");
        seen.push_str(&String::from_utf8_lossy(&chunk[..read]));
    }
}

/// One request on a connection of its own; gives status line, headers and body.
pub(crate) fn post(address: &str, tool: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, message) = answer.split_once("\r\n\r\n").unwrap();
    assert_server_message(Revision::V2026_07_28, Some("tools/call"), message);
    answer
}

#[test]
fn no_log_level_shows_arguments_or_results() {
    let directory = project();
    let mut child = callgate(directory.path())
        .args(["--log", "trace", "serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{}", call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00004"}"#)).unwrap();
    writeln!(input, "{}", call(2, "invoice_get", r#"{"invoice_reference":"canary-in-argument"}"#)).unwrap();
    writeln!(input, "{}", call(3, "canary-in-name", r#"{"canary-in-key":1}"#)).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    assert!(answers.contains("danke"), "the note of this invoice is the canary in the result: {answers}");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("callgate::audit"), "the calls are recorded: {log}");
    for canary in ["A-2026-00004", "canary-in-argument", "canary-in-key", "danke"] {
        assert!(!log.contains(canary), "{canary} is in the log: {log}");
    }
}
