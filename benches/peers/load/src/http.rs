//! A closed-loop HTTP/1.1 client: each connection sends its next request when the last answer is complete.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::Failure;
use crate::case::Workload;
use crate::message::{Expected, Template, find};

/// How long one answer may take; a server that hangs fails the run instead of stopping it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a client saw in one round.
pub struct Seen {
    pub elapsed: Duration,
    /// One per call, in nanoseconds, unordered.
    pub latencies: Vec<u64>,
}

/// Sends one request and returns the body of its answer.
pub fn once(
    authority: &str,
    token: Option<&str>,
    workload: Workload,
    index: usize,
) -> Result<Vec<u8>, Failure> {
    runtime()?.block_on(async {
        let mut connection = Connection::open(authority).await?;
        let mut template = Template::http(workload, authority, token);
        connection.call(template.fill(index)).await?;
        Ok(connection.body)
    })
}

/// Makes `calls` calls over `connections` connections and checks every answer.
pub fn drive(
    authority: &str,
    token: Option<&str>,
    workload: Workload,
    expected: Expected,
    connections: usize,
    calls: usize,
) -> Result<Seen, Failure> {
    let next = Rc::new(Cell::new(0));
    let latencies = Rc::new(RefCell::new(Vec::with_capacity(calls)));
    let local = LocalSet::new();
    let runtime = runtime()?;
    let elapsed = local.block_on(&runtime, async {
        let mut open = Vec::with_capacity(connections);
        for _ in 0..connections {
            open.push(Connection::open(authority).await?);
        }
        let started = Instant::now();
        let mut tasks = Vec::with_capacity(connections);
        for mut connection in open {
            let (next, latencies) = (Rc::clone(&next), Rc::clone(&latencies));
            let mut template = Template::http(workload, authority, token);
            tasks.push(tokio::task::spawn_local(async move {
                loop {
                    let index = next.get();
                    if index >= calls {
                        return Ok::<(), Failure>(());
                    }
                    next.set(index + 1);
                    let sent = Instant::now();
                    tokio::time::timeout(PATIENCE, connection.call(template.fill(index))).await??;
                    let took = sent.elapsed().as_nanos();
                    latencies.borrow_mut().push(u64::try_from(took)?);
                    expected.check(index, &connection.body)?;
                }
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok::<Duration, Failure>(started.elapsed())
    })?;
    let latencies = latencies.take();
    if latencies.len() != calls {
        return Err(format!("{} answers to {calls} calls", latencies.len()).into());
    }
    Ok(Seen { elapsed, latencies })
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

struct Connection {
    stream: TcpStream,
    /// Bytes read and not yet consumed.
    buffer: Vec<u8>,
    /// The body of the last answer, without its chunk framing.
    body: Vec<u8>,
}

impl Connection {
    async fn open(authority: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(64 * 1024), body: Vec::new() })
    }

    async fn call(&mut self, request: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(request).await?;
        self.body.clear();
        let head = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            self.fill().await?;
        };
        let framing = Framing::of(&self.buffer[..head])?;
        self.buffer.drain(..head);
        match framing {
            Framing::Length(length) => {
                while self.buffer.len() < length {
                    self.fill().await?;
                }
                self.body.extend_from_slice(&self.buffer[..length]);
                self.buffer.drain(..length);
                Ok(())
            }
            Framing::Chunked => self.chunks().await,
        }
    }

    async fn chunks(&mut self) -> Result<(), Failure> {
        loop {
            let line = loop {
                if let Some(at) = find(&self.buffer, b"\r\n") {
                    break at;
                }
                self.fill().await?;
            };
            let size = std::str::from_utf8(&self.buffer[..line])?;
            let size = usize::from_str_radix(size.trim(), 16)?;
            let end = line + 2 + size + 2;
            while self.buffer.len() < end {
                self.fill().await?;
            }
            self.body.extend_from_slice(&self.buffer[line + 2..line + 2 + size]);
            self.buffer.drain(..end);
            if size == 0 {
                return Ok(());
            }
        }
    }

    async fn fill(&mut self) -> Result<(), Failure> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(())
    }
}

enum Framing {
    Length(usize),
    Chunked,
}

impl Framing {
    /// Reads the framing of a successful answer; any other status is a failure.
    fn of(head: &[u8]) -> Result<Self, Failure> {
        let head = std::str::from_utf8(head)?;
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(format!("not a 200: {head}").into());
        }
        for line in head.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                return Ok(Self::Length(value.trim().parse()?));
            }
            if name.eq_ignore_ascii_case("transfer-encoding") && value.trim() == "chunked" {
                return Ok(Self::Chunked);
            }
        }
        Err(format!("neither a length nor chunks: {head}").into())
    }
}
