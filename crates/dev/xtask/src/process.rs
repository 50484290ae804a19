//! Runs other programs: bounded in time, each in a process group of its own, with their output seen and kept.
//!
//! A program never gets this program's standard input, never outlives it, and leaves no children behind: its whole
//! group is ended when it finishes, when its time is up, and when this program dies. Every subcommand calls it.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Place};
use crate::reaper;

/// Whether the lines of a program are shown while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Shown as they come.
    Shown,
    /// Kept, for the caller to show.
    Kept,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit status, or nothing when its time was up.
    pub(crate) status: Option<ExitStatus>,
    /// Everything it wrote on both streams, in the order it was read.
    pub(crate) lines: Vec<String>,
}

impl Finished {
    /// Whether it ended in time with exit code 0.
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The end in words.
    pub(crate) fn ending(&self) -> String {
        self.status.map_or_else(|| "its time was up".to_owned(), |status| status.to_string())
    }

    /// The text on both streams.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// A program that runs until this value is dropped.
#[derive(Debug)]
pub(crate) struct Service {
    child: Child,
    readers: Vec<JoinHandle<()>>,
    lines: Arc<Mutex<Vec<String>>>,
    ended: bool,
}

impl Service {
    /// Starts a program and keeps it.
    pub(crate) fn start(command: &mut Command, echo: Echo) -> Result<Self, Failure> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .at(&name)?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let mut readers = Vec::new();
        if let Some(stream) = child.stdout.take() {
            readers.push(read_lines(stream, Arc::clone(&lines), echo, false));
        }
        if let Some(stream) = child.stderr.take() {
            readers.push(read_lines(stream, Arc::clone(&lines), echo, true));
        }
        let service = Self { child, readers, lines, ended: false };
        reaper::guard_group(service.child.id())?;
        Ok(service)
    }

    /// Waits until it has written a line that `pick` takes something from.
    pub(crate) fn wait_for_line<T>(
        &mut self,
        limit: Duration,
        pick: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        let start = Instant::now();
        loop {
            if let Some(found) = self.lines().iter().find_map(|line| pick(line)) {
                return Ok(found);
            }
            let ended = self.child.try_wait().at("waiting for a program to be ready")?;
            if ended.is_some() || start.elapsed() > limit {
                let end =
                    ended.map_or_else(|| "was not ready in time".to_owned(), |status| status.to_string());
                return Err(Failure::new(format!("{end}; it wrote:\n{}", self.lines().join("\n"))));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it has written so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for its end, or ends it when its time is up.
    pub(crate) fn finish(mut self, limit: Duration) -> Result<Finished, Failure> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().at("waiting for a program")? {
                break Some(status);
            }
            if start.elapsed() > limit {
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.end();
        Ok(Finished { status, lines: self.lines() })
    }

    /// Asks it to end with an interrupt, and ends it the hard way after `grace`.
    pub(crate) fn stop(self, grace: Duration) -> Result<Finished, Failure> {
        signal_group(self.child.id(), "INT");
        self.finish(grace)
    }

    /// Ends the whole group and takes in the rest of its output.
    fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        signal_group(self.child.id(), "KILL");
        let _ended = self.child.wait();
        reaper::release_group(self.child.id());
        for reader in self.readers.drain(..) {
            let _ended = reader.join();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a program to its end or for `limit`, whichever comes first.
pub(crate) fn run(command: &mut Command, limit: Duration, echo: Echo) -> Result<Finished, Failure> {
    Service::start(command, echo)?.finish(limit)
}

/// Runs a program that has to succeed; what it wrote is part of the failure if it does not.
pub(crate) fn must(command: &mut Command, limit: Duration) -> Result<Finished, Failure> {
    let shown = format!("{command:?}");
    let finished = run(command, limit, Echo::Kept)?;
    if finished.succeeded() {
        return Ok(finished);
    }
    Err(Failure::new(format!("{shown}\n{}\n{}", finished.text(), finished.ending())))
}

/// Where a program is in `PATH`.
pub(crate) fn find(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}

/// Sends a signal to every process of a group; a group that is gone is no failure.
pub(crate) fn signal_group(leader: u32, signal: &str) {
    let _sent = Command::new("sh")
        .args(["-c", "kill -\"$1\" \"-$2\"", "kill", signal, &leader.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

fn read_lines(
    stream: impl Read + Send + 'static,
    lines: Arc<Mutex<Vec<String>>>,
    echo: Echo,
    error_stream: bool,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            match reader.read_until(b'\n', &mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&buffer).trim_end().to_owned();
            match (echo, error_stream) {
                (Echo::Shown, true) => eprintln!("{line}"),
                (Echo::Shown, false) => println!("{line}"),
                (Echo::Kept, _) => {}
            }
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    })
}
