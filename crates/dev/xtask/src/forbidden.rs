//! `cargo xtask forbidden`: words that must not reach the repository.
//!
//! Paths of somebody's machine, hosts of package registries (a mirror must do), and work left undone without an
//! issue. It reads text files that git would commit. The needles are spelled in two parts so that this file passes.

use std::path::Path;

use crate::failure::Failure;
use crate::tree;

/// A reason and the texts that are refused for it.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "a path of one machine",
        &[concat!("/wo", "rk/"), concat!("/tmp/", "wt"), concat!("/ro", "ot/"), concat!("/ho", "me/")],
    ),
    (
        "a host of a package registry",
        &[
            concat!("registry.npm", "js.org"),
            concat!("py", "pi.org"),
            concat!("python", "hosted.org"),
            concat!("static.crates", ".io"),
            concat!("index.crates", ".io"),
            concat!("deb.debian", ".org"),
        ],
    ),
];

/// Refused in source files only.
const UNFINISHED: &[&str] = &[concat!("to", "do!("), concat!("unimplemen", "ted!(")];

const REMINDER: &str = concat!("TO", "DO");

/// Files written by others, where a path or a reminder is part of the material.
const FOREIGN: &[&str] = &["vectors/", "fuzz/corpus/", "LICENSE"];

/// Reads every text file for refused words.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = 0_usize;
    for path in tree::files()? {
        if FOREIGN.iter().any(|prefix| path.starts_with(prefix.trim_end_matches('/'))) {
            continue;
        }
        // Files that are not text hold no words.
        let Ok(text) = tree::read(&path) else { continue };
        for (index, line) in text.lines().enumerate() {
            if let Some(reason) = refusal(&path, line) {
                found = found.saturating_add(1);
                println!("{}:{}: {reason}", path.display(), index.saturating_add(1));
            }
        }
    }
    if found == 0 {
        Ok(())
    } else {
        Err(Failure::new(format!("{found} lines hold words that must not be committed")))
    }
}

fn refusal(path: &Path, line: &str) -> Option<String> {
    for (reason, needles) in REFUSED {
        if let Some(needle) = needles.iter().find(|needle| contains_path(line, needle)) {
            return Some(format!("{reason} (`{needle}`)"));
        }
    }
    let source =
        path.extension().is_some_and(|extension| ["rs", "mjs", "py", "sh"].iter().any(|s| extension == *s));
    if !source {
        return None;
    }
    if let Some(needle) = UNFINISHED.iter().find(|needle| line.contains(*needle)) {
        return Some(format!("unfinished (`{needle}`)"));
    }
    reminder_without_issue(line)
        .then(|| format!("`{REMINDER}` without an issue number: write `{REMINDER}(#12)`"))
}

/// A needle that is a path must start one: `/docs/home/` is no machine's.
fn contains_path(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !needle.starts_with('/')
            || !before.is_some_and(|c| c.is_ascii_alphanumeric() || "._-$}/>".contains(c))
    })
}

fn reminder_without_issue(line: &str) -> bool {
    line.match_indices(REMINDER).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let after = line.get(at..).and_then(|tail| tail.strip_prefix(REMINDER)).unwrap_or_default();
        let word = !before.is_some_and(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        let number = after.strip_prefix("(#").and_then(|rest| rest.split_once(')')).map(|(number, _)| number);
        word && !number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::refusal;

    fn refused(line: &str) -> bool {
        refusal(Path::new("a.rs"), line).is_some()
    }

    #[test]
    fn paths_hosts_and_unfinished_work_are_refused() {
        assert!(refused(concat!("open(\"/ro", "ot/.x\")")));
        assert!(refused(concat!("open(\"/ro", "ot/x\")")));
        assert!(refused(concat!("\"https://registry.npm", "js.org/x\"")));
        assert!(refused(concat!("    to", "do!()")));
        assert!(refused(concat!("// TO", "DO: later")));
        assert!(refused(concat!("// TO", "DO(#): later")));
    }

    #[test]
    fn a_reminder_with_its_issue_and_ordinary_words_pass() {
        assert!(!refused(concat!("// TO", "DO(#12): later")));
        assert!(!refused("https://example.com/home/page"));
        assert!(!refused("a root/leaf pair"));
        assert!(!refused(concat!("MASTO", "DON")));
    }
}
