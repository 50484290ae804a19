//! A trail in a SQLite file of its own.
//!
//! Several processes may write one file: each transaction begins by taking the write lock and reading the
//! end of the chain. A file that holds anything else is refused, and one that vanished is never made anew
//! in secret. The writer drives the store; the command line reads with the reader.

use std::path::{Path, PathBuf};

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Entropy as _, SystemEntropy};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, TransactionBehavior};

use super::body::{Body, Value};
use super::chain::{Link, Linker, checkpoint_body, checkpoint_of, genesis};
use super::column::{Column, Shape};
use super::read::{self, Bound, Failure, Filter, Reader, Row, StoreHead};
use super::schema::{Dialect, VERSION};
use super::writer::{Pruned, Store, StoreError, now_us};
use super::{Durability, Options};

mod file;

use file::FileId;

/// `CGAT`: tells what the file is.
const APPLICATION: i32 = 0x4347_4154;
/// Pages that one step of retention gives back to the file system.
const VACUUM_PAGES: u32 = 2000;

/// The writing side of a file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    open: Option<Open>,
    /// Whether the file was there: from then on it is never made again.
    known: bool,
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    id: String,
    file: Option<FileId>,
}

impl SqliteStore {
    /// A store on a file, which is made when it is opened and not there.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), open: None, known: false }
    }

    fn opened(&mut self, options: &Options) -> Result<&mut Open, StoreError> {
        // A file that was replaced or removed would otherwise be written on, where nobody looks.
        let replaced = |open: &Open| open.file.is_some() && FileId::of(&self.path) != open.file;
        if self.open.as_ref().is_some_and(replaced) {
            self.open = None;
        }
        match &mut self.open {
            Some(open) => Ok(open),
            place => {
                if self.known && !self.path.exists() {
                    return Err(StoreError::new(
                        format!("{} was removed", self.path.display()),
                        "put the file back, or restart the server to begin a new trail",
                    ));
                }
                let open = Open::new(&self.path, options)?;
                self.known = true;
                Ok(place.insert(open))
            }
        }
    }

    fn failed(&mut self, error: &rusqlite::Error) -> StoreError {
        let error = explained(error, &self.path);
        // Whatever state the connection is in, the next attempt begins with a new one.
        self.open = None;
        error
    }
}

impl Store for SqliteStore {
    fn open(&mut self, options: &Options) -> Result<(), StoreError> {
        self.opened(options).map(|_| ())
    }

    fn append(&mut self, bodies: &[&Body], options: &Options) -> Result<(), StoreError> {
        self.opened(options)?.append(bodies).map_err(|error| self.failed(&error))
    }

    fn prune(&mut self, now_us: i64, options: &Options) -> Result<Pruned, StoreError> {
        self.opened(options)?.prune(now_us, options).map_err(|error| self.failed(&error))
    }
}

