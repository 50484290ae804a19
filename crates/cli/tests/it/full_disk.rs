//! A disk that is really full under the audit trail of a real server: calls are refused, none that was answered is
//! missing, and the service goes on when there is room again.
//!
//! Two real bounds: a file system of a few megabytes, in a mount namespace of its own that ends with the test, and the
//! size that the process may give a file.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::serve::{Served, call, listening, post, project};
use super::support::{callgate, run, stderr, stdout};

/// The example project with a trail at a place.
fn audited(trail: &Path) -> tempfile::TempDir {
    let directory = project();
    let path = directory.path().join("callgate.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[audit]\npath = {:?}\n", trail.display().to_string())).unwrap();
    directory
}

/// The id of the receipt of a call that was answered with rows, or the text of its refusal.
fn ask(address: &str) -> Result<String, String> {
    let answer =
        post(address, "invoice_get", &call(1, "invoice_get", r#"{"invoice_reference":"A-2026-00001"}"#));
    let body = answer.split("\r\n\r\n").last().unwrap_or_default();
    let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
    let result = &body["result"];
    if result["structuredContent"]["rows"][0].is_object() {
        let id = result["_meta"]["dev.callgate/receipt"]["call"].as_str();
        return Ok(id.unwrap_or_else(|| panic!("{answer}")).to_owned());
    }
    assert_eq!(result["isError"], true, "{answer}");
    Err(result["content"][0]["text"].as_str().unwrap().to_owned())
}

/// Fills the disk under a trail, and makes room again.
fn refuses_and_resumes(
    directory: &Path,
    served: (Served, String),
    fill: impl Fn(&Served),
    free: impl Fn(&Served),
) {
    let (served, address) = served;
    let mut answered = vec![ask(&address).unwrap()];
    fill(&served);
    let refusal = loop {
        match ask(&address) {
            Ok(id) => answered.push(id),
            Err(refusal) => break refusal,
        }
        assert!(answered.len() < 20_000, "the disk is not full");
    };
    assert!(refusal.contains("gate_unavailable"), "{refusal}");
    assert!(!refusal.contains("audit.db") && !refusal.contains("disk"), "nothing of the place: {refusal}");
    for _ in 0..20 {
        assert!(ask(&address).unwrap_err().contains("gate_unavailable"), "as long as there is no room");
    }
    free(&served);
    let freed = Instant::now();
    while ask(&address).map(|id| answered.push(id)).is_err() {
        assert!(freed.elapsed() < Duration::from_secs(20), "it does not go on");
        std::thread::sleep(Duration::from_millis(20));
    }
    for _ in 0..50 {
        answered.push(ask(&address).unwrap());
    }
    drop(served);

    let exported = run(directory, &["audit", "export"]);
    assert_eq!(exported.status.code(), Some(0), "{}", stderr(&exported));
    let recorded: BTreeSet<String> = stdout(&exported)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter_map(|record| record["call"].as_str().map(str::to_owned))
        .collect();
    let missing: Vec<_> = answered.iter().filter(|id| !recorded.contains(*id)).collect();
    assert!(missing.is_empty(), "answered and not in the trail: {missing:?}");
    let verified = run(directory, &["audit", "verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", stdout(&verified));
    assert!(stdout(&verified).contains("0 breaks"), "{}", stdout(&verified));
}

/// Says in a child where its small file system is.
const SMALL: &str = "CALLGATE_TEST_SMALL_DISK";

#[test]
fn a_full_file_system_refuses_calls_loses_none_and_is_used_again() {
    if let Some(disk) = std::env::var_os(SMALL) {
        return on_a_small_disk(Path::new(&disk));
    }
    let place = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=2m none "$1" && exec "$2" --exact "$3" --nocapture"#;
    let name = "full_disk::a_full_file_system_refuses_calls_loses_none_and_is_used_again";
    let mut command = Command::new("unshare");
    // Who is nobody special may mount in a namespace of users.
    command.args(["--mount", "--user", "--map-root-user", "sh", "-c", script, "sh"]);
    command.arg(place.path()).arg(std::env::current_exe().unwrap()).arg(name).env(SMALL, place.path());
    let output = command.output().unwrap();
    let (out, errors) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "a mount namespace with a small tmpfs is needed\n{out}\n{errors}");
    assert!(out.contains("1 passed"), "{out}");
}

fn on_a_small_disk(disk: &Path) {
    let directory = audited(&disk.join("audit.db"));
    let mut command = callgate(directory.path());
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let ballast = disk.join("ballast");
    let fill = |_: &Served| {
        let error = std::io::copy(
            &mut std::io::repeat(1).take(64 << 20),
            &mut std::fs::File::create(&ballast).unwrap(),
        );
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    };
    let free = |_: &Served| std::fs::remove_file(&ballast).unwrap();
    refuses_and_resumes(directory.path(), listening(command), fill, free);
}

#[test]
fn a_file_that_may_not_grow_refuses_calls_loses_none_and_is_used_again() {
    let place = tempfile::tempdir().unwrap();
    let directory = audited(&place.path().join("audit.db"));
    let plain = callgate(directory.path());
    let mut command = Command::new("sh");
    // Without the signal a write beyond the bound is an error.
    command.args(["-c", r#"trap '' XFSZ; exec "$0" serve --listen 127.0.0.1:0"#]).arg(plain.get_program());
    command.current_dir(directory.path()).env_remove("CALLGATE_LOG").stdin(Stdio::null());
    let bound = |served: &Served, bytes: &str| {
        let pid = served.id().to_string();
        let set =
            Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:")]).output().unwrap();
        assert!(set.status.success(), "{}", stderr(&set));
    };
    refuses_and_resumes(
        directory.path(),
        listening(command),
        |served| bound(served, "300000"),
        |served| bound(served, "unlimited"),
    );
}
