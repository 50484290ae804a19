//! Where in a token its parts are: paths of claims, as the operator writes them.
//!
//! It reads no token and judges none; the part that takes a principal out of claims walks these paths.

use callgate_protocol::json::Value;

/// Where in a token its parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claims {
    /// Who it speaks for. Default: `sub`.
    pub subject: ClaimPath,
    /// On whose data. Default: `tenant`.
    pub tenant: ClaimPath,
    /// Groups or roles: an array, or one. Default: `groups`.
    pub groups: ClaimPath,
    /// Scopes: an array, or words with spaces between. Default: `scope`, and `scp` where that is missing.
    pub scopes: Option<ClaimPath>,
    /// What it was issued for. Default: `purpose`.
    pub purpose: ClaimPath,
    /// The program that acts. Default: `client_id`, and `azp` where that is missing.
    pub client: Option<ClaimPath>,
}

impl Default for Claims {
    fn default() -> Self {
        Self {
            subject: ClaimPath::name("sub"),
            tenant: ClaimPath::name("tenant"),
            groups: ClaimPath::name("groups"),
            scopes: None,
            purpose: ClaimPath::name("purpose"),
            client: None,
        }
    }
}

/// A place in the claims of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath {
    text: String,
    names: Vec<String>,
}

impl ClaimPath {
    /// Reads `name`, `outer.inner`, or a JSON Pointer such as `/outer/inner`. A name that is a URL stands for
    /// itself, dots and all, because that is how private claims are named.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let names: Vec<String> = if let Some(pointer) = text.strip_prefix('/') {
            pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
        } else if text.contains('/') {
            vec![text.to_owned()]
        } else {
            text.split('.').map(str::to_owned).collect()
        };
        let is_usable = names.len() <= 8 && names.iter().all(|name| !name.is_empty());
        is_usable.then(|| Self { text: text.to_owned(), names })
    }

    pub(in crate::oauth) fn name(name: &str) -> Self {
        Self { text: name.to_owned(), names: vec![name.to_owned()] }
    }

    /// How it was written.
    pub(in crate::oauth) fn as_str(&self) -> &str {
        &self.text
    }

    /// What is there.
    pub(in crate::oauth) fn find<'d>(&self, claims: Value<'d>) -> Option<Value<'d>> {
        let found = claims.path(self.names.iter().map(String::as_str))?;
        (!found.is_null()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::ClaimPath;

    #[test]
    fn paths_of_claims_are_names_dots_pointers_and_urls() {
        let claims = r#"{"a":{"b":"1","c.d":"2","e/f":"3"},"https://x.example/t":"4","n":null}"#;
        let claims = Document::parse(claims, &Limits::DEFAULT).unwrap();
        let find = |path: &str| {
            let found = ClaimPath::parse(path).unwrap().find(claims.root())?;
            found.as_str().map(|text| text.into_owned())
        };
        assert_eq!(find("a.b").as_deref(), Some("1"));
        assert_eq!(find("/a/b").as_deref(), Some("1"));
        assert_eq!(find("/a/c.d").as_deref(), Some("2"));
        assert_eq!(find("/a/e~1f").as_deref(), Some("3"));
        assert_eq!(find("https://x.example/t").as_deref(), Some("4"));
        assert_eq!(find("n"), None);
        assert_eq!(find("a.x"), None);
        for path in ["", ".", "a.", "/", "//"] {
            assert_eq!(ClaimPath::parse(path), None, "{path:?}");
        }
    }
}
