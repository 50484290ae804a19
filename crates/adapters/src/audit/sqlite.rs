//! A trail in a SQLite file of its own.
//!
//! Several processes may write one file: each transaction begins by taking the write lock and reading the
//! end of the chain. A file that holds anything else is refused before it is changed; one that vanished, was
//! emptied, replaced or cut off is refused too, and never made anew in secret. The writer drives the store; the command line reads with the reader.

use std::path::{Path, PathBuf};

use callgate_core::contract::digest::Digest;
use callgate_core::port::{Entropy as _, SystemEntropy};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, ToSql, TransactionBehavior};

use super::body::{Body, Value};
use super::chain::{Link, Linker, checkpoint_body, checkpoint_of, genesis};
use super::column::{Column, Shape};
use super::read::{self, Bound, Row};
use super::removal::is_doubted;
use super::schema::{Dialect, VERSION};
use super::writer::{Pruned, Store, StoreError};
use super::{Durability, Options};

mod file;
mod reader;

use file::Found;
pub use reader::SqliteReader;

/// `CGAT`: tells what the file is.
const APPLICATION: i32 = 0x4347_4154;
/// Pages that one step of retention gives back to the file system.
const VACUUM_PAGES: u32 = 2000;

/// The writing side of a file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    open: Option<Open>,
    /// What was found and written last: from then on nothing else is taken for it.
    known: Option<Known>,
}

/// What is known of a trail that was opened: which file, which store, and its end as it was written last.
#[derive(Clone, Debug)]
struct Known {
    file: Option<Found>,
    id: String,
    end: Link,
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    id: String,
}

impl SqliteStore {
    /// A store on a file, which is made when it is opened and not there.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), open: None, known: None }
    }

    fn opened(&mut self, options: &Options) -> Result<(&mut Open, &mut Known), StoreError> {
        if let Some(known) = &mut self.known {
            // Asked before each group: an open connection answers from its memory and its log, and would
            // not notice that nothing of it will be found again.
            if let Err(error) = present(&self.path, known, self.open.as_ref()) {
                if let Some(open) = self.open.take() {
                    open.leave();
                }
                return Err(error);
            }
        }
        let open = match &mut self.open {
            Some(open) => open,
            place => {
                let (open, end) = Open::new(&self.path, options, self.known.is_none())?;
                match &self.known {
                    Some(known) if known.id != open.id => {
                        open.leave();
                        return Err(StoreError::new(
                            format!("{} holds another trail", self.path.display()),
                            REPLACED,
                        ));
                    }
                    Some(_) => {}
                    None => {
                        self.known = Some(Known { file: Found::of(&self.path), id: open.id.clone(), end });
                    }
                }
                place.insert(open)
            }
        };
        match &mut self.known {
            Some(known) => Ok((open, known)),
            // It was set above.
            None => Err(StoreError::new("nothing is known of the trail", "restart the server")),
        }
    }

    fn work<T>(
        &mut self,
        options: &Options,
        work: impl FnOnce(&mut Open, &mut Link) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let (open, known) = self.opened(options)?;
        work(open, &mut known.end).map_err(|fault| {
            // Whatever state the connection is in, the next attempt begins with a new one.
            let open = self.open.take();
            match fault {
                Fault::Sqlite(error) => explained(&error, &self.path),
                Fault::Cut(message) => {
                    if let Some(open) = open {
                        open.leave();
                    }
                    StoreError::new(format!("{}: {message}", self.path.display()), REPLACED)
                }
            }
        })
    }
}

const REPLACED: &str =
    "put the file and its log (-wal) back as they were; or find out who did it, move them away and restart";

