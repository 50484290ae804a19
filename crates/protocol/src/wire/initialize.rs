//! The handshake of the revisions before 2026-07-28, and what only they have.
//!
//! The modern path must never use these.

use super::base::Implementation;
use super::capability::{ClientCapabilities, ServerCapabilities};
use super::raw::RawJson;
use crate::logging::LogLevel;

wire_struct! {
    /// The parameters of `initialize`.
    pub struct InitializeRequestParams {
        required {
            /// The newest revision that the client speaks.
            protocol_version: String = "protocolVersion",
            /// What the client can do in this session.
            capabilities: ClientCapabilities = "capabilities",
            /// The client's account of itself.
            client_info: Implementation = "clientInfo",
        }
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The result of `initialize`.
    pub struct InitializeResult {
        required {
            /// The revision of this session.
            protocol_version: String = "protocolVersion",
            /// What the server offers.
            capabilities: ServerCapabilities = "capabilities",
            /// The server's account of itself.
            server_info: Implementation = "serverInfo",
        }
        optional {
            /// How the model should use the server; since 2025-03-26.
            instructions: String = "instructions",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of `logging/setLevel`.
    pub struct SetLevelRequestParams {
        required {
            /// The least severe level to be sent.
            level: LogLevel = "level",
        }
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of `resources/subscribe` and `resources/unsubscribe`.
    pub struct SubscribeRequestParams {
        required {
            /// The resource.
            uri: String = "uri",
        }
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of `notifications/elicitation/complete`; only in 2025-11-25.
    pub struct ElicitationCompleteNotificationParams {
        required {
            /// The elicitation that has come to its end.
            elicitation_id: String = "elicitationId",
        }
    }
}
