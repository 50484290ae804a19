//! The reading side of a file.
//!
//! It never writes, and holds no transaction between two questions, because the log beside the file grows
//! as long as anybody reads. The command line is the caller.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::super::chain::Link;
use super::super::read::{self, Bound, Failure, Filter, Reader, Row, StoreHead};
use super::super::schema::{Dialect, VERSION};
use super::{digest, row};

/// The reading side of a file. It never writes.
#[derive(Debug)]
pub struct SqliteReader {
    connection: Connection,
    path: PathBuf,
}

impl SqliteReader {
    /// Opens a file that is there.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Failure> {
        let path = path.into();
        if !path.exists() {
            return Err(Failure::Unreachable(format!(
                "there is no audit trail at {}; a server makes it when it starts",
                path.display()
            )));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            connection.pragma_update(None, "query_only", true)?;
            connection.pragma_update(None, "trusted_schema", false)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| unreadable(&error, &path))?;
        Ok(Self { connection, path })
    }

    fn rows(&self, (text, bound): (String, Vec<Bound>)) -> Result<Vec<Row>, Failure> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&text)?;
            let mut rows = statement.query(rusqlite::params_from_iter(bound))?;
            let mut out = Vec::new();
            while let Some(found) = rows.next()? {
                out.push(row(found)?);
            }
            Ok(out)
        };
        read().map_err(|error| unreadable(&error, &self.path))
    }
}

impl Reader for SqliteReader {
    fn hold(&mut self) -> Result<(), Failure> {
        self.connection.execute_batch("begin").map_err(|error| unreadable(&error, &self.path))
    }

    fn release(&mut self) {
        // It ends with the connection at the latest.
        drop(self.connection.execute_batch("rollback"));
    }

    fn head(&mut self) -> Result<StoreHead, Failure> {
        let read = || {
            self.connection.query_row("select id, version, seq, hash from callgate_audit_store", [], |row| {
                let end = Link { seq: row.get(2)?, hash: digest(row.get_ref(3)?)? };
                Ok((StoreHead { id: row.get(0)?, end }, row.get::<_, i64>(1)?))
            })
        };
        let (head, version) = read().map_err(|error| unreadable(&error, &self.path))?;
        if version == VERSION {
            return Ok(head);
        }
        Err(Failure::Damaged(format!("the tables have version {version}, and this program reads {VERSION}")))
    }

    fn newest(&mut self, filter: &Filter, limit: u32) -> Result<Vec<Row>, Failure> {
        self.rows(filter.newest(limit, Dialect::Sqlite))
    }

    fn after(&mut self, seq: i64, filter: &Filter, limit: u32) -> Result<Vec<Row>, Failure> {
        self.rows(filter.after(seq, limit, Dialect::Sqlite))
    }

    fn checkpoint(&mut self) -> Result<Option<Row>, Failure> {
        self.rows((read::last_checkpoint(), Vec::new())).map(|rows| rows.into_iter().next())
    }

    fn integrity(&mut self) -> Result<Vec<String>, Failure> {
        let read = || {
            let mut statement = self.connection.prepare("pragma integrity_check(20)")?;
            let mut rows = statement.query([])?;
            let mut notes = Vec::new();
            while let Some(row) = rows.next()? {
                notes.extend(row.get::<_, String>(0)?.lines().map(str::to_owned));
            }
            notes.retain(|note| note != "ok");
            Ok(notes)
        };
        read().map_err(|error| unreadable(&error, &self.path))
    }
}

/// What went wrong with a file that is read.
fn unreadable(error: &rusqlite::Error, path: &Path) -> Failure {
    use rusqlite::ErrorCode as Code;
    let message = format!("{}: {error}", path.display());
    match error.sqlite_error_code() {
        Some(
            Code::DatabaseBusy
            | Code::DatabaseLocked
            | Code::CannotOpen
            | Code::PermissionDenied
            | Code::OutOfMemory
            | Code::ReadOnly,
        ) => Failure::Unreachable(message),
        _ => Failure::Damaged(message),
    }
}
