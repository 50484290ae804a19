//! Every bound on a service that is reached over HTTP, and on the tokens for it.

use std::time::Duration;

/// Bounds on exchanges with a service.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long a connection may take, name and TLS included. Default: 3 seconds.
    pub connect_timeout: Duration,
    /// Exchanges at one time. Default: 32.
    pub concurrency: usize,
    /// How long an exchange waits for a place. Default: 2 seconds; later ones are told that the service is busy.
    pub place_timeout: Duration,
    /// The longest body of a response as it arrives. Default: 1 MiB.
    pub response_bytes: usize,
    /// The longest body of a response after decompression. Default: 4 MiB.
    pub decoded_bytes: usize,
    /// The longest path with its query. Default: 8 KiB, what servers usually take.
    pub target_bytes: usize,
    /// Fields in the head of a response. Default: 100.
    pub header_fields: usize,
    /// How long a connection is kept for the next exchange. Default: 30 seconds, less than services keep theirs.
    pub idle_timeout: Duration,
    /// The longest answer of an authorization server. Default: 64 KiB.
    pub token_bytes: usize,
    /// How long getting a token may take. Default: 8 seconds.
    pub token_timeout: Duration,
    /// Tokens of callers that are remembered. Default: 10,000; the ones that end first go first.
    pub tokens: usize,
    /// How long before its end a token is replaced. Default: 30 seconds, or a tenth of its life where that is less.
    pub token_margin: Duration,
    /// The life of a token where the authorization server names none. Default: 60 seconds.
    pub token_life: Duration,
    /// The longest that any token is used. Default: one hour.
    pub token_life_max: Duration,
    /// How long no other try follows one that got no token. Default: one second.
    pub token_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(3),
            concurrency: 32,
            place_timeout: Duration::from_secs(2),
            response_bytes: 1 << 20,
            decoded_bytes: 4 << 20,
            target_bytes: 8 << 10,
            header_fields: 100,
            idle_timeout: Duration::from_secs(30),
            token_bytes: 64 << 10,
            token_timeout: Duration::from_secs(8),
            tokens: 10_000,
            token_margin: Duration::from_secs(30),
            token_life: Duration::from_secs(60),
            token_life_max: Duration::from_secs(3600),
            token_pause: Duration::from_secs(1),
        }
    }
}