impl Open {
    fn new(path: &Path, options: &Options) -> Result<Self, StoreError> {
        file::make(path).map_err(|error| {
            let message = format!("{} cannot be made: {error}", path.display());
            StoreError::new(message, "check that the directory is there and can be written to")
        })?;
        let file = FileId::of(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error: rusqlite::Error| explained(&error, path);
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(options.limits.lock_wait).map_err(failed)?;
        let foreign = || {
            StoreError::new(
                format!("{} is a database of something else", path.display()),
                "give the trail a file of its own",
            )
        };
        prepare(&mut connection, options).map_err(failed)?;
        let id = match made(&mut connection).map_err(failed)? {
            Made::Trail { id, version: VERSION } => id,
            Made::Trail { version, .. } => {
                return Err(StoreError::new(
                    format!(
                        "{} has tables of version {version}, and this program writes {VERSION}",
                        path.display()
                    ),
                    "use the program that wrote it, or another file",
                ));
            }
            Made::Foreign => return Err(foreign()),
        };
        Ok(Self { connection, id, file })
    }

    fn append(&mut self, bodies: &[&Body]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        append_to(&transaction, &self.id, bodies)?;
        transaction.commit()
    }

    fn prune(&mut self, now_us: i64, options: &Options) -> rusqlite::Result<Pruned> {
        let step = options.limits.prune_step.max(1);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first: Option<i64> =
            transaction.query_row("select min(seq) from callgate_audit", [], |row| row.get(0))?;
        let Some(first) = first else { return Ok(Pruned::Done) };
        let through = last_checkpoint(&transaction)?.map_or(0, |checkpoint| checkpoint.through.seq);
        if first > through {
            let Some(through) = removable(&transaction, first, now_us, options)? else {
                drop(transaction);
                return self.shrink();
            };
            let (hash, until_us) = transaction.query_row(
                "select hash, time_us from callgate_audit where seq = ?1",
                [through],
                |row| Ok((digest(row.get_ref(0)?)?, row.get(1)?)),
            )?;
            let removed = through.saturating_sub(first).saturating_add(1);
            let body = checkpoint_body(now_us, Link { seq: through, hash }, removed, until_us);
            append_to(&transaction, &self.id, &[&body])?;
            transaction.commit()?;
            return Ok(Pruned::More);
        }
        // What a checkpoint accounts for goes in steps, also after the process was interrupted.
        let until = through.min(first.saturating_add(i64::from(step)).saturating_sub(1));
        transaction.execute("delete from callgate_audit where seq <= ?1", [until])?;
        transaction.commit()?;
        Ok(Pruned::More)
    }

    /// Gives freed pages back to the file system.
    fn shrink(&mut self) -> rusqlite::Result<Pruned> {
        let free: i64 = self.connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if free == 0 {
            return Ok(Pruned::Done);
        }
        // Each step of the statement gives back one page.
        let mut statement = self.connection.prepare(&format!("pragma incremental_vacuum({VACUUM_PAGES})"))?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
        Ok(if free > i64::from(VACUUM_PAGES) { Pruned::More } else { Pruned::Done })
    }
}

/// The last record that may go now, if any may.
fn removable(
    connection: &Connection,
    first: i64,
    now_us: i64,
    options: &Options,
) -> rusqlite::Result<Option<i64>> {
    let mut through = None;
    // Checkpoints are kept: the last one speaks for the beginning of the chain.
    let end: i64 = connection.query_row("select seq from callgate_audit_store", [], |row| row.get(0))?;
    if let Some(days) = options.retention_days {
        let limit = now_us.saturating_sub(i64::from(days).saturating_mul(86_400_000_000));
        // Records stand nearly in the order of their times; the first one that must stay keeps all behind it.
        let kept: Option<i64> = connection.query_row(
            "select min(seq) from (select seq from callgate_audit indexed by callgate_audit_search where time_us \
             >= ?1 order by time_us limit 1000)",
            [limit],
            |row| row.get(0),
        )?;
        through = Some(kept.unwrap_or(end.saturating_add(1)).saturating_sub(1));
    }
    if let Some(bytes) = options.retention_bytes {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let used = (pragma("page_count")? - pragma("freelist_count")?).saturating_mul(pragma("page_size")?);
        let over = used.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
        if over > 0 {
            let rows = end.saturating_sub(first).saturating_add(1).max(1);
            // A tenth more, so that it is not at the bound again at once.
            let excess = over.saturating_add(i64::try_from(bytes / 10).unwrap_or(0));
            let count =
                (i128::from(excess) * i128::from(rows) / i128::from(used.max(1))).clamp(1, i128::from(rows));
            let last = first.saturating_add(i64::try_from(count).unwrap_or(rows)).saturating_sub(1);
            through = Some(through.unwrap_or(0).max(last));
        }
    }
    Ok(through.map(|through| through.min(end)).filter(|through| *through >= first))
}

fn append_to(connection: &Connection, id: &str, bodies: &[&Body]) -> rusqlite::Result<()> {
    let end = connection
        .prepare_cached("select seq, hash from callgate_audit_store")?
        .query_row([], |row| Ok(Link { seq: row.get(0)?, hash: digest(row.get_ref(1)?)? }))?;
    let mut linker = Linker::new(id, end);
    let places = vec!["?"; Column::COUNT + 3].join(", ");
    let mut insert = connection.prepare_cached(&format!(
        "insert into callgate_audit (seq, previous, hash, {}) values ({places})",
        Column::list()
    ))?;
    for body in bodies {
        let (link, previous) = linker.next(body);
        insert.raw_bind_parameter(1, link.seq)?;
        insert.raw_bind_parameter(2, previous.as_bytes().as_slice())?;
        insert.raw_bind_parameter(3, link.hash.as_bytes().as_slice())?;
        for (at, value) in body.values().enumerate() {
            insert.raw_bind_parameter(at + 4, value)?;
        }
        insert.raw_execute()?;
    }
    let end = linker.end;
    connection
        .prepare_cached("update callgate_audit_store set seq = ?1, hash = ?2")?
        .execute((end.seq, end.hash.as_bytes().as_slice()))?;
    Ok(())
}

fn prepare(connection: &mut Connection, options: &Options) -> rusqlite::Result<()> {
    // Both hold only for a file without tables, and are without effect on any other.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    let synchronous = match options.durability {
        Durability::Full => "full",
        Durability::Normal => "normal",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // What retention removes is overwritten.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "trusted_schema", false)
}

/// What a file holds.
enum Made {
    Trail { id: String, version: i64 },
    Foreign,
}

/// The id of the store, which is made if the file is empty.
fn made(connection: &mut Connection) -> rusqlite::Result<Made> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let objects: i64 = transaction.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    if objects == 0 {
        let id = random_id()?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.execute_batch(&Dialect::Sqlite.tables())?;
        let start = genesis(&id);
        transaction.execute(
            "insert into callgate_audit_store (one, version, id, created_us, seq, hash) values (1, ?1, ?2, ?3, 0, ?4)",
            (VERSION, &id, now_us(), start.hash.as_bytes().as_slice()),
        )?;
        transaction.commit()?;
        return Ok(Made::Trail { id, version: VERSION });
    }
    let application: i32 = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION {
        return Ok(Made::Foreign);
    }
    transaction.query_row("select id, version from callgate_audit_store", [], |row| {
        Ok(Made::Trail { id: row.get(0)?, version: row.get(1)? })
    })
}

