//! Content blocks: texts, pictures, sound, links and embedded resources.
//!
//! A block is written once, as the JSON that leaves. Handlers of tools and prompts make them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callgate_protocol::json::push_string;
use serde_json::{Map, Value};

use crate::prompt::Role;

/// One content block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block(String);

impl Block {
    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::open("text").with("text", text).close()
    }

    /// A picture.
    #[must_use]
    pub fn image(bytes: &[u8], mime_type: &str) -> Self {
        Self::open("image").with("data", &STANDARD.encode(bytes)).with("mimeType", mime_type).close()
    }

    /// A sound.
    #[must_use]
    pub fn audio(bytes: &[u8], mime_type: &str) -> Self {
        Self::open("audio").with("data", &STANDARD.encode(bytes)).with("mimeType", mime_type).close()
    }

    /// A link to a resource.
    #[must_use]
    pub fn resource_link(uri: &str, name: &str, mime_type: Option<&str>) -> Self {
        let link = Self::open("resource_link").with("uri", uri).with("name", name);
        match mime_type {
            Some(mime_type) => link.with("mimeType", mime_type).close(),
            None => link.close(),
        }
    }

    /// A text resource inside the result.
    #[must_use]
    pub fn embedded_text(uri: &str, mime_type: &str, text: &str) -> Self {
        Self::embedded(&resource_text(uri, Some(mime_type), text))
    }

    /// A binary resource inside the result.
    #[must_use]
    pub fn embedded_bytes(uri: &str, mime_type: &str, bytes: &[u8]) -> Self {
        Self::embedded(&resource_bytes(uri, Some(mime_type), bytes))
    }

    /// The same block with what a client should know about it: for whom it is, and how much it matters
    /// from 0 to 1. A priority outside that range is brought into it.
    #[must_use]
    pub fn annotated(mut self, audience: &[Role], priority: Option<f64>) -> Self {
        let audience: Vec<_> = audience.iter().map(|role| role.as_str()).collect();
        let mut annotations = Map::new();
        if !audience.is_empty() {
            annotations.insert("audience".into(), audience.into());
        }
        if let Some(priority) = priority.filter(|priority| !priority.is_nan()) {
            annotations.insert("priority".into(), priority.clamp(0.0, 1.0).into());
        }
        // A block ends with the brace that `close` wrote.
        self.0.pop();
        self.0.push_str(",\"annotations\":");
        self.0.push_str(&Value::Object(annotations).to_string());
        self.close()
    }

    fn embedded(resource: &str) -> Self {
        let mut block = Self::open("resource");
        block.0.push_str(",\"resource\":");
        block.0.push_str(resource);
        block.close()
    }

    /// The block as JSON.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }

    fn open(kind: &str) -> Self {
        let mut json = String::with_capacity(64);
        json.push_str("{\"type\":");
        push_string(&mut json, kind);
        Self(json)
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        push_member(&mut self.0, name, value);
        self
    }

    fn close(mut self) -> Self {
        self.0.push('}');
        self
    }
}

/// The content blocks of one result, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(Vec<Block>);

impl Content {
    /// No content yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A single text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(vec![Block::text(text)])
    }

    /// The same content with one more block.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.0.push(block);
        self
    }

    /// The blocks as one JSON array.
    pub(crate) fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.0.iter().map(|block| block.0.len() + 1).sum::<usize>() + 2);
        json.push('[');
        for (at, block) in self.0.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            json.push_str(&block.0);
        }
        json.push(']');
        json
    }
}

impl From<Block> for Content {
    fn from(block: Block) -> Self {
        Self(vec![block])
    }
}

/// A structured result that comes with its own content blocks instead of its JSON as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithContent<T>(pub T, pub Content);

/// The contents of a text resource as a JSON object.
pub(crate) fn resource_text(uri: &str, mime_type: Option<&str>, text: &str) -> String {
    resource(uri, mime_type, "text", text)
}

/// The contents of a binary resource as a JSON object.
pub(crate) fn resource_bytes(uri: &str, mime_type: Option<&str>, bytes: &[u8]) -> String {
    resource(uri, mime_type, "blob", &STANDARD.encode(bytes))
}

fn resource(uri: &str, mime_type: Option<&str>, member: &str, value: &str) -> String {
    let mut json = String::with_capacity(64 + uri.len() + value.len());
    json.push_str("{\"uri\":");
    push_string(&mut json, uri);
    if let Some(mime_type) = mime_type {
        push_member(&mut json, "mimeType", mime_type);
    }
    push_member(&mut json, member, value);
    json.push('}');
    json
}

/// Appends one more member whose value is a string.
pub(crate) fn push_member(json: &mut String, name: &str, value: &str) {
    json.push(',');
    push_string(json, name);
    json.push(':');
    push_string(json, value);
}
