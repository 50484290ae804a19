//! Resources and their templates: lists, reading, and the subscription of one resource.
//!
//! A URI must be judged by whoever serves it; here it is only text.

use super::base::{CacheScope, Icon, ResultType};
use super::content::Annotations;
use super::field::{Entries, Wire, WireError};
use super::raw::{Number, RawJson};
use crate::json::Value;

wire_struct! {
    /// A resource in a list.
    pub struct Resource {
        required {
            /// Where it is.
            uri: String = "uri",
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people; since 2025-06-18.
            title: String = "title",
            /// What it holds.
            description: String = "description",
            /// The media type.
            mime_type: String = "mimeType",
            /// The size in bytes, before any encoding.
            size: Number = "size",
            /// Hints.
            annotations: Annotations = "annotations",
            /// Icons; since 2025-11-25.
            icons: Vec<Icon> = "icons",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// A family of resources.
    pub struct ResourceTemplate {
        required {
            /// The URI template, as in RFC 6570.
            uri_template: String = "uriTemplate",
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people; since 2025-06-18.
            title: String = "title",
            /// What its resources hold.
            description: String = "description",
            /// The media type that all of them have.
            mime_type: String = "mimeType",
            /// Hints.
            annotations: Annotations = "annotations",
            /// Icons; since 2025-11-25.
            icons: Vec<Icon> = "icons",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

/// The contents of a resource: text, or bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

impl Wire for ResourceContents {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        if value.get("blob").is_some() {
            BlobResourceContents::read(value).map(Self::Blob)
        } else {
            TextResourceContents::read(value).map(Self::Text)
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Text(contents) => contents.write(out),
            Self::Blob(contents) => contents.write(out),
        }
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

wire_struct! {
    /// Text of a resource.
    pub struct TextResourceContents {
        required {
            /// Where the resource is.
            uri: String = "uri",
            /// The text.
            text: String = "text",
        }
        optional {
            /// The media type.
            mime_type: String = "mimeType",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// Bytes of a resource.
    pub struct BlobResourceContents {
        required {
            /// Where the resource is.
            uri: String = "uri",
            /// The bytes in Base64.
            blob: String = "blob",
        }
        optional {
            /// The media type.
            mime_type: String = "mimeType",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// One page of resources.
    pub struct ListResourcesResult {
        required {
            /// The resources.
            resources: Vec<Resource> = "resources",
        }
        optional {
            /// Where the next page starts.
            next_cursor: String = "nextCursor",
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// How long the page stays fresh, in milliseconds; 2026-07-28.
            ttl_ms: Number = "ttlMs",
            /// Who may share it; 2026-07-28.
            cache_scope: CacheScope = "cacheScope",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// One page of resource templates.
    pub struct ListResourceTemplatesResult {
        required {
            /// The templates.
            resource_templates: Vec<ResourceTemplate> = "resourceTemplates",
        }
        optional {
            /// Where the next page starts.
            next_cursor: String = "nextCursor",
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// How long the page stays fresh, in milliseconds; 2026-07-28.
            ttl_ms: Number = "ttlMs",
            /// Who may share it; 2026-07-28.
            cache_scope: CacheScope = "cacheScope",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of a reading. Legacy subscriptions to one resource have the same `uri`.
    pub struct ReadResourceRequestParams {
        required {
            /// Where the resource is.
            uri: String = "uri",
        }
        optional {
            /// Answers to input requests, by their keys; 2026-07-28.
            input_responses: Entries<RawJson> = "inputResponses",
            /// The state that the server gave with its input requests; 2026-07-28.
            request_state: String = "requestState",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// What a reading gives.
    pub struct ReadResourceResult {
        required {
            /// The contents of the resource, or of those in it.
            contents: Vec<ResourceContents> = "contents",
        }
        optional {
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// How long the contents stay fresh, in milliseconds; 2026-07-28.
            ttl_ms: Number = "ttlMs",
            /// Who may share them; 2026-07-28.
            cache_scope: CacheScope = "cacheScope",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of the notice that a resource has changed.
    pub struct ResourceUpdatedNotificationParams {
        required {
            /// Where the resource is.
            uri: String = "uri",
        }
        optional {
            /// Metadata, as text; in 2026-07-28 with the subscription id.
            meta: RawJson = "_meta",
        }
    }
}
