//! MCP over standard streams: one JSON-RPC message a line, both eras in one process.
//!
//! It must never write anything but messages to the output, never close the stream because of a line it
//! cannot read, and never let one modern request depend on another. [`serve_process`] serves the streams
//! of this process, [`serve`] any two streams; the server's own entry points call them.
//!
//! # What is guaranteed about standard output
//! On Unix, [`serve_process`] keeps a duplicate of descriptor 1 for itself and points descriptor 1 at
//! standard error. Whatever a handler, a library or a child process prints from then on lands on standard
//! error. On other systems the writer is the only one in this crate that touches standard output, but a
//! handler that prints can still break the framing.

mod batch;
mod call;
mod connection;
mod flights;
pub(crate) mod lines;
mod streams;
#[cfg(test)]
mod tests;
mod wire;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::endpoint::Endpoint;
use crate::legacy::LegacyLimits;
use crate::server::Server;
use crate::shutdown::Shutdown;
use connection::Connection;

/// Bounds of one stdio connection.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StdioLimits {
    /// The longest line, in bytes. Default: 4 MiB, as for any message.
    pub line_bytes: usize,
    /// Calls that run at the same time. Default: 256; more wait.
    pub calls: usize,
    /// Calls that wait for a free place. Default: 1,024. Beyond it nothing more is read, so that the
    /// client's writes block.
    pub waiting: usize,
    /// Bytes that wait to be written. Default: 1 MiB. Beyond it nothing more is read, and progress and log
    /// messages are dropped.
    pub output_bytes: usize,
    /// How long accepted requests may take to be answered once the input has ended or the process is told
    /// to stop. Default: 5 seconds.
    pub drain: Duration,
    /// Bounds of a legacy client.
    pub legacy: LegacyLimits,
}

impl Default for StdioLimits {
    fn default() -> Self {
        Self {
            line_bytes: 4 << 20,
            calls: 256,
            waiting: 1024,
            output_bytes: 1 << 20,
            drain: Duration::from_secs(5),
            legacy: LegacyLimits::default(),
        }
    }
}

/// Why a stdio connection could not be served to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StdioError {
    /// The standard streams of the process cannot be used.
    #[error("the standard streams cannot be used")]
    Streams(#[source] io::Error),
    /// The output cannot be written.
    #[error("standard output cannot be written")]
    Write(#[source] io::Error),
}

/// Serves the standard streams of this process until the input ends, the client goes away, or `shutdown`
/// begins.
///
/// Cancel safe: dropped, it drops every running call.
///
/// # Errors
/// The streams cannot be used, or the output cannot be written for another reason than a client that went
/// away.
pub(crate) async fn serve_process(
    endpoint: Arc<Endpoint>,
    limits: StdioLimits,
    shutdown: Shutdown,
) -> Result<(), StdioError> {
    let (input, output) = streams::claim().map_err(StdioError::Streams)?;
    serve(endpoint, input, output, limits, shutdown).await
}

/// As [`serve_process`], for any two streams.
pub(crate) async fn serve(
    endpoint: Arc<Endpoint>,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin,
    limits: StdioLimits,
    shutdown: Shutdown,
) -> Result<(), StdioError> {
    let mut stopped = pin!(shutdown.begun());
    let mut connection = Connection::new(endpoint, input, output, limits);
    std::future::poll_fn(|context| connection.poll(context, stopped.as_mut())).await
}

impl Server {
    /// Serves the standard streams of this process until the input ends, the client goes away, or
    /// `shutdown` begins. On Unix, what anything else prints on standard output from then on goes to standard
    /// error.
    ///
    /// Cancel safe: dropped, it drops every running call.
    ///
    /// # Errors
    /// The streams cannot be used, or the output cannot be written for another reason than a client that
    /// went away.
    pub async fn serve_stdio_with(&self, limits: StdioLimits, shutdown: Shutdown) -> Result<(), StdioError> {
        serve_process(Arc::clone(self.endpoint()), limits, shutdown).await
    }
}
