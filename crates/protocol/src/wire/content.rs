//! Content blocks: what tools, prompts and messages show.
//!
//! A block of an unknown kind must be kept, never dropped, and a resource link never followed here.

use super::base::{Icon, Role};
use super::raw::{Number, RawJson};
use super::resource::ResourceContents;

wire_choice! {
    /// A block of content, in the order in which it is to be read.
    pub enum ContentBlock by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// An image.
        Image(ImageContent) = "image",
        /// Audio; since 2025-03-26.
        Audio(AudioContent) = "audio",
        /// A link to a resource; since 2025-06-18.
        ResourceLink(ResourceLink) = "resource_link",
        /// A resource with its contents.
        Resource(EmbeddedResource) = "resource",
    }
}

wire_struct! {
    /// Hints about who a block or resource is for.
    pub struct Annotations {
        optional {
            /// Who it is for.
            audience: Vec<Role> = "audience",
            /// How important it is, from 0 to 1.
            priority: Number = "priority",
            /// When it was last changed, as an ISO 8601 time; since 2025-06-18.
            last_modified: String = "lastModified",
        }
    }
}

wire_struct! {
    /// Text.
    pub struct TextContent ["type" = "text"] {
        required {
            /// The text.
            text: String = "text",
        }
        optional {
            /// Hints.
            annotations: Annotations = "annotations",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// An image.
    pub struct ImageContent ["type" = "image"] {
        required {
            /// The bytes in Base64.
            data: String = "data",
            /// The media type.
            mime_type: String = "mimeType",
        }
        optional {
            /// Hints.
            annotations: Annotations = "annotations",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// Audio.
    pub struct AudioContent ["type" = "audio"] {
        required {
            /// The bytes in Base64.
            data: String = "data",
            /// The media type.
            mime_type: String = "mimeType",
        }
        optional {
            /// Hints.
            annotations: Annotations = "annotations",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// A link to a resource, which need not be in any list.
    pub struct ResourceLink ["type" = "resource_link"] {
        required {
            /// Where the resource is.
            uri: String = "uri",
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it holds.
            description: String = "description",
            /// The media type.
            mime_type: String = "mimeType",
            /// The size in bytes, before any encoding.
            size: Number = "size",
            /// Hints.
            annotations: Annotations = "annotations",
            /// Icons.
            icons: Vec<Icon> = "icons",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// A resource with its contents.
    pub struct EmbeddedResource ["type" = "resource"] {
        required {
            /// The contents.
            resource: ResourceContents = "resource",
        }
        optional {
            /// Hints.
            annotations: Annotations = "annotations",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
