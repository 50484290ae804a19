//! Scopes that stand for others.
//!
//! "Servers MUST … honour scope hierarchies": a broader scope gives what the narrower ones give. The
//! hierarchy is followed to its end once, when it is read; a circle ends where it began.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#step-up-authorization-flow>

use std::collections::{BTreeMap, BTreeSet};

/// What each scope gives besides itself.
#[derive(Clone, Debug, Default)]
pub struct Hierarchy(BTreeMap<Box<str>, Vec<Box<str>>>);

impl Hierarchy {
    /// Follows the implications to their end.
    #[must_use]
    pub fn new(implies: &BTreeMap<String, Vec<String>>) -> Self {
        let closed = implies.keys().map(|scope| {
            let mut reached = BTreeSet::new();
            let mut open = vec![scope.as_str()];
            while let Some(next) = open.pop() {
                for narrower in implies.get(next).into_iter().flatten() {
                    if narrower != scope && reached.insert(narrower.as_str()) {
                        open.push(narrower);
                    }
                }
            }
            (scope.as_str().into(), reached.into_iter().map(Into::into).collect())
        });
        Self(closed.collect())
    }

    /// The granted scopes with all that they imply, each once.
    #[must_use]
    pub fn expand(&self, granted: Vec<Box<str>>) -> Vec<Box<str>> {
        if self.0.is_empty() {
            return granted;
        }
        let mut all: Vec<Box<str>> = Vec::with_capacity(granted.len());
        for scope in granted {
            for implied in self.0.get(&scope).into_iter().flatten() {
                if !all.contains(implied) {
                    all.push(implied.clone());
                }
            }
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Hierarchy;

    /// Requirements: AUTH-RS-17
    #[test]
    fn a_broader_scope_implies_the_narrower_ones_to_the_end() {
        let implies = BTreeMap::from([
            ("all".to_owned(), vec!["invoices".to_owned(), "reports".to_owned()]),
            ("invoices".to_owned(), vec!["invoices:read".to_owned()]),
            ("invoices:read".to_owned(), vec!["all".to_owned()]),
        ]);
        let expand = |scope: &str| {
            let mut scopes = Hierarchy::new(&implies).expand(vec![scope.into()]);
            scopes.sort();
            scopes.join(" ")
        };
        assert_eq!(expand("all"), "all invoices invoices:read reports");
        assert_eq!(expand("invoices"), "all invoices invoices:read reports", "a circle ends");
        assert_eq!(expand("other"), "other");
        assert_eq!(expand("reports"), "reports", "a narrower one does not imply a broader one");
    }
}
