//! The floor of the benchmark: a server that reads a request and answers fixed bytes.
//!
//! It knows nothing of MCP. What it costs is what any server on the same HTTP library, or on the same
//! pipes, must pay for the same bytes. Started by `load`, never by a person.
//!
//!     raw http --listen 127.0.0.1:0 --workers 1 --answer FILE
//!     raw stdio --answer FILE

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::ExitCode;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1)).cloned();
    let answer = match option("--answer").map(fs::read) {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return fail(&format!("--answer: {error}")),
        None => return fail("--answer FILE is missing"),
    };
    let outcome = match args.first().map(String::as_str) {
        Some("http") => {
            let listen = option("--listen").unwrap_or_else(|| "127.0.0.1:0".to_owned());
            let workers = option("--workers").and_then(|n| n.parse().ok()).unwrap_or(1);
            http(&listen, workers, Bytes::from(answer))
        }
        Some("stdio") => stdio(&answer),
        _ => return fail("the first argument is `http` or `stdio`"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("raw: {message}");
    ExitCode::FAILURE
}

fn http(listen: &str, workers: usize, answer: Bytes) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        println!("listening on http://{}/mcp", listener.local_addr()?);
        // The accept loop runs on a worker too, as it does in the servers compared with.
        tokio::spawn(accept(listener, answer)).await?
    })
}

async fn accept(listener: TcpListener, answer: Bytes) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| respond(request, answer.clone()));
            // A client that goes away is the normal end of a connection here.
            let _ended = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(request: Request<Incoming>, answer: Bytes) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let _body = request.into_body().collect().await?.to_bytes();
    let mut response = Response::new(Full::new(answer));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn stdio(answer: &[u8]) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    // Past 64 KiB the answers are written, and always before the next read could block.
    let mut output: Vec<u8> = Vec::with_capacity(128 * 1024);
    let mut sink = io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().read_until(b'\n', &mut line)? == 0 {
            sink.write_all(&output)?;
            return sink.flush();
        }
        output.extend_from_slice(answer);
        output.push(b'\n');
        if output.len() >= 64 * 1024 || input.buffer().is_empty() {
            sink.write_all(&output)?;
            sink.flush()?;
            output.clear();
        }
    }
}