/// Why a piece of work failed.
enum Fault {
    Sqlite(rusqlite::Error),
    /// The end that was written is not there any more.
    Cut(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Whether the file is the one that was opened, as far as that can be told without opening it: doing that
/// beside SQLite would give up the locks that SQLite holds, and opening an empty file deletes its log.
fn present(path: &Path, known: &mut Known, open: Option<&Open>) -> Result<(), StoreError> {
    let problem = |what: &str| Err(StoreError::new(format!("{} {what}", path.display()), REPLACED));
    let Some(found) = Found::of(path) else { return problem("was removed") };
    if found.length == 0 {
        return problem("was emptied");
    }
    let Some(before) = known.file.replace(found) else { return Ok(()) };
    if found.id != before.id {
        known.file = Some(before);
        return problem("was replaced by another file");
    }
    // It shrinks only when retention gives pages back, and then to what SQLite says.
    if found.length < before.length && open.is_some_and(|open| open.length() > found.length) {
        return problem("was cut off");
    }
    Ok(())
}

impl Store for SqliteStore {
    fn open(&mut self, options: &Options) -> Result<(), StoreError> {
        self.opened(options).map(|_| ())
    }

    fn append(&mut self, bodies: &[&Body], options: &Options) -> Result<(), StoreError> {
        self.work(options, |open, known| open.append(bodies, known))
    }

    fn prune(&mut self, now_us: i64, options: &Options) -> Result<Pruned, StoreError> {
        self.work(options, |open, known| open.prune(now_us, options, known))
    }
}

impl Open {
    fn new(path: &Path, options: &Options, make: bool) -> Result<(Self, Link), StoreError> {
        if make {
            file::make(path).map_err(|error| {
                let message = format!("{} cannot be made: {error}", path.display());
                StoreError::new(message, "check that the directory is there and can be written to")
            })?;
            // An empty file is a new one only where no log is left of another: SQLite would delete it.
            if Found::of(path).is_some_and(|found| found.length == 0) && file::has_log(path) {
                return Err(StoreError::new(
                    format!("{} is empty, and the log beside it holds records", path.display()),
                    "put the file back that the log belongs to, or move both away to begin a new trail",
                ));
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error: rusqlite::Error| explained(&error, path);
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(options.limits.lock_wait).map_err(failed)?;
        // Looking changes nothing; only what is ours, or empty, is prepared.
        let foreign = is_foreign(&connection).map_err(failed)?;
        let made = match foreign {
            true => Made::Foreign,
            false => made(&mut connection, make).map_err(failed)?,
        };
        match made {
            Made::Trail { id, version: VERSION, end } => {
                prepare(&connection, options).map_err(failed)?;
                Ok((Self { connection, id }, end))
            }
            Made::Trail { version, .. } => Err(StoreError::new(
                format!(
                    "{} has tables of version {version}, and this program writes {VERSION}",
                    path.display()
                ),
                "use the program that wrote it, or another file",
            )),
            Made::Foreign => Err(StoreError::new(
                format!("{} is a database of something else", path.display()),
                "give the trail a file of its own",
            )),
        }
    }

    /// Closes the connection and leaves the log as it is, for whoever finds out what happened.
    fn leave(self) {
        drop(self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
    }

    /// How long the file is by what SQLite knows; nothing where that cannot be asked.
    fn length(&self) -> u64 {
        let pragma = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let length = pragma("page_count").and_then(|pages| Ok(pages.saturating_mul(pragma("page_size")?)));
        length.ok().and_then(|length| u64::try_from(length).ok()).unwrap_or(0)
    }

    fn append(&mut self, bodies: &[&Body], known: &mut Link) -> Result<(), Fault> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let end = append_to(&transaction, &self.id, bodies, *known)?;
        transaction.commit()?;
        *known = end;
        Ok(())
    }

    fn prune(&mut self, now_us: i64, options: &Options, known: &mut Link) -> Result<Pruned, Fault> {
        let step = options.limits.prune_step.max(1);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let first: Option<i64> =
            transaction.query_row("select min(seq) from callgate_audit", [], |row| row.get(0))?;
        let Some(first) = first else { return Ok(Pruned::Done) };
        let checkpoint = last_checkpoint(&transaction)?;
        let through = checkpoint.map_or(0, |checkpoint| checkpoint.through.seq);
        if first > through {
            let Some(through) = removable(&transaction, first, now_us, options)? else {
                drop(transaction);
                return Ok(self.shrink()?);
            };
            let (hash, until_us) = transaction.query_row(
                "select hash, time_us from callgate_audit where seq = ?1",
                [through],
                |row| Ok((digest(row.get_ref(0)?)?, row.get(1)?)),
            )?;
            let removed = through.saturating_sub(first).saturating_add(1);
            let body = checkpoint_body(now_us, Link { seq: through, hash }, removed, until_us);
            let end = append_to(&transaction, &self.id, &[&body], *known)?;
            transaction.commit()?;
            *known = end;
            return Ok(Pruned::More);
        }
        // Whoever can write the file can write a checkpoint, so one that cannot be true deletes nothing that may
        // not go anyway.
        let through = match checkpoint.is_some_and(|checkpoint| is_doubted(&checkpoint, options, now_us)) {
            false => through,
            true => match removable(&transaction, first, now_us, options)? {
                Some(removable) => through.min(removable),
                None => return Ok(Pruned::Done),
            },
        };
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

fn append_to(connection: &Connection, id: &str, bodies: &[&Body], known: Link) -> Result<Link, Fault> {
    let end = connection
        .prepare_cached("select seq, hash from callgate_audit_store")?
        .query_row([], |row| Ok(Link { seq: row.get(0)?, hash: digest(row.get_ref(1)?)? }))?;
    if end != known {
        // Another process wrote, or somebody took away what was written.
        let kept = connection
            .prepare_cached("select hash from callgate_audit where seq = ?1")?
            .query_row([known.seq], |row| digest(row.get_ref(0)?))
            .optional()?;
        known.judge(end, kept).map_err(Fault::Cut)?;
    }
    if end == known && known.seq > 0 {
        // The end that the store names is right; the record itself may be gone all the same.
        let is_there =
            connection.prepare_cached("select 1 from callgate_audit where seq = ?1")?.exists([known.seq])?;
        if !is_there {
            return Err(Fault::Cut(format!("record {} was written last and is gone", known.seq)));
        }
    }
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
    Ok(end)
}

/// How a trail is written. The mode of the journal stays in the file, so no other file may get here.
fn prepare(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "journal_size_limit", options.limits.log_bytes)?;
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
    Trail { id: String, version: i64, end: Link },
    Foreign,
}

/// Whether a file holds what is not a trail. It only reads.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    let objects: i64 = connection.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(application != APPLICATION && (objects > 0 || application != 0))
}

/// The store in a file, which is made if the file is empty and that is wanted. It is made before the file
/// has a log, so that a file with a log is never empty.
fn made(connection: &mut Connection, make: bool) -> rusqlite::Result<Made> {
    if make {
        // It holds for a file without tables only.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if is_foreign(&transaction)? {
        return Ok(Made::Foreign);
    }
    let objects: i64 = transaction.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    if objects == 0 && make {
        let id = random_id()?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.execute_batch(&Dialect::Sqlite.tables())?;
        let end = genesis(&id);
        transaction.execute(
            "insert into callgate_audit_store (one, version, id, seq, hash) values (1, ?1, ?2, 0, ?3)",
            (VERSION, &id, end.hash.as_bytes().as_slice()),
        )?;
        transaction.commit()?;
        return Ok(Made::Trail { id, version: VERSION, end });
    }
    transaction.query_row("select id, version, seq, hash from callgate_audit_store", [], |row| {
        let end = Link { seq: row.get(2)?, hash: digest(row.get_ref(3)?)? };
        Ok(Made::Trail { id: row.get(0)?, version: row.get(1)?, end })
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
