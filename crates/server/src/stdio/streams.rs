//! The standard streams of this process, taken for the protocol alone.
//!
//! It must never leave descriptor 1 pointing at the client while handlers run, and never make a terminal
//! or a file non-blocking, because others may share it. Only [`serve_process`](super::serve_process)
//! calls it.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// Where messages come from.
pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Where messages go.
pub(super) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Takes both streams.
#[cfg(unix)]
pub(super) fn claim() -> io::Result<(Input, Output)> {
    use std::fs::File;
    use std::os::fd::AsFd as _;

    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let errors = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    // What is printed from now on goes to standard error: "The server MUST NOT write anything to its
    // `stdout` that is not a valid MCP message"
    // (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio).
    rustix::stdio::dup2_stdout(&errors)?;
    let shared = unix::is_same(&output, &errors);
    Ok((unix::input(input)?, unix::output(output, shared)?))
}

/// Takes both streams. What handlers print is not kept apart here.
#[cfg(not(unix))]
pub(super) fn claim() -> io::Result<(Input, Output)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::os::unix::net::UnixStream as StdStream;
    use std::thread;

    use tokio::net::{UnixStream, unix::pipe};

    use super::{Input, Output};

    /// True when both are one and the same stream.
    pub(super) fn is_same(one: &File, other: &File) -> bool {
        match (one.metadata(), other.metadata()) {
            (Ok(one), Ok(other)) => one.dev() == other.dev() && one.ino() == other.ino(),
            _ => true,
        }
    }

    /// Pipes and sockets are polled. Anything else, such as a terminal or a file, is read by a thread that
    /// blocks and that the process does not wait for when it ends.
    pub(super) fn input(file: File) -> io::Result<Input> {
        let kind = file.metadata()?.file_type();
        if kind.is_fifo() {
            return Ok(Box::new(pipe::Receiver::from_file(file)?));
        }
        if kind.is_socket() {
            return Ok(Box::new(stream(file)?));
        }
        let (receiver, mut sender) = io::pipe()?;
        let mut file = file;
        thread::Builder::new().name("stdin".into()).spawn(move || {
            // Either end going away ends the copy, and with it the input.
            let _ = io::copy(&mut file, &mut sender);
        })?;
        Ok(Box::new(pipe::Receiver::from_file(File::from(OwnedFd::from(receiver)))?))
    }

    /// Pipes and sockets are polled, unless standard error is the same stream: a non-blocking descriptor
    /// would then lose log lines. Anything else is written through the runtime's blocking threads.
    pub(super) fn output(file: File, shared: bool) -> io::Result<Output> {
        let kind = file.metadata()?.file_type();
        if kind.is_fifo() && !shared {
            return Ok(Box::new(pipe::Sender::from_file(file)?));
        }
        if kind.is_socket() && !shared {
            return Ok(Box::new(stream(file)?));
        }
        Ok(Box::new(tokio::fs::File::from_std(file)))
    }

    fn stream(file: File) -> io::Result<UnixStream> {
        let stream = StdStream::from(OwnedFd::from(file));
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    }
}
