//! Cancellation of a request by its sender.

use super::raw::RawJson;
use crate::id::Id;

wire_struct! {
    /// The parameters of `notifications/cancelled`.
    pub struct CancelledNotificationParams {
        optional {
            /// The request; required in every revision but 2025-11-25.
            request_id: Id = "requestId",
            /// Why, for logs.
            reason: String = "reason",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
