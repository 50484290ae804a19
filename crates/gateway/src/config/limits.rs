//! The bounds of loading a configuration.
//!
//! Nothing here limits a call; those limits are in the configuration itself. The loader reads them.

/// How much a configuration may hold.
///
/// # Defaults
/// | bound | default | why |
/// | --- | --- | --- |
/// | `file_bytes` | 1 MiB | a file that people review is far smaller |
/// | `schema_file_bytes` | 256 KiB | a schema goes to the model, which pays for each byte |
/// | `sql_bytes` | 64 KiB | longer statements belong into a view |
/// | `tools` | 1,000 | models choose badly long before |
/// | `sources` | 64 | each has a connection pool |
/// | `columns` | 500 | PostgreSQL allows 1,664 and SQLite 2,000 |
/// | `parameters` | 200 | each is a property that a model must fill in |
/// | `policy_files` | 100 | several policies fit into one file |
/// | `policy_file_bytes` | 256 KiB | a file that people review is far smaller |
/// | `findings` | 200 | nobody reads more at once |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of `callgate.toml`.
    pub file_bytes: usize,
    /// Bytes of one `.json` schema file.
    pub schema_file_bytes: usize,
    /// Bytes of one SQL statement.
    pub sql_bytes: usize,
    /// Files of policies that one pattern may match.
    pub policy_files: usize,
    /// Bytes of one file of policies.
    pub policy_file_bytes: usize,
    /// Tools in one file.
    pub tools: usize,
    /// Sources in one file.
    pub sources: usize,
    /// Columns that one query gives.
    pub columns: usize,
    /// Parameters of one query.
    pub parameters: usize,
    /// Findings that one report holds; a last one says how many were left out.
    pub findings: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            schema_file_bytes: 256 * 1024,
            sql_bytes: 64 * 1024,
            policy_files: 100,
            policy_file_bytes: 256 << 10,
            tools: 1000,
            sources: 64,
            columns: 500,
            parameters: 200,
            findings: 200,
        }
    }
}
