//! The bounds of one call on a repository.

/// How much one call may do.
///
/// # Defaults
/// | bound | default | why |
/// | --- | --- | --- |
/// | `file_bytes` | 1 MiB | source files are smaller; each is held in memory while it is searched |
/// | `files` | 20,000 | a page of a search takes seconds at most |
/// | `scan_bytes` | 256 MiB | the same |
/// | `entries` | 500,000 | names cost time also when their files are not opened |
/// | `folder_entries` | 50,000 | the names of one folder are sorted in memory |
/// | `depth` | 64 | each level holds a directory open |
/// | `path_bytes` | 1,024 | a model has to repeat it |
/// | `rules_bytes` | 64 KiB | rules are compiled, and nobody writes so many |
/// | `pattern_bytes` | 1,024 | longer patterns are data, not questions |
/// | `program_bytes` | 512 KiB | the time for each byte of text grows with the compiled pattern |
/// | `line_bytes` | 256 KiB | matching one line is not interrupted |
/// | `step_bytes` | 2 GiB | a compiled pattern of 8 KiB meets lines of 256 KiB, one of 512 KiB lines of 4 KiB |
/// | `text_bytes` | 400 | of one line in a result of a search |
/// | `context` | 5 | lines before and after |
/// | `git_bytes` | 8 MiB | the file of packed references of a large repository |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one file; a larger one is neither searched nor read.
    pub file_bytes: usize,
    /// Files that one search opens.
    pub files: usize,
    /// Bytes that one search reads.
    pub scan_bytes: u64,
    /// Names that one search looks at.
    pub entries: usize,
    /// Names in one folder; a larger folder is not entered.
    pub folder_entries: usize,
    /// Levels of folders; what is deeper is not entered.
    pub depth: usize,
    /// Bytes of a path; a file with a longer one is not shown.
    pub path_bytes: usize,
    /// Bytes of one file with rules; a folder with a larger one is not entered.
    pub rules_bytes: usize,
    /// Bytes of a pattern and of a filter of paths.
    pub pattern_bytes: usize,
    /// Bytes of a compiled pattern.
    pub program_bytes: usize,
    /// Bytes of one line; the rest of a file with a longer one is not searched.
    pub line_bytes: usize,
    /// Bytes of a compiled pattern times those of a line: the worst cost of the one step that is not interrupted.
    /// It makes the longest line shorter for a larger pattern.
    pub step_bytes: usize,
    /// Bytes of one line in a result of a search.
    pub text_bytes: usize,
    /// Lines before and after a match.
    pub context: usize,
    /// Bytes of a file of git.
    pub git_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1 << 20,
            files: 20_000,
            scan_bytes: 256 << 20,
            entries: 500_000,
            folder_entries: 50_000,
            depth: 64,
            path_bytes: 1024,
            rules_bytes: 64 << 10,
            pattern_bytes: 1024,
            program_bytes: 512 << 10,
            line_bytes: 256 << 10,
            step_bytes: 2 << 30,
            text_bytes: 400,
            context: 5,
            git_bytes: 8 << 20,
        }
    }
}
