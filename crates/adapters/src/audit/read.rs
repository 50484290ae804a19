//! Reading a trail: single records, searches, and all of it in order.
//!
//! A reader never writes and works beside a server that does. Both stores answer the same questions,
//! asked in SQL that is made here. The command line is the caller; it must not call from inside a
//! runtime, because answers are waited for.

use callgate_core::contract::digest::Digest;

use super::body::Body;
use super::chain::{Checkpoint, Head, Link, Verified, Verifier};
use super::column::Column;
use super::schema::Dialect;

/// A record at its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number, from 1.
    pub seq: i64,
    /// The hash of the record before it.
    pub previous: Digest,
    /// Its own hash.
    pub hash: Digest,
    /// What it says.
    pub body: Body,
}

/// What a store says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreHead {
    /// The id of the store.
    pub id: String,
    /// The end of its chain.
    pub end: Link,
}

/// Why a trail cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// It cannot be reached, or is none.
    #[error("{0}")]
    Unreachable(String),
    /// It is there and damaged.
    #[error("{0}")]
    Damaged(String),
}

/// Which records are meant. Everything that is given must hold.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Filter {
    /// From this time on, in microseconds since 1970.
    pub since_us: Option<i64>,
    /// Before this time.
    pub until_us: Option<i64>,
    /// Exactly this principal.
    pub principal: Option<String>,
    /// Exactly this tenant.
    pub tenant: Option<String>,
    /// Exactly this tool, as it was asked for.
    pub tool: Option<String>,
    /// Exactly this decision.
    pub decision: Option<String>,
    /// Exactly this result.
    pub outcome: Option<String>,
    /// Exactly this code.
    pub code: Option<String>,
    /// This text in any column that holds text, without regard to case.
    pub text: Option<String>,
}

/// A value that a question binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Text(String),
    Integer(i64),
}

impl Filter {
    /// The conditions and what they bind, beginning with this number.
    fn conditions(&self, dialect: Dialect) -> (String, Vec<Bound>) {
        let mut out = String::from("1 = 1");
        let mut bound = Vec::new();
        for (condition, value) in [("time_us >=", self.since_us), ("time_us <", self.until_us)] {
            if let Some(value) = value {
                bound.push(Bound::Integer(value));
                out.push_str(&format!(" and {condition} {}", parameter(dialect, bound.len())));
            }
        }
        for (column, value) in [
            (Column::Principal, &self.principal),
            (Column::Tenant, &self.tenant),
            (Column::Tool, &self.tool),
            (Column::Decision, &self.decision),
            (Column::Result, &self.outcome),
            (Column::Code, &self.code),
        ] {
            if let Some(value) = value {
                bound.push(Bound::Text(value.clone()));
                out.push_str(&format!(" and {} = {}", column.name(), parameter(dialect, bound.len())));
            }
        }
        if let Some(text) = &self.text {
            bound.push(Bound::Text(pattern(text)));
            let number = parameter(dialect, bound.len());
            let columns = [
                Column::Tool,
                Column::Principal,
                Column::Tenant,
                Column::Client,
                Column::Arguments,
                Column::Policies,
                Column::Code,
                Column::Detail,
                Column::Call,
            ];
            let any: Vec<String> = columns
                .iter()
                .map(|column| format!("{} {} {number} escape '!'", column.name(), like(dialect)))
                .collect();
            out.push_str(&format!(" and ({})", any.join(" or ")));
        }
        (out, bound)
    }

    /// The newest records first.
    pub(super) fn newest(&self, limit: u32, dialect: Dialect) -> (String, Vec<Bound>) {
        let (conditions, bound) = self.conditions(dialect);
        let columns = Column::list();
        // The inner question is answered by the index alone; the records are looked up for what is shown.
        let hint = match dialect {
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite if self.text.is_none() => " indexed by callgate_audit_search",
            _ => "",
        };
        let text = format!(
            "select seq, previous, hash, {columns} from callgate_audit where seq in (select seq from \
             callgate_audit{hint} where {conditions} order by time_us desc limit {limit}) order by time_us desc, \
             seq desc"
        );
        (text, bound)
    }

    /// Records in the order of the chain, after one of them.
    pub(super) fn after(&self, seq: i64, limit: u32, dialect: Dialect) -> (String, Vec<Bound>) {
        let (conditions, mut bound) = self.conditions(dialect);
        bound.push(Bound::Integer(seq));
        let number = parameter(dialect, bound.len());
        let columns = Column::list();
        let text = format!(
            "select seq, previous, hash, {columns} from callgate_audit where seq > {number} and {conditions} order by \
             seq limit {limit}"
        );
        (text, bound)
    }
}

/// The last record that says that a beginning is gone.
pub(super) fn last_checkpoint() -> String {
    let columns = Column::list();
    format!(
        "select seq, previous, hash, {columns} from callgate_audit where kind <> 'call' and kind = 'checkpoint' order \
         by seq desc limit 1"
    )
}

fn parameter(dialect: Dialect, number: usize) -> String {
    match dialect {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => format!("?{number}"),
        #[cfg(feature = "postgres")]
        Dialect::Postgres => format!("${number}"),
    }
}

const fn like(dialect: Dialect) -> &'static str {
    match dialect {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => "like",
        #[cfg(feature = "postgres")]
        Dialect::Postgres => "ilike",
    }
}

fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// A store that can be read.
pub trait Reader {
    /// From here on everything is read as it is now, where the store can do that, until it is released.
    /// The store may have to keep what is replaced meanwhile, so nothing may wait in between.
    ///
    /// # Errors
    /// The store cannot be read.
    fn hold(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// The end of what `hold` began.
    fn release(&mut self) {}

    /// What the store says about itself.
    ///
    /// # Errors
    /// The store cannot be read.
    fn head(&mut self) -> Result<StoreHead, Failure>;

    /// The newest records that are meant, the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn newest(&mut self, filter: &Filter, limit: u32) -> Result<Vec<Row>, Failure>;

    /// Records that are meant, in the order of the chain, after one of them.
    ///
    /// # Errors
    /// The store cannot be read.
    fn after(&mut self, seq: i64, filter: &Filter, limit: u32) -> Result<Vec<Row>, Failure>;

    /// The last record that says that a beginning is gone.
    ///
    /// # Errors
    /// The store cannot be read.
    fn checkpoint(&mut self) -> Result<Option<Row>, Failure>;

    /// What the store finds wrong with itself.
    ///
    /// # Errors
    /// The store cannot be read.
    fn integrity(&mut self) -> Result<Vec<String>, Failure>;

    /// The record of a call, by the id that its receipt quotes.
    ///
    /// # Errors
    /// The store cannot be read.
    fn call(&mut self, id: &str) -> Result<Option<Row>, Failure> {
        let Some(milliseconds) = milliseconds(id) else { return Ok(None) };
        // The id begins with the time of the call, so that it needs no index of its own.
        let filter = Filter {
            since_us: Some(milliseconds.saturating_mul(1000)),
            until_us: Some(milliseconds.saturating_add(1).saturating_mul(1000)),
            ..Filter::default()
        };
        let rows = self.newest(&filter, u32::MAX >> 1)?;
        Ok(rows.into_iter().find(|row| row.body.text(Column::Call) == Some(id)))
    }
}

/// The time in a UUID of version 7.
fn milliseconds(id: &str) -> Option<i64> {
    let digits: String = id.chars().filter(|character| *character != '-').take(12).collect();
    if digits.len() == 12 { i64::from_str_radix(&digits, 16).ok() } else { None }
}

/// Records that one question of the verification reads.
const PAGE: u32 = 2000;

/// Reads all of a trail and finds every break.
///
/// # Errors
/// The trail cannot be reached. What is damaged in it is a break.
pub fn verify(reader: &mut dyn Reader, heads: &[Head], limit: usize) -> Result<Verified, Failure> {
    match reader.hold() {
        Ok(()) => {}
        Err(Failure::Damaged(message)) => return Ok(Verified::damaged(message)),
        Err(other) => return Err(other),
    }
    let verified = verify_held(reader, heads, limit);
    reader.release();
    verified
}

/// Reads all of a trail as it was when it was held.
fn verify_held(reader: &mut dyn Reader, heads: &[Head], limit: usize) -> Result<Verified, Failure> {
    let head = match reader.head() {
        Ok(head) => head,
        Err(Failure::Damaged(message)) => return Ok(Verified::damaged(message)),
        Err(other) => return Err(other),
    };
    let mut notes = match reader.integrity() {
        Ok(notes) => notes,
        Err(Failure::Damaged(message)) => vec![message],
        Err(other) => return Err(other),
    };
    let checkpoint: Option<Checkpoint> = match reader.checkpoint() {
        Ok(row) => row.as_ref().and_then(super::chain::checkpoint_of),
        Err(Failure::Damaged(message)) => {
            notes.push(message);
            None
        }
        Err(other) => return Err(other),
    };
    let mut verifier = Verifier::new(&head.id, checkpoint, heads, limit);
    for note in notes {
        verifier.damage(note);
    }
    let mut seq = i64::MIN;
    loop {
        let rows = match reader.after(seq, &Filter::default(), PAGE) {
            Ok(rows) => rows,
            Err(Failure::Damaged(message)) => {
                verifier.damage(message);
                // One record at a time finds the place and what can still be read behind it.
                match single_rows(reader, &mut verifier, seq, head.end.seq)? {
                    Some(next) => {
                        seq = next;
                        continue;
                    }
                    None => break,
                }
            }
            Err(other) => return Err(other),
        };
        let Some(last) = rows.last() else { break };
        seq = last.seq;
        for row in &rows {
            verifier.row(row);
        }
    }
    Ok(verifier.finish(head.end))
}

/// Reads up to one page record by record; gives the last number that was tried, or nothing at the end.
fn single_rows(
    reader: &mut dyn Reader,
    verifier: &mut Verifier,
    after: i64,
    end: i64,
) -> Result<Option<i64>, Failure> {
    let mut seq = after.max(0);
    let stop = seq.saturating_add(i64::from(PAGE)).min(end);
    while seq < stop {
        match reader.after(seq, &Filter::default(), 1) {
            Ok(rows) => match rows.into_iter().next() {
                Some(row) => {
                    seq = row.seq;
                    verifier.row(&row);
                }
                None => return Ok(None),
            },
            // Not readable: the next number.
            Err(Failure::Damaged(_)) => seq = seq.saturating_add(1),
            Err(other) => return Err(other),
        }
    }
    Ok((seq < end).then_some(seq))
}
