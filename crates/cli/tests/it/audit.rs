//! The trail of a real server, read with the real commands.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::serve::{Served, call, listen, project};
use super::support::{callgate, run, stderr, stdout};

/// The example project with an audit trail.
fn audited() -> tempfile::TempDir {
    let directory = project();
    let path = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let text =
        text.replacen("[tool.invoice_get]\n", "[tool.invoice_get]\nrecorded = [\"invoice_reference\"]\n", 1);
    std::fs::write(&path, format!("{text}\n[audit]\npath = \"audit.db\"\n")).unwrap();
    directory
}

/// The answers of a server over stdio to these requests, by their ids.
fn answers(directory: &Path, requests: &[String]) -> Vec<Value> {
    let mut child = callgate(directory)
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let mut answers: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

fn lines(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = run(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_call_is_found_again_by_its_receipt_and_by_every_filter() {
    let directory = audited();
    let directory = directory.path();
    let answers = answers(
        directory,
        &[
            call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00001"}"#),
            call(2, "invoice_list", r#"{"status":"canary-of-a-value"}"#),
            call(3, "invoice_gte", "{}"),
            call(4, "no\\u001b[2Jsuch", "{}"),
        ],
    );
    let receipt = &answers[0]["result"]["_meta"]["dev.callgate/receipt"];
    let id = receipt["call"].as_str().unwrap();

    let output = run(directory, &["audit", "show", id]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    for text in ["invoice_get", "permit", "complete", r#"{"invoice_reference":"A-2026-00001"}"#, "stdio"] {
        assert!(shown.contains(text), "{text} is not in {shown}");
    }
    let record = &lines(directory, &["audit", "show", id, "--json"])[0];
    for name in ["contract", "input", "policy"] {
        assert_eq!(record[name], receipt[name], "{name}");
    }
    let all = lines(directory, &["audit", "list", "--json"]);
    assert_eq!(all.len(), 4);
    for (arguments, expected) in [
        (&["--tool", "invoice_get"][..], 1),
        (&["--code", "unknown_tool"], 2),
        (&["--outcome", "refused"], 3),
        (&["--decision", "permit"], 1),
        (&["--principal", "dana", "--tenant", "tenant-a"], 4),
        (&["--principal", "eve"], 0),
        (&["--since", "1h"], 4),
        (&["--until", "1h"], 0),
        (&["--limit", "2"], 2),
    ] {
        let found = lines(directory, &[&["audit", "list", "--json"], arguments].concat());
        assert_eq!(found.len(), expected, "{arguments:?}");
    }
    assert_eq!(lines(directory, &["audit", "search", "2026-00001", "--json"]).len(), 1);
    assert_eq!(lines(directory, &["audit", "export"]).len(), 4);
    assert_eq!(run(directory, &["audit", "list", "--since", "someday"]).status.code(), Some(2));
    let missing = run(directory, &["audit", "show", "0199f2a0-0000-7000-8000-000000000000"]);
    assert_eq!(missing.status.code(), Some(8), "{}", stderr(&missing));

    // Of arguments that no tool names for the trail, only the digest is there.
    let export = stdout(&run(directory, &["audit", "export"]));
    assert!(!export.contains("canary-of-a-value"), "{export}");

    let table = stdout(&run(directory, &["audit", "list"]));
    assert!(!table.contains('\u{1b}') && table.contains("no\\u{1b}[2Jsuch"), "{table}");
    let of = |tool: &str| {
        let record = all.iter().find(|record| record["tool"].as_str().unwrap().contains(tool)).unwrap();
        stdout(&run(directory, &["audit", "show", record["call"].as_str().unwrap()]))
    };
    assert!(of("invoice_gte").contains("the nearest name is invoice_get"), "{}", of("invoice_gte"));
    assert!(of("such").contains("no name is near"), "{}", of("such"));
}

#[test]
fn the_trail_is_verified_while_it_is_written_and_a_cut_is_found_with_exported_heads() {
    let directory = audited();
    let directory = directory.path();
    let (_served, address) = listen(directory);
    for number in 0..5 {
        super::serve::post(
            &address,
            "invoice_get",
            &call(number, "invoice_get", r#"{"invoice_reference":"A-2026-00002"}"#),
        );
    }
    let head = stdout(&run(directory, &["audit", "heads"]));
    std::fs::write(directory.join("heads.jsonl"), &head).unwrap();
    let verify = |arguments: &[&str]| {
        let output = run(directory, &[&["audit", "verify"], arguments].concat());
        (output.status.code(), stdout(&output))
    };
    let (code, text) = verify(&["--heads", "heads.jsonl"]);
    assert_eq!((code, text.trim()), (Some(0), "5 records, 1 to 5; 1 head compared; 0 breaks"));
    drop(_served);
    let connection = rusqlite::Connection::open(directory.join("audit.db")).unwrap();
    connection
        .execute_batch(
            "delete from callgate_audit where seq > 3;
             update callgate_audit_store set (seq, hash) = (select seq, hash from callgate_audit where seq = 3)",
        )
        .unwrap();
    assert_eq!(verify(&[]).0, Some(0));
    let (code, text) = verify(&["--heads", "heads.jsonl"]);
    assert_eq!(code, Some(7));
    assert!(text.contains("record 4: truncated"), "{text}");
    connection.execute_batch("update callgate_audit set tenant = 'tenant-b' where seq = 2").unwrap();
    let (code, text) = verify(&["--json"]);
    assert_eq!(code, Some(7));
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((first["kind"].as_str(), first["seq"].as_i64()), (Some("altered"), Some(2)));
}

#[test]
fn no_answered_call_is_missing_after_the_process_was_killed_at_any_moment() {
    let directory = audited();
    let directory = directory.path();
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut answered = Vec::new();
    for _ in 0..6 {
        let (served, address) = listen(directory);
        let ids = Arc::new(Mutex::new(Vec::new()));
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let (address, ids) = (address.clone(), Arc::clone(&ids));
                std::thread::spawn(move || call_until_it_ends(&address, &ids))
            })
            .collect();
        // The moment of the kill is spread over the work of the server, from the first call on.
        while ids.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(seed % 120_000));
        // SIGKILL.
        drop::<Served>(served);
        for client in clients {
            client.join().unwrap();
        }
        answered.append(&mut ids.lock().unwrap());
    }
    assert!(answered.len() > 20, "only {} calls were answered", answered.len());
    let recorded: std::collections::BTreeSet<String> = lines(directory, &["audit", "export"])
        .iter()
        .filter_map(|record| record["call"].as_str().map(str::to_owned))
        .collect();
    for id in &answered {
        assert!(recorded.contains(id), "{id} was answered and is not in the trail");
    }
    let verified = run(directory, &["audit", "verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", stdout(&verified));
}

/// Calls on one connection and keeps the id of every receipt that arrived whole.
fn call_until_it_ends(address: &str, ids: &Mutex<Vec<String>>) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let Ok(reading) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    let body = call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00003"}"#);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: invoice_get\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    loop {
        if stream.write_all(request.as_bytes()).is_err() {
            return;
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let id = answer["result"]["_meta"]["dev.callgate/receipt"]["call"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        ids.lock().unwrap().push(id.to_owned());
    }
}

#[test]
fn a_trail_that_cannot_be_written_keeps_the_server_from_starting_unless_reads_may_go_on() {
    let directory = audited();
    let directory = directory.path();
    std::fs::create_dir(directory.join("audit.db")).unwrap();
    let output = run(directory, &["serve"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("audit"), "{}", stdout(&output));
    let path = directory.join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "on_failure = \"serve_reads\"\n").unwrap();
    let answers = answers(directory, &[call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00001"}"#)]);
    assert!(answers[0]["result"]["structuredContent"]["rows"][0].is_object(), "{answers:?}");
}

#[test]
fn a_configuration_without_a_trail_says_so() {
    let directory = project();
    let output = run(directory.path(), &["audit", "list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("[audit]"), "{}", stdout(&output));
    let audited = audited();
    assert_eq!(run(audited.path(), &["audit", "list"]).status.code(), Some(8), "there is no file yet");
    assert_eq!(run(audited.path(), &["audit", "init"]).status.code(), Some(0));
    assert_eq!(run(audited.path(), &["audit", "list"]).status.code(), Some(0));
}

/// The blocks of a language in the chapter about the trail.
fn blocks(language: &str) -> Vec<String> {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let text = std::fs::read_to_string(manual).unwrap();
    let opening = format!("```{language}\n");
    text.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_command_of_the_chapter_works_as_it_is_written() {
    let directory = audited();
    let directory = directory.path();
    let answers = answers(directory, &[call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00001"}"#)]);
    let id = answers[0]["result"]["_meta"]["dev.callgate/receipt"]["call"].as_str().unwrap();
    let mut count = 0;
    for line in blocks("sh").iter().flat_map(|block| block.lines()) {
        let line = line.replace("CALL_ID", id);
        let (command, file) =
            line.split_once(" > ").map_or((&*line, None), |(line, file)| (line, Some(file)));
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let output = run(directory, &words);
        assert_eq!(output.status.code(), Some(0), "{line}: {}{}", stdout(&output), stderr(&output));
        if let Some(file) = file {
            std::fs::write(directory.join(file), &output.stdout).unwrap();
        }
        count += 1;
    }
    assert_eq!(count, 11, "a command was added or lost; say so here");
    // Each table of the chapter is one that the file may have.
    let path = directory.join("callgate.toml");
    for block in blocks("toml").iter().filter(|block| block.contains("[audit]")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, _) = text.split_once("[audit]").unwrap();
        std::fs::write(&path, format!("{before}{block}")).unwrap();
        let output = run(directory, &["check"]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    }
}

#[test]
fn another_program_checks_an_export_with_what_the_chapter_says_of_the_format() {
    let directory = audited();
    let directory = directory.path();
    let requests: Vec<String> = ["A-2026-00001", "\\u00e9\\ud83d\\udd12", "A-2026-00002"]
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let arguments = format!(r#"{{"invoice_reference":"{text}"}}"#);
            call(u32::try_from(at).unwrap(), if at == 1 { "caf\\u00e9" } else { "invoice_get" }, &arguments)
        })
        .collect();
    assert_eq!(answers(directory, &requests).len(), 3);
    let export = stdout(&run(directory, &["audit", "export"]));
    let script = blocks("python").concat();
    let check = |text: &str| {
        let mut child = match std::process::Command::new("python3")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        {
            Ok(child) => child,
            Err(error) => panic!("this test needs python3, as the interoperability tests do: {error}"),
        };
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let whole = check(&export);
    assert!(whole.status.success(), "{}", stderr(&whole));
    let head: Value = serde_json::from_str(&stdout(&run(directory, &["audit", "heads"]))).unwrap();
    assert_eq!(stdout(&whole).trim(), format!("whole up to {}", head["hash"].as_str().unwrap()));
    let changed = check(&export.replace("caf\u{e9}", "cafe"));
    assert!(!changed.status.success() && stderr(&changed).contains("is not what was written"));
}

#[test]
fn what_was_hidden_absent_or_misspelled_looks_the_same_outside_and_differs_in_the_trail() {
    let directory = audited();
    let directory = directory.path();
    let path = directory.join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "\n[policy]\nfiles = [\"only.cedar\"]\n").unwrap();
    std::fs::write(
        directory.join("only.cedar"),
        "@id(\"only-get\")\npermit (principal, action, resource == Tool::\"invoice_get\");\n",
    )
    .unwrap();
    let names = ["invoice_list", "invoice_lisst", "something_else"];
    let requests: Vec<String> =
        names.iter().enumerate().map(|(at, name)| call(u32::try_from(at).unwrap(), name, "{}")).collect();
    let answers = answers(directory, &requests);
    for answer in &answers {
        assert_eq!(answer["error"], answers[0]["error"]);
    }
    let records = lines(directory, &["audit", "list", "--code", "unknown_tool", "--json"]);
    let told: Vec<String> = names
        .iter()
        .map(|name| {
            let record = records.iter().find(|record| record["tool"] == *name).unwrap();
            stdout(&run(directory, &["audit", "show", record["call"].as_str().unwrap()]))
        })
        .collect();
    assert!(told[0].contains("the policy hides it from this principal"), "{}", told[0]);
    assert!(told[1].contains("the nearest name is invoice_list"), "{}", told[1]);
    assert!(told[2].contains("no name is near to it"), "{}", told[2]);
}

#[test]
fn a_trail_in_postgresql_is_made_written_read_and_verified_by_the_commands() {
    let base = std::env::var("CALLGATE_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "this test needs a PostgreSQL server: run it with `cargo xtask test`, or set CALLGATE_TEST_POSTGRES to the \
             URL of a superuser of a server that may be filled with test data"
        )
    });
    let schema = format!("cli_audit_{}", std::process::id());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&base, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("create schema {schema}")).await.unwrap();
    });
    let mark = if base.contains('?') { '&' } else { '?' };
    let directory = project();
    let directory = directory.path();
    std::fs::write(directory.join("url"), format!("{base}{mark}options=-csearch_path%3D{schema}\n")).unwrap();
    let path = directory.join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "\n[audit]\nurl = \"file:url\"\n").unwrap();
    let refused = run(directory, &["serve"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stdout(&refused).contains("callgate audit init"), "{}", stdout(&refused));
    for _ in 0..2 {
        assert_eq!(run(directory, &["audit", "init"]).status.code(), Some(0));
    }
    let answers = answers(directory, &[call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00001"}"#)]);
    let id = answers[0]["result"]["_meta"]["dev.callgate/receipt"]["call"].as_str().unwrap();
    assert_eq!(lines(directory, &["audit", "show", id, "--json"])[0]["result"], "complete");
    assert_eq!(lines(directory, &["audit", "search", "INVOICE_G", "--json"]).len(), 1);
    let verified = run(directory, &["audit", "verify"]);
    assert_eq!(stdout(&verified).trim(), "1 record, 1 to 1; 0 heads compared; 0 breaks");
}
