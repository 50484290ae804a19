//! The client at the other end of one request, as far as a running tool may speak to it.
//!
//! What the client did not ask for is dropped by the implementation, not by the tool. Transports
//! implement it.

use std::fmt;

use callgate_protocol::logging::LogLevel;

use super::Answer;
use crate::invocation::InputRequest;

/// Why a question to the client got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The client went away.
    #[error("the client is gone")]
    Gone,
    /// The client answered with an error.
    #[error("the client could not answer")]
    Failed,
    /// Too many questions are open.
    #[error("too many questions are open")]
    Busy,
}

/// Speaks to the client of one request. All methods return at once; a slow client costs a bounded
/// amount of memory, after which notifications are dropped.
pub trait Peer: Send + Sync {
    /// Reports progress, if the client gave a token. Values that do not increase are dropped.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>);

    /// Sends a log message, if the client asked for this level. `data` is one JSON value.
    fn log(&self, level: LogLevel, logger: Option<&str>, data: &str);

    /// Puts a question to the client while the call waits, where the revision of the client works that
    /// way. Nothing means that the question has to be part of the result.
    ///
    /// The answer is the JSON text of the client's result.
    fn ask<'a>(&'a self, request: &'a InputRequest) -> Option<Answer<'a, Result<String, PeerError>>>;

    /// Ends the response that is being streamed, while the call goes on: the client comes back for the rest.
    /// Does nothing where the transport or the revision of the client has no such thing.
    fn close_stream(&self) {}
}

/// A client that asked for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentPeer;

impl Peer for SilentPeer {
    fn progress(&self, _progress: f64, _total: Option<f64>, _message: Option<&str>) {}

    fn log(&self, _level: LogLevel, _logger: Option<&str>, _data: &str) {}

    fn ask<'a>(&'a self, _request: &'a InputRequest) -> Option<Answer<'a, Result<String, PeerError>>> {
        None
    }
}

impl fmt::Debug for dyn Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Peer")
    }
}
