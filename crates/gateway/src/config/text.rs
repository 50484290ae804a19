//! Reading a text file of bounded size, and what to do when that fails.
//!
//! Nothing of the contents gets into a message but the number of one byte. The loader, the shapes and
//! the sources are the callers.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

/// Why a file is no text of this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The system does not give the file out.
    System(String),
    /// The file is larger than the bound.
    TooLarge {
        /// The bound in bytes.
        limit: usize,
    },
    /// A byte is not UTF-8.
    NotUtf8 {
        /// The byte.
        byte: u8,
        /// Where it is in the file, from 0.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
}

impl Unreadable {
    /// What to do; what the caller says where the system refused.
    pub(crate) fn remedy(&self, system: &str) -> String {
        match self {
            Self::System(_) => system.to_owned(),
            Self::TooLarge { limit } => format!("shorten it to at most {limit} bytes"),
            Self::NotUtf8 { line, .. } => {
                format!("save the file as UTF-8, or write the character in line {line} anew")
            }
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(why) => f.write_str(why),
            Self::TooLarge { limit } => write!(f, "it has more than {limit} bytes"),
            Self::NotUtf8 { byte, offset, line } => {
                write!(f, "the byte 0x{byte:02x} at offset {offset}, in line {line}, is not UTF-8")
            }
        }
    }
}

/// Reads a text file of bounded size.
pub(crate) fn read_text(path: &Path, limit: usize) -> Result<String, Unreadable> {
    let why = |error: std::io::Error| {
        Unreadable::System(match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            kind => kind.to_string(),
        })
    };
    let file = std::fs::File::open(path).map_err(why)?;
    let mut bytes = Vec::new();
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bound).read_to_end(&mut bytes).map_err(why)?;
    if bytes.len() > limit {
        return Err(Unreadable::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let before = bytes.get(..offset).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Unreadable::NotUtf8 { byte: bytes.get(offset).copied().unwrap_or_default(), offset, line }
    })
}

#[cfg(test)]
mod tests {
    use super::read_text;

    #[test]
    fn a_file_that_is_no_text_says_where_and_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.toml");
        std::fs::write(&path, b"a = 1\nb = \"caf\xe9\"\n").unwrap();
        let why = read_text(&path, 100).unwrap_err();
        assert_eq!(why.to_string(), "the byte 0xe9 at offset 14, in line 2, is not UTF-8");
        assert!(why.remedy("check the name").contains("line 2"));
        let why = read_text(&path, 10).unwrap_err();
        assert_eq!(why.to_string(), "it has more than 10 bytes");
        assert_eq!(why.remedy("check the name"), "shorten it to at most 10 bytes");
        let why = read_text(directory.path(), 10).unwrap_err();
        assert_eq!(why.remedy("check the name"), "check the name");
    }
}
