//! How the result of a tool reaches its caller: in the message, or by a link to an artifact.
//!
//! What a tool may do is part of its contract and of the schema that it shows. The check and deliver steps
//! obey it.

use callgate_protocol::json::{Document, Kind, Value};

use super::definition::DefinitionFault;
use crate::artifact::link_result_schema;

/// How a result reaches its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// In the message; one that is too large is refused.
    #[default]
    Inline,
    /// In the message, or as an artifact when it is larger than the bound of the contract.
    Overflow,
    /// As an artifact that the tool writes itself.
    Artifact,
}

impl Delivery {
    /// The name in configuration and digests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Overflow => "overflow",
            Self::Artifact => "artifact",
        }
    }

    /// Whether a result may be a link to an artifact.
    #[must_use]
    pub const fn makes_artifacts(self) -> bool {
        matches!(self, Self::Overflow | Self::Artifact)
    }
}

/// The schema of a result that is what `schema` says, or a link.
pub(super) fn with_link(schema: &str, faults: &mut Vec<DefinitionFault>) -> String {
    // A schema that is no JSON was found already.
    let Ok(document) = Document::parse(schema, &callgate_protocol::json::Limits::DEFAULT) else {
        return schema.to_owned();
    };
    let root = document.root();
    if refers(root) {
        faults.push(DefinitionFault::new(
            "outputSchema",
            "a result that may become a link needs a schema without references: it is put into another one",
            "write out what `$ref`, `$id`, `$anchor` and `$defs` stand for, or do not let the result overflow",
        ));
        return schema.to_owned();
    }
    // Earlier revisions want an object at the root, which a link is.
    let kind =
        if root.get("type").is_some_and(|kind| kind.is_str("object")) { "\"type\":\"object\"," } else { "" };
    let dialect =
        root.get("$schema").map(|dialect| format!("\"$schema\":{},", dialect.raw())).unwrap_or_default();
    let inner: String = if dialect.is_empty() {
        schema.to_owned()
    } else {
        let members: Vec<_> = root
            .members()
            .filter(|(name, _)| !name.is_str("$schema"))
            .map(|(name, value)| format!("{}:{}", name.raw(), value.raw()))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    format!("{{{dialect}{kind}\"anyOf\":[{inner},{}]}}", link_result_schema())
}

/// True for a schema that names a place in itself or in another.
fn refers(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::Object => value.members().any(|(name, member)| {
            let name = name.as_str().unwrap_or_default();
            let is_reference = matches!(
                &*name,
                "$ref"
                    | "$dynamicRef"
                    | "$recursiveRef"
                    | "$id"
                    | "$anchor"
                    | "$dynamicAnchor"
                    | "$defs"
                    | "definitions"
            );
            is_reference || refers(member)
        }),
        Kind::Array => value.items().any(refers),
        _ => false,
    }
}
