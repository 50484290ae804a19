//! A server as a child process: this test binary once more, serving over its real stdin and stdout.
//!
//! The test runner of the child prints two lines before the server starts; they are taken off here,
//! and everything after them must be a message.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use callgate_protocol::Revision;
use callgate_testkit::traffic::Traffic;

/// Tells the child what it is.
const MARK: &str = "CALLGATE_TEST_SERVES";
/// Tells it to be the server of case 13.
const HIDING: &str = "hiding";
/// The test that serves in the child.
const SERVING_TEST: &str = "cases::harness::child::serves_when_it_is_a_child";
const PATIENCE: Duration = Duration::from_secs(20);

/// A child that serves.
pub(crate) struct Child {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    errors: Option<thread::JoinHandle<String>>,
    traffic: Traffic,
}

impl Child {
    pub(crate) fn start(revision: Revision) -> Self {
        Self::serving(revision, "1")
    }

    /// With the server of case 13.
    pub(crate) fn hiding(revision: Revision) -> Self {
        Self::serving(revision, HIDING)
    }

    fn serving(revision: Revision, server: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", SERVING_TEST, "--nocapture", "--test-threads=2"])
            .env(MARK, server)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut stderr = process.stderr.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for preamble in ["\n", "running 1 test\n"] {
                let mut line = String::new();
                stdout.read_line(&mut line).unwrap();
                assert_eq!(line, preamble, "what the test runner prints");
            }
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let stdin = process.stdin.take();
        Self { process, stdin, lines, errors: Some(errors), traffic: Traffic::new(revision) }
    }

    /// Sends a message and its newline.
    pub(crate) fn send(&mut self, message: &str) {
        self.traffic.sent(message);
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// Tells the judge about a message that was written in pieces.
    pub(crate) fn wrote(&mut self, message: &str) {
        self.traffic.sent(message);
    }

    /// The next message, judged.
    pub(crate) fn receive(&mut self) -> String {
        self.receive_within(PATIENCE).unwrap_or_else(|| panic!("the server stays silent"))
    }

    /// The next message, if one comes in time.
    pub(crate) fn receive_within(&mut self, patience: Duration) -> Option<String> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                let text = String::from_utf8(line).unwrap();
                let message =
                    text.strip_suffix('\n').unwrap_or_else(|| panic!("no newline: {text:?}")).to_owned();
                self.traffic.received(&message);
                Some(message)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Sends a request and gives its response, leaving notifications aside.
    pub(crate) fn ask(&mut self, message: &str) -> String {
        self.send(message);
        loop {
            let answer = self.receive();
            if super::at(&answer, &["method"]).is_none() {
                return answer;
            }
        }
    }

    /// How many requests are not answered yet.
    pub(crate) fn waiting(&self) -> usize {
        self.traffic.waiting()
    }

    /// Closes stdin and waits for the end. What still comes is judged and given.
    pub(crate) fn end(mut self) -> End {
        drop(self.stdin.take());
        let mut rest = Vec::new();
        while let Some(message) = self.receive_within(PATIENCE) {
            rest.push(message);
        }
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not end at the end of its input");
            thread::yield_now();
        };
        let errors = self.errors.take().map(|errors| errors.join().unwrap()).unwrap_or_default();
        End { status, rest, errors }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    /// Messages that came after the end of input.
    pub(crate) rest: Vec<String>,
    /// What the child wrote to stderr.
    pub(crate) errors: String,
}

/// Does nothing in an ordinary run; in a child it serves until its input ends.
#[test]
fn serves_when_it_is_a_child() {
    if let Some(server) = std::env::var_os(MARK) {
        std::process::exit(crate::cases::fixture::serve_stdio(server == HIDING));
    }
}
