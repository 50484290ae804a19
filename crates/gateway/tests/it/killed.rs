//! Processes that are killed at any moment while they carry out an effect, and instances that share a store.
//!
//! The process is this test program itself, which serves a gate when a variable says so.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use callgate_adapters::store::ledger::{Outcome, Resolved, resolve, unsettled};
use callgate_gateway::Gate;
use callgate_gateway::store::Place;
use callgate_server::{Context, Effect, Idempotency, KeySource, Resolution, Tool, ToolError};
use serde_json::Value;

mod statements;

/// Names the directory that the process serves.
const VARIABLE: &str = "CALLGATE_TEST_SERVE";
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Note {
    /// What is the same in each try of one note
    key: String,
    /// How long the tool waits before and after its effect, in milliseconds
    wait_ms: u64,
}

/// The effect: one line in a file, on the disk.
async fn add(directory: PathBuf, Note { key, wait_ms }: Note) -> Result<String, ToolError> {
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(directory.join("effects"))?;
    file.write_all(format!("{key}\n").as_bytes())?;
    file.sync_all()?;
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    Ok(key)
}

/// Does nothing in a run of the tests; in the process that they start it serves until it is killed.
#[test]
fn this_program_serves_when_it_is_told_to() {
    let Ok(directory) = std::env::var(VARIABLE) else { return };
    let directory = PathBuf::from(directory);
    let gate = Gate::from_file(directory.join("callgate.toml")).unwrap_or_else(|report| panic!("{report}"));
    let tool =
        Tool::new("note_add", Effect::Append, move |_: Context<'_>, note: Note| add(directory.clone(), note))
            .description("Adds a note.")
            .idempotency(Idempotency::new(KeySource::Argument("key".to_owned())))
            .resolution(Resolution::Person)
            .timeout(Duration::from_secs(10));
    tokio::runtime::Runtime::new().unwrap().block_on(gate.tool(tool).serve()).unwrap();
    std::process::exit(0);
}

/// A served gate in a process of its own.
struct Server {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "killed::this_program_serves_when_it_is_told_to",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(VARIABLE, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test runner says things of its own, also at the beginning of a line.
                let Some(at) = line.find("{\"jsonrpc\"") else { continue };
                if sender.send(line[at..].to_owned()).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn send(&mut self, id: u64, key: &str, wait_ms: u64) {
        self.send_to("note_add", id, &format!(r#"{{"key":"{key}","wait_ms":{wait_ms}}}"#));
    }

    fn send_to(&mut self, tool: &str, id: u64, arguments: &str) {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{meta}}}}}"#
        );
        // It may have been killed.
        let _ = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
    }

    fn answer(&self, patience: Duration) -> Option<Value> {
        self.lines.recv_timeout(patience).ok().map(|line| serde_json::from_str(&line).unwrap())
    }

    fn call(&mut self, key: &str, wait_ms: u64) -> Told {
        self.send(1, key, wait_ms);
        told(&self.answer(PATIENCE).unwrap_or_else(|| panic!("{key}: no answer")))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Told {
    Committed { replayed: bool },
    Unknown,
}

fn told(answer: &Value) -> Told {
    let result = &answer["result"];
    let receipt = &result["_meta"]["dev.callgate/receipt"];
    if result["isError"] != true {
        assert_eq!(receipt["effect"], "committed", "{answer}");
        return Told::Committed { replayed: receipt["replayed"] == true };
    }
    let text = answer.to_string();
    assert!(text.contains("outcome_unknown") || text.contains("not kept"), "{answer}");
    if text.contains("outcome_unknown") { Told::Unknown } else { Told::Committed { replayed: true } }
}

/// How often each key stands in the file of effects.
fn effects(directory: &Path) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let text = std::fs::read_to_string(directory.join("effects")).unwrap_or_default();
    text.lines().for_each(|key| *counts.entry(key.to_owned()).or_default() += 1);
    counts
}

fn project(store: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let text = format!(
        "[server]\nname = \"notes\"\n\n[auth.local]\nprincipal = \"dana\"\ntenant = \"tenant-a\"\n\n[policy]\nfiles = [\"policy/*.cedar\"]\n\n\
         [store]\nlost_after_ms = 1000\n{store}\n"
    );
    std::fs::write(directory.path().join("callgate.toml"), text).unwrap();
    std::fs::create_dir(directory.path().join("policy")).unwrap();
    std::fs::write(directory.path().join("policy/all.cedar"), "permit (principal, action, resource);\n")
        .unwrap();
    Place::of(&directory.path().join("callgate.toml")).unwrap().migrate().unwrap();
    directory
}

fn postgres() -> String {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let url = std::env::var("CALLGATE_TEST_POSTGRES").expect("this test needs CALLGATE_TEST_POSTGRES");
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let schema = format!("killed_{}_{number}", std::process::id());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("create schema {schema}")).await.unwrap();
    });
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}options=-csearch_path%3D{schema}")
}

