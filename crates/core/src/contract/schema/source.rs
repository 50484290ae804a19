//! The documents that a schema is made of: its own text and the meta-schemas it refers to.
//!
//! It must never hold anything that was not given to the compiler or compiled into this crate.
//! The compiler and the evaluator read schema values through it.

use std::sync::LazyLock;

use callgate_protocol::json::{Document, Kind, Limits, Value};

/// A value in one of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Zero is the schema itself, the others are meta-schemas.
    pub(super) document: u16,
    pub(super) position: u32,
}

/// The schema's own document; the meta-schemas are shared by all.
pub(super) struct Sources {
    own: Document,
}

impl Sources {
    pub(super) fn new(own: Document) -> Self {
        Self { own }
    }

    pub(super) fn own(&self) -> &Document {
        &self.own
    }

    pub(super) fn document(&self, document: u16) -> &Document {
        match document.checked_sub(1).and_then(|at| META.get(usize::from(at))) {
            Some(meta) => meta,
            None => &self.own,
        }
    }

    pub(super) fn value(&self, place: Place) -> Value<'_> {
        self.document(place.document).at(place.position)
    }

    /// The JSON pointer of a place; that of a meta-schema is preceded by its identifier.
    pub(super) fn pointer(&self, place: Place) -> String {
        let pointer = pointer(self.document(place.document).root(), place.position);
        match place.document.checked_sub(1).and_then(|at| META_NAMES.get(usize::from(at))) {
            Some((uri, _)) => format!("{uri}#{pointer}"),
            None => pointer,
        }
    }
}

/// The meta-schema document of that identifier.
pub(super) fn meta(uri: &str) -> Option<u16> {
    META_NAMES.iter().position(|(name, _)| *name == uri).and_then(|at| u16::try_from(at + 1).ok())
}

/// How many meta-schema documents there are.
pub(super) const META_COUNT: usize = META_NAMES.len();

const META_NAMES: [(&str, &str); 10] = [
    ("https://json-schema.org/draft/2020-12/schema", include_str!("meta/draft-2020-12.json")),
    ("https://json-schema.org/draft/2020-12/meta/core", include_str!("meta/draft-2020-12-core.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/applicator",
        include_str!("meta/draft-2020-12-applicator.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/unevaluated",
        include_str!("meta/draft-2020-12-unevaluated.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/validation",
        include_str!("meta/draft-2020-12-validation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/meta-data",
        include_str!("meta/draft-2020-12-meta-data.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-annotation",
        include_str!("meta/draft-2020-12-format-annotation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-assertion",
        include_str!("meta/draft-2020-12-format-assertion.json"),
    ),
    ("https://json-schema.org/draft/2020-12/meta/content", include_str!("meta/draft-2020-12-content.json")),
    ("http://json-schema.org/draft-07/schema", include_str!("meta/draft-07.json")),
];

#[expect(clippy::expect_used, reason = "the texts are compiled in and a test parses each of them")]
static META: LazyLock<[Document; META_COUNT]> = LazyLock::new(|| {
    META_NAMES.map(|(_, text)| Document::parse(text, &Limits::DEFAULT).expect("meta-schemas are JSON"))
});

/// The RFC 6901 pointer from `root` to the value, or to the member name, at `position` in it.
pub(super) fn pointer(root: Value<'_>, position: u32) -> String {
    let mut pointer = String::new();
    let mut value = root;
    while value.position() < position {
        match value.kind() {
            Kind::Array => {
                let holds = |(_, item): &(usize, Value<'_>)| item.position() <= position;
                let Some((index, item)) = value.items().enumerate().take_while(holds).last() else { break };
                pointer.push('/');
                pointer.push_str(&index.to_string());
                value = item;
            }
            Kind::Object => {
                let holds = |(name, _): &(Value<'_>, Value<'_>)| name.position() <= position;
                let Some((name, member)) = value.members().take_while(holds).last() else { break };
                pointer.push('/');
                push_token(&mut pointer, &name.as_str().unwrap_or_default());
                if name.position() == position {
                    break;
                }
                value = member;
            }
            _ => break,
        }
    }
    pointer
}

/// Appends a member name to a pointer, escaped.
pub(super) fn push_token(pointer: &mut String, name: &str) {
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::{META, META_NAMES, meta, pointer};

    #[test]
    fn every_meta_schema_parses_and_bears_its_name() {
        for ((uri, _), document) in META_NAMES.iter().zip(META.iter()) {
            let id = document.root().get("$id").and_then(|id| id.as_str()).unwrap();
            assert_eq!(id.trim_end_matches('#'), *uri);
            assert!(meta(uri).is_some());
        }
    }

    #[test]
    fn a_pointer_leads_back_to_its_value() {
        let document = Document::parse(r#"{"a":[0,{"b/c~":[[],"x"]}],"":1}"#, &Limits::DEFAULT).unwrap();
        let root = document.root();
        let inner = root.get("a").unwrap().items().nth(1).unwrap();
        let deep = inner.get("b/c~").unwrap().items().nth(1).unwrap();
        assert_eq!(pointer(root, deep.position()), "/a/1/b~1c~0/1");
        assert_eq!(pointer(inner, deep.position()), "/b~1c~0/1");
        assert_eq!(pointer(root, root.get("").unwrap().position()), "/");
        assert_eq!(pointer(root, 0), "");
        let name = root.members().next().unwrap().0;
        assert_eq!(pointer(root, name.position()), "/a");
    }
}
