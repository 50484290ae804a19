//! A stdio client that writes all its requests without waiting and reads answers in any order.

use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::case::Workload;
use crate::message::{Expected, Template};

/// Both pipes of a server under test.
pub struct Pipes {
    input: ChildStdin,
    output: ChildStdout,
}

impl Pipes {
    /// Takes the pipes of a started server.
    pub fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self { input, output }
    }

    /// Makes one call and returns the answer line.
    pub fn once(&mut self, index: usize) -> Result<Vec<u8>, Failure> {
        self.input.write_all(Template::line(Workload::EchoStdio).fill(index))?;
        self.input.flush()?;
        let mut answer = read_lines(&mut self.output, 1)?;
        answer.pop();
        Ok(answer)
    }

    /// Makes `calls` calls at once; the time runs from the first byte written to the last line read.
    pub fn drive(&mut self, expected: Expected, fixed: bool, calls: usize) -> Result<Duration, Failure> {
        let mut template = Template::line(Workload::EchoStdio);
        let mut requests = Vec::with_capacity(calls * template.fill(0).len());
        for index in 0..calls {
            requests.extend_from_slice(template.fill(index));
        }
        let (input, output) = (&mut self.input, &mut self.output);
        let (elapsed, answers) = thread::scope(|scope| {
            let started = Instant::now();
            let writer = scope.spawn(move || input.write_all(&requests).and_then(|()| input.flush()));
            let answers = read_lines(output, calls)?;
            let elapsed = started.elapsed();
            writer.join().map_err(|_| "the writer panicked")??;
            Ok::<_, Failure>((elapsed, answers))
        })?;
        check(&answers, expected, fixed, calls)?;
        Ok(elapsed)
    }
}

/// Reads until `count` newlines have come.
fn read_lines(output: &mut ChildStdout, count: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 256 * 1024];
    let mut lines = 0;
    while lines < count {
        let read = output.read(&mut chunk)?;
        if read == 0 {
            return Err(format!("the server ended after {lines} of {count} answers").into());
        }
        lines += chunk[..read].iter().filter(|&&b| b == b'\n').count();
        bytes.extend_from_slice(&chunk[..read]);
    }
    Ok(bytes)
}

fn check(answers: &[u8], expected: Expected, fixed: bool, calls: usize) -> Result<(), Failure> {
    let mut seen = vec![false; calls];
    for (line, json) in answers.split(|&b| b == b'\n').filter(|l| !l.is_empty()).enumerate() {
        let index =
            if fixed { line } else { Expected::index_of(json).ok_or("an answer without its text")? };
        expected.check(index, json)?;
        let place = seen.get_mut(index).ok_or("an answer to a call that was not made")?;
        if std::mem::replace(place, true) {
            return Err(format!("two answers to call {index}").into());
        }
    }
    match seen.iter().position(|&s| !s) {
        None => Ok(()),
        Some(index) => Err(format!("no answer to call {index}").into()),
    }
}
