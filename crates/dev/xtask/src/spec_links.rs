//! `cargo xtask spec-links`: links into the specification lead to a page of a dated revision, and to an anchor on it.
//!
//! A comment that quotes a sentence of the specification links it, so that a reader can check; a link to `latest` or
//! `draft` changes under the reader. Pages and anchors are listed in `vectors/requirements/pages.txt`, so no network is
//! needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::failure::Failure;
use crate::tree;

const PAGES: &str = "vectors/requirements/pages.txt";
const START: &str = "https://modelcontextprotocol.io/specification/";

/// Anchors of each page, the page with its revision, as in `2026-07-28/server/tools`.
type Pages = BTreeMap<String, BTreeSet<String>>;

/// Follows every link in sources and documents.
pub(crate) fn check() -> Result<(), Failure> {
    let pages = pages(&tree::read(Path::new(PAGES))?);
    let mut dead = 0_usize;
    for path in tree::files()? {
        let checked = path.extension().is_some_and(|extension| extension == "rs" || extension == "md");
        if !checked || path.starts_with("vectors") {
            continue;
        }
        for (index, line) in tree::read(&path)?.lines().enumerate() {
            for link in links(line) {
                if let Some(reason) = fault(&pages, link) {
                    dead = dead.saturating_add(1);
                    println!("{}:{}: {link}: {reason}", path.display(), index.saturating_add(1));
                }
            }
        }
    }
    if dead == 0 {
        Ok(())
    } else {
        Err(Failure::new(format!("{dead} links into the specification lead nowhere")))
    }
}

fn pages(text: &str) -> Pages {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?, words.collect()))
        })
        .collect()
}

/// What follows the common start of each link in a line.
fn links(line: &str) -> Vec<&str> {
    let mut links = Vec::new();
    for (at, _) in line.match_indices(START) {
        let rest = line.get(at..).and_then(|tail| tail.strip_prefix(START)).unwrap_or_default();
        let end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_/#.{}".contains(c)).unwrap_or(rest.len());
        links.push(rest.get(..end).unwrap_or(rest).trim_end_matches('.'));
    }
    links
}

fn fault(pages: &Pages, link: &str) -> Option<String> {
    // A link that a program completes is not a link yet.
    if link.is_empty() || link.contains('{') {
        return None;
    }
    let (page, anchor) = link.split_once('#').map_or((link, None), |(page, anchor)| (page, Some(anchor)));
    let page = page.trim_end_matches('/');
    let Some(anchors) = pages.get(page) else {
        let revision = page.split('/').next().unwrap_or_default();
        let known = pages.keys().any(|known| known.split('/').next() == Some(revision));
        return Some(if known {
            "no such page".to_owned()
        } else {
            format!("`{revision}` is no dated revision")
        });
    };
    let anchor = anchor?;
    (!anchors.contains(anchor)).then(|| format!("no such anchor; the page has {}", join(anchors)))
}

fn join(anchors: &BTreeSet<String>) -> String {
    anchors.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Pages, fault, links, pages};

    fn known() -> Pages {
        pages("# comment\n2026-07-28/server/tools tool tool-names\n2026-07-28\n")
    }

    #[test]
    fn links_end_where_the_address_ends() {
        let line = "see <https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool>.";
        assert_eq!(links(line), ["2026-07-28/server/tools#tool"]);
    }

    #[test]
    fn a_page_an_anchor_and_a_revision_must_exist() {
        assert_eq!(fault(&known(), "2026-07-28/server/tools#tool"), None);
        assert_eq!(fault(&known(), "2026-07-28/server/tools/"), None);
        assert!(
            fault(&known(), "2026-07-28/server/tools#tols")
                .is_some_and(|reason| reason.contains("tool-names"))
        );
        assert!(fault(&known(), "2026-07-28/server/toys").is_some());
        assert!(fault(&known(), "draft/server/tools").is_some_and(|reason| reason.contains("draft")));
    }
}
