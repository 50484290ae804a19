//! Ends what this program started, however this program itself ends.
//!
//! A small shell in a process group of its own reads from a pipe which process groups run and which directories
//! are temporary. When the pipe closes (a normal end, Ctrl-C, or even SIGKILL of this program) it ends the groups
//! and removes the directories. Signal handlers could not promise that and would need unsafe code or a library.
//! `process` and the PostgreSQL environment call it.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::failure::{Failure, Place};

/// Lines are `+group N`, `-group N`, `+dir PATH` and `-dir PATH`. Paths come from `tempfile` and hold no newline.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups= ; dirs=
while IFS=' ' read -r verb what; do
  case $verb in
    +group) groups="$groups $what" ;;
    -group) kept= ; for g in $groups; do [ "$g" = "$what" ] || kept="$kept $g"; done; groups=$kept ;;
    +dir) dirs="$dirs
$what" ;;
    -dir) dirs=$(printf '%s\n' "$dirs" | grep -Fxv -- "$what") ;;
  esac
done
for g in $groups; do kill -INT "-$g" 2>/dev/null; done
[ -n "$groups" ] && sleep 0.3
for g in $groups; do kill -KILL "-$g" 2>/dev/null; done
printf '%s\n' "$dirs" | while IFS= read -r d; do [ -n "$d" ] && rm -rf -- "$d"; done
exit 0
"#;

static REAPER: Mutex<Option<Child>> = Mutex::new(None);

/// Puts a process group under guard.
pub(crate) fn guard_group(leader: u32) -> Result<(), Failure> {
    tell(&format!("+group {leader}"))
}

/// The group has ended and its number may be given to others.
pub(crate) fn release_group(leader: u32) {
    // A reaper that is gone has nothing left to guard, so there is nobody to tell.
    let _gone = tell(&format!("-group {leader}"));
}

/// Puts a temporary directory under guard.
pub(crate) fn guard_directory(path: &Path) -> Result<(), Failure> {
    tell(&format!("+dir {}", path.display()))
}

/// The directory was removed already.
pub(crate) fn release_directory(path: &Path) {
    let _gone = tell(&format!("-dir {}", path.display()));
}

/// Closes the pipe and waits until everything still guarded is gone.
pub(crate) fn finish() {
    let taken = REAPER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut child) = taken {
        drop(child.stdin.take());
        let _ended = child.wait();
    }
}

fn tell(line: &str) -> Result<(), Failure> {
    let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
    let child = match reaper.take() {
        Some(child) => reaper.insert(child),
        None => reaper.insert(start()?),
    };
    let pipe = child.stdin.as_mut().ok_or_else(|| Failure::new("the reaper has no pipe"))?;
    pipe.write_all(format!("{line}\n").as_bytes()).at("the reaper")
}

fn start() -> Result<Child, Failure> {
    Command::new("sh")
        .args(["-c", SCRIPT])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .at("sh")
}