/// A project on a database of its own. The URL stands in a file, as a password may be in it.
fn postgres_project() -> tempfile::TempDir {
    let url = postgres();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("url");
    std::fs::write(&path, url).unwrap();
    let project = project(&format!("kind = \"postgres\"\nurl = \"file:{}\"", path.display()));
    std::fs::copy(&path, project.path().join("url")).unwrap();
    let file = project.path().join("callgate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(&path.display().to_string(), "url")).unwrap();
    project
}

fn runs(usual: u64) -> u64 {
    let runs = std::env::var("CALLGATE_CRASH_RUNS").ok().and_then(|runs| runs.parse().ok());
    // A process takes a thousand times as long as a store in memory.
    runs.map_or(usual, |runs: u64| (runs / 20).max(usual))
}

#[expect(clippy::print_stdout, reason = "`cargo xtask crash` shows the counts")]
fn kill_at_any_moment(name: &str, directory: &Path, runs: u64) {
    let (mut acknowledged, mut unknown, mut happened) = (0, 0, 0);
    let config = directory.join("callgate.toml");
    let mut server = Server::start(directory);
    // The first answer shows that it serves; from then on it is killed within the time of one call.
    server.call("warm", 0);
    for run in 0..runs {
        let key = format!("key-{run}");
        server.send(1, &key, 20);
        let first = server.answer(Duration::from_millis((run * 37) % 110)).map(|answer| told(&answer));
        server.kill();
        server = Server::start(directory);
        let again = server.call(&key, 20);
        let count = effects(directory).get(&key).copied().unwrap_or(0);
        assert!(count <= 1, "{key}: {count} effects");
        match (&first, &again) {
            (Some(Told::Committed { .. }), again) => {
                acknowledged += 1;
                assert_eq!(
                    *again,
                    Told::Committed { replayed: true },
                    "{key}: an acknowledged effect was lost"
                );
            }
            (_, Told::Unknown) => unknown += 1,
            (_, Told::Committed { .. }) => {}
        }
        if again == Told::Unknown {
            let store = Place::of(&config).unwrap().open().unwrap();
            let found = unsettled(&store, 10).unwrap();
            let [effect] = &found[..] else { panic!("{found:?}") };
            let outcome = if count == 1 { Outcome::Committed(None) } else { Outcome::Failed };
            assert_eq!(resolve(&store, effect, &outcome, "test", "the file").unwrap(), Resolved::Done);
            let last = server.call(&key, 20);
            assert_eq!(last, Told::Committed { replayed: count == 1 });
        }
        assert_eq!(effects(directory).get(&key), Some(&1), "{key}");
        happened += 1;
    }
    println!(
        "crash process {name}: {runs} kills, {happened} effects, {acknowledged} acknowledged before, {unknown} unknown \
         and reconciled, 0 doubled, 0 lost"
    );
}

#[test]
fn a_process_that_is_killed_at_any_moment_does_no_effect_twice_on_sqlite() {
    let project = project("kind = \"sqlite\"\npath = \"store.db\"");
    kill_at_any_moment("sqlite", project.path(), runs(12));
}

#[test]
fn a_process_that_is_killed_at_any_moment_does_no_effect_twice_on_postgres() {
    let project = postgres_project();
    kill_at_any_moment("postgres", project.path(), runs(8));
}

#[test]
fn two_instances_that_get_one_key_from_many_clients_do_one_effect() {
    let project = postgres_project();
    let mut servers: Vec<Server> = (0..2).map(|_| Server::start(project.path())).collect();
    for server in &mut servers {
        server.call("warm", 0);
    }
    for round in 0..3 {
        let key = format!("shared-{round}");
        for id in 0..20 {
            for server in &mut servers {
                server.send(id, &key, 15);
            }
        }
        let mut first_hand = 0;
        for server in &servers {
            for _ in 0..20 {
                let answer = server.answer(PATIENCE).unwrap();
                assert_eq!(answer["result"]["structuredContent"], key.as_str(), "{answer}");
                if told(&answer) == (Told::Committed { replayed: false }) {
                    first_hand += 1;
                }
            }
        }
        assert_eq!((first_hand, effects(project.path()).get(&key)), (1, Some(&1)));
    }
}

#[test]
fn clients_of_an_instance_that_is_left_learn_that_the_outcome_is_unknown_or_get_the_one_result() {
    let project = postgres_project();
    for round in 0..3_u64 {
        let mut owner = Server::start(project.path());
        let mut other = Server::start(project.path());
        owner.call("warm", 0);
        other.call("warm", 0);
        let key = format!("left-{round}");
        owner.send(1, &key, 150);
        std::thread::sleep(Duration::from_millis(40 + round * 120));
        for id in 0..10 {
            other.send(id, &key, 150);
        }
        owner.kill();
        let begun = Instant::now();
        let answers: Vec<Told> = (0..10).map(|_| told(&other.answer(PATIENCE).unwrap())).collect();
        assert!(begun.elapsed() < Duration::from_secs(15), "the row was not given up in time");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        let count = effects(project.path()).get(&key).copied().unwrap_or(0);
        assert!(count <= 1, "{count} effects");
        if matches!(answers[0], Told::Committed { .. }) {
            assert_eq!(count, 1);
        }
    }
}
