//! What many messages share: who speaks, icons, result types, cache hints, pages and errors.
//!
//! Nothing here must be taken as an identity or an authorization: names and versions are the peer's
//! own account of itself.

use super::raw::{Number, RawJson};

wire_names! {
    /// Who said something.
    pub enum Role {
        /// The person or the program that uses the model.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

wire_names! {
    /// What kind of result a response holds (2026-07-28).
    pub enum ResultType {
        /// The final result.
        Complete = "complete",
        /// The server needs more input first.
        InputRequired = "input_required",
    }
}

wire_names! {
    /// Who may share a cached result (2026-07-28).
    pub enum CacheScope {
        /// Everybody.
        Public = "public",
        /// Only requests of the same authorization context.
        Private = "private",
    }
}

wire_names! {
    /// The background that an icon was drawn for.
    pub enum IconTheme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

wire_struct! {
    /// An icon. Its URI and its bytes are untrusted.
    pub struct Icon {
        required {
            /// Where the image is: an `https:` or `data:` URI.
            src: String = "src",
        }
        optional {
            /// The media type.
            mime_type: String = "mimeType",
            /// Sizes such as `48x48` or `any`.
            sizes: Vec<String> = "sizes",
            /// The background it was drawn for.
            theme: IconTheme = "theme",
        }
    }
}

wire_struct! {
    /// The name and version of a client or server, for people and logs only.
    pub struct Implementation {
        required {
            /// The name for programs.
            name: String = "name",
            /// The version.
            version: String = "version",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it does.
            description: String = "description",
            /// Icons.
            icons: Vec<Icon> = "icons",
            /// A page about it.
            website_url: String = "websiteUrl",
        }
    }
}

wire_struct! {
    /// The parameters of a request that has none of its own.
    pub struct RequestParams {
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of a notification that has none of its own.
    pub struct NotificationParams {
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of a request for one page of a list.
    pub struct PaginatedRequestParams {
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
            /// Where the page starts; an empty string is a cursor like any other.
            cursor: String = "cursor",
        }
    }
}

wire_struct! {
    /// A result without members of its own.
    pub struct EmptyResult {
        optional {
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// An error, as it stands in a response.
    pub struct ErrorObject {
        required {
            /// The code: an integer.
            code: Number = "code",
            /// One concise sentence.
            message: String = "message",
        }
        optional {
            /// More, as the code defines it.
            data: RawJson = "data",
        }
    }
}

wire_struct! {
    /// The `data` of an error -32022.
    pub struct UnsupportedVersionData {
        required {
            /// The revisions that the server serves.
            supported: Vec<String> = "supported",
            /// The revision that was asked for.
            requested: String = "requested",
        }
    }
}

wire_struct! {
    /// The metadata of a 2026-07-28 request, for writing it; the decoder reads it as `RequestMeta`.
    pub struct RequestMetaObject {
        required {
            /// The revision that the request follows.
            protocol_version: String = "io.modelcontextprotocol/protocolVersion",
            /// What the client can do for this request.
            client_capabilities: super::capability::ClientCapabilities = "io.modelcontextprotocol/clientCapabilities",
        }
        optional {
            /// The client's account of itself.
            client_info: Implementation = "io.modelcontextprotocol/clientInfo",
            /// The least severe log message wanted.
            log_level: crate::logging::LogLevel = "io.modelcontextprotocol/logLevel",
            /// The token under which progress is wanted.
            progress_token: crate::id::Id = "progressToken",
            /// The W3C trace parent.
            trace_parent: String = "traceparent",
            /// The W3C trace state.
            trace_state: String = "tracestate",
            /// The W3C baggage.
            baggage: String = "baggage",
        }
    }
}
