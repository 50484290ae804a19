//! Server processes: started on their own core, read through /proc, always ended.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::stdio::Pipes;

/// What to run.
#[derive(Clone)]
pub struct Program {
    pub program: String,
    pub args: Vec<String>,
}

impl Program {
    /// A program with its arguments.
    pub fn new(program: impl AsRef<Path>, args: &[&str]) -> Self {
        Self {
            program: program.as_ref().display().to_string(),
            args: args.iter().map(|&a| a.to_owned()).collect(),
        }
    }

    /// The same program behind another one that takes a command line, such as `taskset`.
    pub fn behind(&self, wrapper: &str, args: &[String]) -> Self {
        let mut all = args.to_vec();
        all.push(self.program.clone());
        all.extend_from_slice(&self.args);
        Self { program: wrapper.to_owned(), args: all }
    }

    /// The same program on the first core. Without `taskset`, or with one core, it runs anywhere.
    pub fn pinned(&self) -> Self {
        if can_pin() { self.behind("taskset", &["-c".to_owned(), "0".to_owned()]) } else { self.clone() }
    }
}

/// Moves this process to the second core, away from the servers.
pub fn pin_self() {
    if can_pin() {
        let id = std::process::id().to_string();
        let _moved =
            Command::new("taskset").args(["-a", "-p", "-c", "1", &id]).stdout(Stdio::null()).status();
    }
}

/// Whether `taskset` is there and there are two cores to keep apart.
pub fn can_pin() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        // Not `available_parallelism`, which would count the one core this process was moved to.
        let cores = fs::read_to_string("/proc/cpuinfo").map_or(1, |text| text.matches("processor\t").count());
        cores > 1
            && Command::new("taskset").arg("-V").stdout(Stdio::null()).status().is_ok_and(|s| s.success())
    })
}

/// A running server; ended when dropped.
pub struct Server {
    child: Child,
    /// Host and port, for a server on HTTP.
    pub authority: String,
}

impl Server {
    /// Starts an HTTP server and waits for the line that tells its address, on either stream.
    pub fn http(program: &Program, log: &Path, patience: Duration) -> Result<Self, Failure> {
        let mut child = command(program, log)?.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no stdout")?;
        let (told, address) = mpsc::channel();
        // The thread also drains whatever the server prints later, so that it never blocks on its pipe.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(authority) = authority(&line) {
                    let _unheard = told.send(authority);
                }
            }
        });
        let mut server = Self { child, authority: String::new() };
        let started = Instant::now();
        loop {
            let on_stderr = || fs::read_to_string(log).ok()?.lines().find_map(authority);
            match address.recv_timeout(Duration::from_millis(50)).ok().or_else(on_stderr) {
                Some(authority) => {
                    server.authority = authority;
                    break;
                }
                None if started.elapsed() > patience || server.child.try_wait()?.is_some() => {
                    return Err(format!("{} told no address; see {}", program.program, log.display()).into());
                }
                None => {}
            }
        }
        while std::net::TcpStream::connect(&server.authority).is_err() {
            if started.elapsed() > patience {
                return Err(format!("{} does not accept connections", server.authority).into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Starts a stdio server.
    pub fn stdio(program: &Program, log: &Path) -> Result<(Self, Pipes), Failure> {
        let mut child = command(program, log)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = child.stdout.take().ok_or("no stdout")?;
        Ok((Self { child, authority: String::new() }, Pipes::new(input, output)))
    }

    /// CPU time of all threads so far, user and system, in microseconds.
    pub fn cpu_us(&self) -> Result<f64, Failure> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let mut nanoseconds = 0.0;
        for task in fs::read_dir(tasks)? {
            // The first number is time on a core in nanoseconds: finer than the clock ticks of `stat`.
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let first = text.split_whitespace().next().ok_or("an empty schedstat")?;
            nanoseconds += first.parse::<f64>()?;
        }
        Ok(nanoseconds / 1000.0)
    }

    /// The highest resident memory so far, in KiB.
    pub fn peak_rss_kb(&self) -> Result<u64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// Asks the server to end as an operator would, and waits.
    pub fn end(mut self) -> Result<(), Failure> {
        let _sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        self.wait(Duration::from_secs(60))
    }

    /// Waits for an end that has been asked for.
    pub fn wait(&mut self, patience: Duration) -> Result<(), Failure> {
        let started = Instant::now();
        while self.child.try_wait()?.is_none() {
            if started.elapsed() > patience {
                return Err("the server does not end".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

fn command(program: &Program, log: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(&program.program);
    command.args(&program.args).stderr(fs::File::create(log)?);
    Ok(command)
}

/// Host and port in a line that tells where a server listens.
fn authority(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("listening on http://")?;
    let end = rest.find(|c: char| c != '.' && c != ':' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}
