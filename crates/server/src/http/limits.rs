//! Every bound of the HTTP transport, in one place.
//!
//! What is not named here is not bounded by the transport. The service, the streams and the accept
//! loop read it.

use std::time::Duration;

use callgate_protocol::json;

/// Bounds of the HTTP transport.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// Bounds on one message; its `bytes` are the largest request body. Default: those of the decoder,
    /// 4 MiB, because artifacts travel by reference.
    pub message: json::Limits,
    /// How long the body of a request may take to arrive. Default: 30 seconds, 4 MiB over a bad line.
    pub body_timeout: Duration,
    /// Request bodies held in memory at one time, over all connections, as far as each is longer than
    /// 16 KiB. Default: 256 MiB; beyond it a request is answered with 503.
    pub buffered_bytes: usize,
    /// The longest request head. Default: 64 KiB, room for many mirrored parameters. HTTP/1 clients
    /// beyond it get 431.
    pub header_bytes: usize,
    /// Header fields of one request over HTTP/1. Default: 100; beyond it 431.
    pub header_count: usize,
    /// How long the head of a request may take to arrive, counted from the connection or from the
    /// first byte after a request. Default: 10 seconds. On a connection that was used before it is
    /// enforced within twice that time.
    pub header_timeout: Duration,
    /// How long the handshake of TLS may take. Default: 10 seconds.
    pub handshake_timeout: Duration,
    /// Connections at one time. Default: 16,384; more wait in the queue of the operating system.
    pub connections: usize,
    /// How long a connection without a request stays open. Default: 75 seconds, longer than the
    /// pools of common proxies keep theirs, so that they close first.
    pub idle_timeout: Duration,
    /// Requests in flight on one HTTP/2 connection. Default: 128, enough for a gateway that shares one
    /// connection among many callers.
    pub requests_per_connection: u32,
    /// Silence on a stream after which a comment is sent. Default: 25 seconds; common proxies cut a
    /// silent stream after 60.
    pub keep_alive_interval: Duration,
    /// How long a client may leave a stream unread. Default: 60 seconds beyond the keep-alive interval;
    /// then its request is cancelled.
    pub stall_timeout: Duration,
    /// Notifications that wait for a slow reader of one stream. Default: 64. Beyond it only the newest
    /// progress is kept and log messages are dropped.
    pub notices_queued: usize,
    /// Bytes of notifications that wait for a slow reader of one stream. Default: 256 KiB.
    pub notices_bytes: usize,
    /// Notifications that one request may send in a second. Default: 200; beyond it as with a slow
    /// reader.
    pub notices_per_second: u32,
    /// How long accepted requests may take when the server ends. Default: 10 seconds; then they are
    /// answered with an error.
    pub shutdown_grace: Duration,
    /// How long the last answers may take to be written before connections are cut. Default: 2 seconds.
    pub linger: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            message: json::Limits::DEFAULT,
            body_timeout: Duration::from_secs(30),
            buffered_bytes: 256 << 20,
            header_bytes: 64 << 10,
            header_count: 100,
            header_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            connections: 16_384,
            idle_timeout: Duration::from_secs(75),
            requests_per_connection: 128,
            keep_alive_interval: Duration::from_secs(25),
            stall_timeout: Duration::from_secs(60),
            notices_queued: 64,
            notices_bytes: 256 << 10,
            notices_per_second: 200,
            shutdown_grace: Duration::from_secs(10),
            linger: Duration::from_secs(2),
        }
    }
}
