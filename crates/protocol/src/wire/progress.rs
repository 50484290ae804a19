//! Progress of a request that asked for it.
//!
//! `progress` must grow with each notification of a token.

use super::raw::{Number, RawJson};
use crate::id::Id;

wire_struct! {
    /// The parameters of `notifications/progress`.
    pub struct ProgressNotificationParams {
        required {
            /// The token that the request gave.
            progress_token: Id = "progressToken",
            /// How far the work is.
            progress: Number = "progress",
        }
        optional {
            /// How far it goes, if that is known.
            total: Number = "total",
            /// What is being done; since 2025-03-26.
            message: String = "message",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
