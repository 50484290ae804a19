//! Every bound on tokens and on what is asked of the authorization server.

use std::time::Duration;

/// Bounds on tokens, keys and questions to the authorization server.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest token. Default: 16 KiB; tokens with many groups have about 8 KiB.
    pub token_bytes: usize,
    /// Groups or scopes of one token. Default: 512.
    pub names: usize,
    /// The longest subject, tenant, group, scope, purpose or client, in bytes. Default: 512.
    pub name_bytes: usize,
    /// Verified tokens that are remembered. Default: 10,000; the least recent half goes first.
    pub cached_tokens: usize,
    /// The longest answer of the authorization server. Default: 512 KiB.
    pub response_bytes: usize,
    /// How long a connection to it may take. Default: 3 seconds.
    pub connect_timeout: Duration,
    /// How long one question may take, discovery included. Default: 8 seconds, less than the gate waits.
    pub fetch_timeout: Duration,
    /// Keys of one issuer. Default: 64; a longer list is refused as a whole.
    pub keys: usize,
    /// Keys that are tried for a token that names none. Default: 4.
    pub keys_tried: usize,
    /// After how long keys are fetched anew. Default: 10 minutes; in use they stay meanwhile.
    pub keys_fresh: Duration,
    /// How long beyond that keys are in use before a caller waits for the new ones, so that a withdrawn key
    /// is not taken after a silence; also how long an issuer that failed counts as down. Default: 60 seconds;
    /// zero for a file, which is read in no time.
    pub keys_grace: Duration,
    /// How long keys stay in use while the authorization server does not answer. Default: 6 hours.
    pub keys_kept: Duration,
    /// How long no other fetch follows one that worked, however many unknown keys are named. Default: 10
    /// seconds.
    pub keys_pause: Duration,
    /// The longest wait after fetches that failed. Default: 60 seconds; it begins at one second and doubles.
    pub backoff_max: Duration,
    /// Introspections at one time. Default: 32; more wait for a place.
    pub introspections: usize,
    /// Introspections that wait for a place. Default: 128; more are refused at once, because made-up tokens
    /// must not hold up those who can be answered otherwise.
    pub introspections_waiting: usize,
    /// Failed introspections in a row after which no other follows for a while. Default: 3, so that one lost
    /// answer refuses nobody else.
    pub introspection_failures: u32,
    /// Tokens that introspection refused and that are remembered, by their digests. Default: 4,096; the least
    /// recent half goes first.
    pub refused_tokens: usize,
    /// How long a token that introspection refused is not asked about again. Default: 5 seconds.
    pub refused_for: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            token_bytes: 16 << 10,
            names: 512,
            name_bytes: 512,
            cached_tokens: 10_000,
            response_bytes: 512 << 10,
            connect_timeout: Duration::from_secs(3),
            fetch_timeout: Duration::from_secs(8),
            keys: 64,
            keys_tried: 4,
            keys_fresh: Duration::from_secs(600),
            keys_grace: Duration::from_secs(60),
            keys_kept: Duration::from_secs(6 * 3600),
            keys_pause: Duration::from_secs(10),
            backoff_max: Duration::from_secs(60),
            introspections: 32,
            introspections_waiting: 128,
            introspection_failures: 3,
            refused_tokens: 4096,
            refused_for: Duration::from_secs(5),
        }
    }
}
