//! The link to an artifact, as a result carries it.
//!
//! It says what a client needs in order to decide whether to read: type, size, digest and end. Executors and
//! the deliver step make results of it.

use callgate_protocol::json::{push_integer, push_string};
use jiff::Timestamp as Time;

use crate::contract::digest::Digest;
use crate::outcome::ToolOutput;
use crate::port::Timestamp;

/// The `_meta` key under which links and parts carry what is known of an artifact.
pub const ARTIFACT_KEY: &str = "dev.callgate/artifact";

/// The schema of the member `artifact` of a structured result that is a link.
pub const LINK_SCHEMA: &str = r#"{"type":"object","description":"Read it with resources/read","required":["uri","name","mediaType","bytes","digest","expires"],"additionalProperties":false,"properties":{"uri":{"type":"string","description":"Where it is read; ?offset=..&length=.. names a part"},"name":{"type":"string"},"mediaType":{"type":"string"},"bytes":{"type":"integer","minimum":0},"digest":{"type":"string","description":"SHA-256 of the bytes"},"expires":{"type":"string","format":"date-time"},"rows":{"type":"integer","minimum":0}}}"#;

/// The schema of a structured result that is a link.
#[must_use]
pub fn link_result_schema() -> String {
    format!(
        "{{\"type\":\"object\",\"required\":[\"artifact\"],\"additionalProperties\":false,\
         \"properties\":{{\"artifact\":{LINK_SCHEMA}}}}}"
    )
}

/// An artifact that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactLink {
    /// Where it is read.
    pub uri: String,
    /// The name that people see.
    pub name: String,
    /// The type of its contents.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The SHA-256 digest of the bytes.
    pub digest: Digest,
    /// When it can be read no more.
    pub expires: Timestamp,
    /// How many rows it has, where it is a table.
    pub rows: Option<u64>,
}

impl ArtifactLink {
    /// The link as a content block.
    #[must_use]
    pub fn block(&self) -> String {
        let mut out = String::from("{\"type\":\"resource_link\",\"uri\":");
        push_string(&mut out, &self.uri);
        out.push_str(",\"name\":");
        push_string(&mut out, &self.name);
        out.push_str(",\"mimeType\":");
        push_string(&mut out, &self.media_type);
        out.push_str(",\"size\":");
        push_integer(&mut out, self.bytes);
        out.push_str(",\"_meta\":{\"");
        out.push_str(ARTIFACT_KEY);
        out.push_str("\":{\"digest\":\"");
        self.digest.push(&mut out);
        out.push_str("\",\"expires\":");
        push_string(&mut out, &shown(self.expires));
        out.push_str("}}}");
        out
    }

    /// The link as a structured result, which fits an object with a member `artifact` of [`LINK_SCHEMA`].
    #[must_use]
    pub fn structured(&self) -> String {
        let mut out = String::from("{\"artifact\":{\"uri\":");
        push_string(&mut out, &self.uri);
        out.push_str(",\"name\":");
        push_string(&mut out, &self.name);
        out.push_str(",\"mediaType\":");
        push_string(&mut out, &self.media_type);
        out.push_str(",\"bytes\":");
        push_integer(&mut out, self.bytes);
        out.push_str(",\"digest\":\"");
        self.digest.push(&mut out);
        out.push_str("\",\"expires\":");
        push_string(&mut out, &shown(self.expires));
        if let Some(rows) = self.rows {
            out.push_str(",\"rows\":");
            push_integer(&mut out, rows);
        }
        out.push_str("}}");
        out
    }

    /// The content blocks of a result that is this link, with a sentence before it for who sees no links.
    #[must_use]
    pub fn content(&self) -> String {
        let rows = self.rows.map(|rows| format!(", {rows} rows")).unwrap_or_default();
        let text = format!(
            "The result is kept as {} ({}, {} bytes{rows}). Read it with resources/read at {} until {}.",
            self.name,
            self.media_type,
            self.bytes,
            self.uri,
            shown(self.expires)
        );
        let mut out = String::from("[{\"type\":\"text\",\"text\":");
        push_string(&mut out, &text);
        out.push_str("},");
        out.push_str(&self.block());
        out.push(']');
        out
    }

    /// A whole result that is this link.
    #[must_use]
    pub fn output(&self) -> ToolOutput {
        let mut output = ToolOutput::structured(self.structured());
        output.content = Some(self.content());
        output
    }
}

/// A time as RFC 3339 has it, in whole seconds.
#[must_use]
pub fn shown(time: Timestamp) -> String {
    Time::from_second(time.0.div_euclid(1_000_000)).map(|time| time.to_string()).unwrap_or_default()
}
