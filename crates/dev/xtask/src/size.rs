//! `cargo xtask size`: no source file grows past what a person reads in one sitting.
//!
//! Lines are counted without the unit tests at the file's end; files that hold only tests are exempt. Over 400 lines
//! a file is named, over 600 the check fails. It never judges content.

use std::path::Path;

use crate::failure::Failure;
use crate::tree;

const LOOK_FOR_A_SPLIT: usize = 400;
const LIMIT: usize = 600;

/// Counts the lines of every Rust file.
pub(crate) fn check() -> Result<(), Failure> {
    let mut over = 0_usize;
    for path in tree::files_ending("rs")? {
        if is_test_file(&path) {
            continue;
        }
        let lines = lines_without_tests(&tree::read(&path)?);
        if lines > LIMIT {
            over = over.saturating_add(1);
            println!("{}: {lines} lines, more than {LIMIT}; split it", path.display());
        } else if lines > LOOK_FOR_A_SPLIT {
            println!("{}: {lines} lines; look for a split", path.display());
        }
    }
    if over == 0 { Ok(()) } else { Err(Failure::new(format!("{over} files have more than {LIMIT} lines"))) }
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.file_name().is_some_and(|name| name == "tests.rs")
}

/// The lines above the unit tests, which stand last in a file.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .iter()
        .position(|line| line.trim_end() == "#[cfg(test)]")
        .filter(|at| {
            // `mod tests;` in the middle of a file is a declaration, not the tests.
            let rest = lines.iter().skip(*at).skip(1);
            rest.map(|line| line.trim())
                .find(|line| !line.starts_with('#'))
                .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
        })
        .unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::lines_without_tests;

    #[test]
    fn tests_at_the_end_do_not_count_and_a_declaration_does_not_hide_the_rest() {
        assert_eq!(lines_without_tests("a\nb\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n}\n"), 2);
        assert_eq!(lines_without_tests("a\n#[cfg(test)]\nmod tests;\nb\n"), 4);
    }
}
