//! The documents that a schema is made of: its own text, what was given with it, and the meta-schemas.
//!
//! It must never hold anything that was not given to the compiler or compiled into this crate.
//! The compiler and the evaluator read schema values through it.

use std::sync::LazyLock;

use callgate_protocol::json::{Document, Entry, Kind, Limits, Part, Value, push_integer};

/// A value in one of the documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Zero is the schema itself; then come the meta-schemas, then the documents given with it.
    pub(super) document: u16,
    pub(super) position: u32,
}

/// The schema's own document and those given with it; the meta-schemas are shared by all.
pub(super) struct Sources {
    own: Document,
    /// Further documents, by the identifiers under which they were given.
    given: Vec<(String, Document)>,
}

impl Sources {
    pub(super) fn new(own: Document, given: Vec<(String, Document)>) -> Self {
        Self { own, given }
    }

    /// How many documents there are.
    pub(super) fn count(&self) -> usize {
        1 + META_COUNT + self.given.len()
    }

    /// The document of that identifier: one that was given, or a meta-schema.
    pub(super) fn find(&self, uri: &str) -> Option<u16> {
        let meta = META_NAMES.iter().position(|(name, _)| *name == uri);
        let given = || self.given.iter().position(|(name, _)| name == uri).map(|at| at + META_COUNT);
        meta.or_else(given).and_then(|at| u16::try_from(at + 1).ok())
    }

    pub(super) fn own(&self) -> &Document {
        &self.own
    }

    pub(super) fn document(&self, document: u16) -> &Document {
        let Some(at) = usize::from(document).checked_sub(1) else { return &self.own };
        let given = || at.checked_sub(META_COUNT).and_then(|at| self.given.get(at)).map(|(_, given)| given);
        META.get(at).or_else(given).unwrap_or(&self.own)
    }

    pub(super) fn value(&self, place: Place) -> Value<'_> {
        self.document(place.document).at(place.position)
    }

    /// The identifier of a document other than the schema's own.
    pub(super) fn uri(&self, document: u16) -> Option<&str> {
        let at = usize::from(document).checked_sub(1)?;
        let given =
            || at.checked_sub(META_COUNT).and_then(|at| self.given.get(at)).map(|(uri, _)| uri.as_str());
        META_NAMES.get(at).map(|(uri, _)| *uri).or_else(given)
    }

    /// The JSON pointer of a place; that of another document is preceded by its identifier.
    pub(super) fn pointer(&self, place: Place) -> String {
        let mut pointer = String::new();
        self.push_pointer(&mut pointer, place);
        pointer
    }

    /// Appends what [`Sources::pointer`] gives.
    pub(super) fn push_pointer(&self, pointer: &mut String, place: Place) {
        if let Some(uri) = self.uri(place.document) {
            pointer.push_str(uri);
            pointer.push('#');
        }
        push_pointer(pointer, self.document(place.document).root(), place.position);
    }
}

/// How many meta-schema documents there are.
const META_COUNT: usize = META_NAMES.len();

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
    if position <= root.position() {
        return String::new();
    }
    let mut pointer = String::with_capacity(POINTER_BYTES);
    push_pointer(&mut pointer, root, position);
    pointer
}

/// Space for a pointer; most need no more.
pub(super) const POINTER_BYTES: usize = 64;

fn push_pointer(pointer: &mut String, root: Value<'_>, position: u32) {
    let mut value = root;
    while value.position() < position {
        match value.kind() {
            Kind::Array => {
                let holds = |(_, item): &(usize, Part<'_>)| item.position() <= position;
                let Some((index, item)) = value.parts().enumerate().take_while(holds).last() else { break };
                pointer.push('/');
                push_integer(pointer, index);
                value = item.value();
            }
            Kind::Object => {
                let holds = |entry: &Entry<'_>| entry.name.position() <= position;
                let Some(entry) = value.entries().take_while(holds).last() else { break };
                pointer.push('/');
                push_token(pointer, &entry.name.value().as_str().unwrap_or_default());
                if entry.name.position() == position {
                    break;
                }
                value = entry.value.value();
            }
            _ => break,
        }
    }
}

/// Appends a member name to a pointer, escaped.
pub(super) fn push_token(pointer: &mut String, name: &str) {
    let mut rest = name;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'~' | b'/')) {
        let (plain, special) = rest.split_at(at);
        pointer.push_str(plain);
        pointer.push_str(if special.starts_with('~') { "~0" } else { "~1" });
        rest = special.get(1..).unwrap_or_default();
    }
    pointer.push_str(rest);
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::{META, META_NAMES, Sources, pointer};

    #[test]
    fn every_meta_schema_parses_and_bears_its_name() {
        for ((uri, _), document) in META_NAMES.iter().zip(META.iter()) {
            let id = document.root().get("$id").and_then(|id| id.as_str()).unwrap();
            assert_eq!(id.trim_end_matches('#'), *uri);
            let own = Document::parse("{}", &Limits::DEFAULT).unwrap();
            assert!(Sources::new(own, Vec::new()).find(uri).is_some());
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
