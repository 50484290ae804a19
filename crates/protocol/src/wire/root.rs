//! Roots: directories that the client works on.

use super::raw::RawJson;

wire_struct! {
    /// A root.
    pub struct Root {
        required {
            /// Where it is: a `file:` URI.
            uri: String = "uri",
        }
        optional {
            /// The name for people.
            name: String = "name",
            /// Metadata, as text; since 2025-06-18.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The result of `roots/list`.
    pub struct ListRootsResult {
        required {
            /// The roots.
            roots: Vec<Root> = "roots",
        }
        optional {
            /// Metadata, as text; up to 2025-11-25.
            meta: RawJson = "_meta",
        }
    }
}
