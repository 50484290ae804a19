//! Discovery (2026-07-28): what the server is and serves.

use super::base::{CacheScope, ResultType};
use super::capability::ServerCapabilities;
use super::raw::{Number, RawJson};

wire_struct! {
    /// The result of `server/discover`. The server's name stands in `_meta`.
    pub struct DiscoverResult {
        required {
            /// The revisions that the server serves.
            supported_versions: Vec<String> = "supportedVersions",
            /// What it offers.
            capabilities: ServerCapabilities = "capabilities",
            /// The kind of result.
            result_type: ResultType = "resultType",
            /// How long it stays fresh, in milliseconds.
            ttl_ms: Number = "ttlMs",
            /// Who may share it.
            cache_scope: CacheScope = "cacheScope",
        }
        optional {
            /// How the model should use the server.
            instructions: String = "instructions",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
