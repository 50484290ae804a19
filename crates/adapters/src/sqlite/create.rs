//! Makes a new SQLite file from a script, for examples and demonstrations.
//!
//! It never touches a file that exists; the source itself never writes. The command line calls it.

use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Creates a database file and runs a script in one transaction.
///
/// # Errors
/// The file exists, or cannot be written, or the script is wrong; then no file is left behind.
pub fn create(path: &Path, script: &str) -> io::Result<()> {
    // Reserves the name, so that two processes cannot fill one file.
    std::fs::File::create_new(path)?;
    let result = fill(path, script);
    if result.is_err() {
        // The file is ours and half made; a failure to remove it changes nothing about the error.
        let _ = std::fs::remove_file(path);
    }
    result.map_err(io::Error::other)
}

fn fill(path: &Path, script: &str) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch(&format!("begin;\n{script}\ncommit;"))?;
    connection.close().map_err(|(_, error)| error)
}

#[cfg(test)]
mod tests {
    use super::create;

    #[test]
    fn a_file_is_made_once_and_a_wrong_script_leaves_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.db");
        assert!(create(&path, "create table t (n); insert into nothing values (1);").is_err());
        assert!(!path.exists());
        create(&path, "create table t (n); insert into t values (9007199254740993);").unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        let n: i64 = connection.query_row("select n from t", [], |row| row.get(0)).unwrap();
        assert_eq!(n, 9_007_199_254_740_993);
        assert_eq!(create(&path, "").unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    }
}
