//! What the fuzz targets of the SQL lexer and of credentials run, with the properties that must hold for every input.
//!
//! It must never be called by anything but fuzz targets and the tests that replay their corpora.

use crate::sql::{Dialect, Template, directions};

/// Finds the parameters of arbitrary text. What is accepted is rendered without changing anything but
/// parameters, and means the same when it is read again.
///
/// # Panics
/// When a property does not hold.
pub fn sql(bytes: &[u8]) {
    let Ok(sql) = std::str::from_utf8(bytes) else { return };
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let Ok(template) = Template::parse(sql, dialect) else { continue };
        let named = template.render_named();
        assert!(sql.starts_with(&named), "only the end is left out");
        let again = Template::parse(&named, dialect);
        assert!(
            again.is_ok_and(|again| again.parameters() == template.parameters()),
            "the parameters are the same when it is read again"
        );
        for (name, at) in template.parameters() {
            let written = sql.get(at.clone()).and_then(|text| text.strip_prefix(':'));
            assert!(written == Some(name.as_str()), "a parameter is where it is said to be");
        }
        let (numbered, offsets, _) = template.render_numbered();
        let mut last = 0;
        for at in (0..=numbered.len()).step_by(1 + numbered.len() / 64) {
            let original = offsets.original(at);
            assert!(last <= original && original <= sql.len(), "offsets never go back or out");
            last = original;
        }
        let _ = directions(sql, dialect);
    }
}

/// Reads arbitrary text as a header, a token, claims and keys.
///
/// # Panics
/// When a property does not hold.
#[cfg(feature = "oauth")]
pub fn credential(bytes: &[u8]) {
    crate::oauth::fuzzing::credential(bytes);
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "oauth")]
    #[test]
    fn credentials_hold_their_properties_over_the_corpus() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/credential");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            super::credential(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 8, "the corpus is there");
    }

    #[test]
    fn the_lexer_holds_its_properties_over_the_corpus() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/sql");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            super::sql(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 8, "the corpus is there");
    }
}
