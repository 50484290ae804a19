//! A server in a process of its own, and the client's side of the conversation with it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgate_protocol::json::{Document, Limits};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a modern request carries.
pub(crate) const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A running server.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    errors: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts the fixture.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts the fixture with arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let mut child = Command::new(fixture())
            .args(arguments)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut errors = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                if output.read_until(b'\n', &mut line).unwrap_or(0) == 0 || sender.send(line).is_err() {
                    return;
                }
            }
        });
        let errors = Some(thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        }));
        Self { child, input, lines, errors }
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: impl AsRef<[u8]>) {
        let mut bytes = line.as_ref().to_vec();
        bytes.push(b'\n');
        self.send_bytes(&bytes);
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// The next line: one message.
    pub(crate) fn receive(&mut self) -> String {
        let text = self.receive_line();
        assert!(parse(&text).root().get("jsonrpc").is_some(), "not a message: {text}");
        text
    }

    /// The next line, whatever it is.
    pub(crate) fn receive_line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server says nothing");
        let text = String::from_utf8(line).expect("a line is no UTF-8");
        text.strip_suffix('\n').expect("the last line has no newline").to_owned()
    }

    /// Sends a modern call and gives its answer.
    pub(crate) fn call(&mut self, id: u32, tool: &str, arguments: &str) -> String {
        self.send(modern(id, "tools/call", &format!(r#""name":"{tool}","arguments":{arguments}"#)));
        self.receive()
    }

    /// Sends a request and gives its answer.
    pub(crate) fn ask(&mut self, request: &str) -> String {
        self.send(request);
        self.receive()
    }

    /// Ends the input.
    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Sends the signal that asks the process to end.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end of the process: the lines that were left, what it wrote on standard error, and how it
    /// ended.
    pub(crate) fn finish(mut self) -> (Vec<String>, String, ExitStatus) {
        let since = Instant::now();
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => rest.push(String::from_utf8(line).unwrap().trim_end().to_owned()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the process does not end"),
            }
            assert!(since.elapsed() < PATIENCE, "the process does not end");
        }
        let status = self.child.wait().unwrap();
        (rest, self.errors.take().unwrap().join().unwrap(), status)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has ended cannot be killed, which is what is wanted.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// A modern request with more members of `params`.
pub(crate) fn modern(id: u32, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{META}}}}}"#)
}

/// A request as earlier revisions have it.
pub(crate) fn legacy(id: u32, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub(crate) fn parse(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).expect("a message is no JSON")
}

/// The id of a message as JSON text; empty when it has none.
pub(crate) fn id_of(text: &str) -> String {
    parse(text).root().get("id").map(|id| id.raw().to_owned()).unwrap_or_default()
}

/// The error code of a message.
pub(crate) fn code_of(text: &str) -> Option<i64> {
    parse(text).root().path(["error", "code"]).and_then(|code| code.as_i64())
}

/// Where cargo puts the example beside this test.
fn fixture() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join("fixture");
    let path = path.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "build it first: cargo build -p callgate-server --example fixture");
    path
}