/// A random id for a store.
fn random_id() -> rusqlite::Result<String> {
    let mut bytes = [0_u8; 16];
    SystemEntropy::default()
        .fill(&mut bytes)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn last_checkpoint(connection: &Connection) -> rusqlite::Result<Option<super::Checkpoint>> {
    let mut statement = connection.prepare_cached(&read::last_checkpoint())?;
    let mut rows = statement.query([])?;
    Ok(match rows.next()? {
        Some(found) => checkpoint_of(&row(found)?),
        None => None,
    })
}

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
            // One transaction, so that all questions see the same trail.
            connection.execute_batch("begin")?;
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

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let mut values = [const { Value::Null }; Column::COUNT];
    for (at, (column, place)) in Column::ALL.into_iter().zip(&mut values).enumerate() {
        let found = row.get_ref(at + 3)?;
        if matches!(found, ValueRef::Null) {
            continue;
        }
        *place = match column.shape() {
            Shape::Text => Value::Text(row.get(at + 3)?),
            Shape::Integer => Value::Integer(row.get(at + 3)?),
            Shape::Digest => Value::Digest(digest(found)?),
        };
    }
    Ok(Row {
        seq: row.get(0)?,
        previous: digest(row.get_ref(1)?)?,
        hash: digest(row.get_ref(2)?)?,
        body: Body::of(values),
    })
}

fn digest(value: ValueRef<'_>) -> rusqlite::Result<Digest> {
    let bytes = value.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(Digest::from_bytes).ok_or(rusqlite::Error::InvalidQuery)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Shared(text) => ValueRef::Text(text.as_bytes()),
            Self::Word(text) => ValueRef::Text(text.as_bytes()),
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Digest(digest) => ValueRef::Blob(digest.as_bytes()),
        }))
    }
}

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Integer(number) => ValueRef::Integer(*number),
        }))
    }
}

/// What went wrong with a file that is written, and what to do.
fn explained(error: &rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let (message, remedy) = match error.sqlite_error_code() {
        Some(Code::DiskFull) => ("the disk is full", "free space on its disk"),
        Some(Code::ReadOnly) => ("the file or its directory is read-only", "let the server write to it"),
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => {
            ("another process holds the file", "end the program that keeps it locked")
        }
        Some(Code::CannotOpen | Code::PermissionDenied) => {
            ("the file cannot be opened", "check its name and the permissions of its directory")
        }
        Some(Code::DatabaseCorrupt) => {
            ("the file is damaged", "run `callgate audit verify`, keep the file, and begin another")
        }
        Some(Code::NotADatabase) => ("the file is no database", "give the trail a file of its own"),
        Some(Code::SystemIoFailure) => ("the disk cannot be written", "check the disk"),
        _ => ("SQLite failed", "check the file with `callgate audit verify`"),
    };
    StoreError::new(format!("{}: {message} ({error})", path.display()), remedy)
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
