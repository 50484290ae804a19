//! Paths as words of a shell command, for commands that people are invited to paste.
//!
//! It only prints; nothing here is ever run. `init` and `demo` call it.

use std::path::Path;

/// The path as one word of a POSIX shell.
pub(crate) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::word;

    #[test]
    fn a_path_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(word(Path::new("a/b.toml")), "a/b.toml");
        assert_eq!(word(Path::new("my dir/it's")), "'my dir/it'\\''s'");
    }
}
