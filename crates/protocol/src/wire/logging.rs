//! Log messages; deprecated in 2026-07-28.
//!
//! They must never hold credentials, personal data or internals.

use super::raw::RawJson;
use crate::logging::LogLevel;

wire_struct! {
    /// The parameters of `notifications/message`.
    pub struct LoggingMessageNotificationParams {
        required {
            /// The severity.
            level: LogLevel = "level",
            /// What is logged, as text: any value.
            data: RawJson = "data",
        }
        optional {
            /// Who logs.
            logger: String = "logger",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
