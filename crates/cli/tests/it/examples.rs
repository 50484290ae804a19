//! Every example in `examples/` is judged without a finding, and its calls are answered.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::support::{callgate, run, stdout};

#[test]
fn every_example_has_no_finding_and_answers_its_calls() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let example = entry.unwrap().path();
        if example.is_dir() {
            seen += 1;
            try_example(&example);
        }
    }
    assert_eq!(seen, 8, "an example was added or lost; say so here");
}

fn try_example(example: &Path) {
    let directory = tempfile::tempdir().unwrap();
    copy(example, directory.path());
    for entry in std::fs::read_dir(example).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.extension().is_some_and(|extension| extension == "sql") {
            let database = directory.path().join(name).with_extension("db");
            callgate_adapters::sqlite::create(&database, &std::fs::read_to_string(&path).unwrap()).unwrap();
        }
    }
    let _service = Service::of(directory.path());
    migrate(directory.path());
    let checked = run(directory.path(), &["check", "--strict"]);
    assert_eq!(checked.status.code(), Some(0), "{}: {}", example.display(), stdout(&checked));

    let calls = std::fs::read_to_string(directory.path().join("calls.jsonl")).unwrap();
    let mut child = callgate(directory.path())
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for (id, call) in calls.lines().enumerate() {
        let mut params: serde_json::Value = serde_json::from_str(call).unwrap();
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = serde_json::json!({});
        let request =
            serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(input, "{request}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let answers: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), calls.lines().count());
    for answer in answers {
        let result = &answer["result"]["structuredContent"];
        let rows = ["rows", "matches", "tickets"].iter().find_map(|items| result[*items].as_array());
        let filled = rows.is_some_and(|rows| !rows.is_empty())
            || result["text"].is_string()
            || result["reference"].is_string()
            || result["artifact"]["uri"].is_string();
        assert!(filled, "{}: {answer}", example.display());
    }
}

/// Makes the tables of an example's store, where it has one.
pub(crate) fn migrate(directory: &Path) {
    if std::fs::read_to_string(directory.join("callgate.toml")).unwrap().contains("[store]") {
        let migrated = run(directory, &["migrate"]);
        assert_eq!(migrated.status.code(), Some(0), "{}", stdout(&migrated));
    }
}

/// The service of an example, where it has one, on a free port that its configuration is told.
pub(crate) struct Service(Option<Child>);

impl Service {
    pub(crate) fn of(directory: &Path) -> Self {
        if !directory.join("service.py").exists() {
            return Self(None);
        }
        let mut child = Command::new("python3")
            .args(["service.py", "0"])
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("this test needs python3, as the interoperability tests do: {error}")
            });
        let mut port = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
        let file = directory.join("callgate.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("127.0.0.1:8301"), "the service of an example is at 127.0.0.1:8301");
        std::fs::write(file, text.replace("127.0.0.1:8301", &format!("127.0.0.1:{}", port.trim()))).unwrap();
        Self(Some(child))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // One that has ended already is as good.
            let _ended = child.kill();
            let _waited = child.wait();
        }
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
