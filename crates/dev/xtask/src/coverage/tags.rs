//! Where tests name the requirements they prove.
//!
//! In Rust a doc comment `/// Requirements: HTTP-03, HTTP-36.` stands directly above a test; anywhere else it would
//! prove nothing and is a fault. In the scripts under `interop/` a comment line does. Only `coverage` calls it.

use std::path::Path;

use crate::failure::Failure;
use crate::tree;

/// One id named by one test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// The requirement.
    pub(super) id: String,
    /// File and line.
    pub(super) place: String,
}

const WORD: &str = "Requirements:";

/// Reads all tests; the second part holds tags that stand at no test.
pub(super) fn read() -> Result<(Vec<Tag>, Vec<String>), Failure> {
    let mut tags = Vec::new();
    let mut faults = Vec::new();
    for path in tree::files()? {
        let rust = path.starts_with("crates") && path.extension().is_some_and(|extension| extension == "rs");
        let script = path.starts_with("interop")
            && path.extension().is_some_and(|extension| extension == "mjs" || extension == "py");
        if rust || script {
            collect(&path, &tree::read(&path)?, rust, &mut tags, &mut faults);
        }
    }
    Ok((tags, faults))
}

fn collect(path: &Path, text: &str, rust: bool, tags: &mut Vec<Tag>, faults: &mut Vec<String>) {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let markers: &[&str] = if rust { &["///"] } else { &["//", "#", "*"] };
    let comment = |line: &str| {
        markers.iter().find_map(|marker| line.strip_prefix(marker)).map(str::trim).map(str::to_owned)
    };
    for (at, line) in lines.iter().enumerate() {
        let Some(first) = comment(line).and_then(|body| body.strip_prefix(WORD).map(str::to_owned)) else {
            continue;
        };
        let place = format!("{}:{}", path.display(), at.saturating_add(1));
        let mut list = first;
        // A list that ends in a comma goes on in the next line.
        let mut next = at.saturating_add(1);
        while list.trim_end().ends_with(',') {
            let Some(more) = lines.get(next).and_then(|line| comment(line)) else { break };
            list.push_str(&more);
            next = next.saturating_add(1);
        }
        if rust && !stands_above_a_test(lines.get(next..).unwrap_or_default()) {
            faults.push(format!("{place}: requirements are named above something that is not a test"));
            continue;
        }
        let ids = list.trim().trim_end_matches('.').split(',').map(str::trim).filter(|id| !id.is_empty());
        tags.extend(ids.map(|id| Tag { id: id.to_owned(), place: place.clone() }));
    }
}

/// Up to the function there are only comments and attributes, one of which makes it a test.
fn stands_above_a_test(lines: &[&str]) -> bool {
    let head = lines.iter().take_while(|line| !line.contains("fn ") && !line.ends_with('}'));
    let mut test = false;
    for line in head {
        test |= line.starts_with("#[") && line.contains("test");
    }
    test
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::collect;

    fn ids(text: &str, rust: bool) -> (Vec<String>, usize) {
        let (mut tags, mut faults) = (Vec::new(), Vec::new());
        collect(Path::new("a.rs"), text, rust, &mut tags, &mut faults);
        (tags.into_iter().map(|tag| tag.id).collect(), faults.len())
    }

    #[test]
    fn ids_above_a_test_are_taken() {
        let text = concat!(
            "/// Says so.\n/// Require",
            "ments: A-1, B-2,\n/// C-3.\n#[tokio::test]\nasync fn x() {}\n"
        );
        assert_eq!(ids(text, true), (vec!["A-1".to_owned(), "B-2".to_owned(), "C-3".to_owned()], 0));
    }

    #[test]
    fn ids_above_an_ordinary_function_are_a_fault() {
        let text = concat!("/// Require", "ments: A-1.\nfn x() {}\n#[test]\nfn y() {}\n");
        assert_eq!(ids(text, true), (vec![], 1));
    }

    #[test]
    fn scripts_name_ids_in_comments() {
        assert_eq!(ids(concat!("# Require", "ments: A-1\n"), false), (vec!["A-1".to_owned()], 0));
    }
}
