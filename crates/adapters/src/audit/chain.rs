//! The chain: what is hashed, and finding every place where a trail is not what was written.
//!
//! It reads and writes nothing; rows are fed to it in their order. The format is described in
//! `docs/audit.md` exactly enough to be checked by other programs, so nothing here may change without a
//! new version. Stores link records with it, the verification checks them.

use std::collections::BTreeMap;

use callgate_core::contract::digest::{Digest, DigestText};

use super::body::{Body, Value};
use super::column::Column;
use super::read::Row;

/// What the bytes of a link start with.
const LINK: &[u8] = b"callgate/audit/1\n";
/// What the bytes of the first link's predecessor start with.
const STORE: &[u8] = b"callgate/audit/store/1\n";

/// A place in the chain: everything up to it is fixed by the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The number of the record, from 1; 0 before the first.
    pub seq: i64,
    /// Its hash.
    pub hash: Digest,
}

impl Link {
    /// Whether a chain whose end is `end` still holds this place, which was written before; `kept` is the
    /// hash of the record that has its number now.
    pub(super) fn judge(self, end: Self, kept: Option<Digest>) -> Result<(), String> {
        if end.seq < self.seq {
            return Err(format!(
                "the end of the trail was cut off: record {} was written, and the last is {}",
                self.seq, end.seq
            ));
        }
        let other = if end.seq == self.seq { Some(end.hash) } else { kept };
        if other.is_some_and(|other| other != self.hash) {
            return Err(format!("record {} was exchanged for another", self.seq));
        }
        Ok(())
    }
}

/// The end of a chain at some moment, as it is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The id of the store.
    pub store: String,
    /// The last record.
    pub link: Link,
    /// When it was exported, in microseconds since 1970.
    pub time_us: i64,
}

/// What the trail says of a beginning that retention removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The record that says it.
    pub seq: i64,
    /// The last record that may be gone.
    pub through: Link,
    /// When it was written, in microseconds since 1970.
    pub time_us: i64,
    /// Of which time the last record was that may be gone.
    pub until_us: i64,
}

/// What stands before the first record of a store.
#[must_use]
pub(super) fn genesis(store: &str) -> Link {
    Link { seq: 0, hash: Digest::of_bytes(&[STORE, store.as_bytes()].concat()) }
}

/// The hash of a record at its place. `buffer` is reused between calls.
#[must_use]
pub(super) fn link(store: &str, seq: i64, previous: &Digest, body: &Body, buffer: &mut Vec<u8>) -> Digest {
    buffer.clear();
    buffer.extend_from_slice(LINK);
    push_text(buffer, store.as_bytes());
    push_integer(buffer, seq);
    push_text(buffer, previous.text().as_str().as_bytes());
    for value in body.values() {
        match value {
            Value::Null => buffer.push(0),
            Value::Integer(number) => push_integer(buffer, *number),
            Value::Digest(digest) => {
                let text: DigestText = digest.text();
                push_text(buffer, text.as_str().as_bytes());
            }
            Value::Text(text) => push_text(buffer, text.as_bytes()),
            Value::Shared(text) => push_text(buffer, text.as_bytes()),
            Value::Word(text) => push_text(buffer, text.as_bytes()),
        }
    }
    Digest::of_bytes(buffer)
}

fn push_text(buffer: &mut Vec<u8>, text: &[u8]) {
    buffer.push(1);
    // Texts are bounded far below four gigabytes; a longer one from a store hashes to something else.
    buffer.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
    buffer.extend_from_slice(text);
}

fn push_integer(buffer: &mut Vec<u8>, number: i64) {
    let mut digits = itoa::Buffer::new();
    push_text(buffer, digits.format(number).as_bytes());
}

/// Appends records to a chain: their places and hashes, and the new end.
pub(super) struct Linker<'s> {
    store: &'s str,
    pub(super) end: Link,
    buffer: Vec<u8>,
}

impl<'s> Linker<'s> {
    pub(super) fn new(store: &'s str, end: Link) -> Self {
        Self { store, end, buffer: Vec::with_capacity(1024) }
    }

    /// The place of the next record and the hash of the one before it.
    pub(super) fn next(&mut self, body: &Body) -> (Link, Digest) {
        let previous = self.end.hash;
        let seq = self.end.seq.saturating_add(1);
        let hash = link(self.store, seq, &previous, body, &mut self.buffer);
        self.end = Link { seq, hash };
        (self.end, previous)
    }
}

/// What is wrong at a place of a trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BreakKind {
    /// A record is not what was hashed.
    Altered,
    /// A record does not follow the one before it.
    Unlinked,
    /// Records between two others are gone.
    Missing,
    /// The beginning is gone, and no checkpoint says so.
    Beginning,
    /// A checkpoint does not fit the record that it names.
    Checkpoint,
    /// The end is gone.
    Truncated,
    /// The end is not the one that the store or an exported head names.
    Head,
    /// An exported head is of another store.
    Foreign,
    /// The store itself is damaged.
    Store,
}

impl BreakKind {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Altered => "altered",
            Self::Unlinked => "unlinked",
            Self::Missing => "missing",
            Self::Beginning => "beginning",
            Self::Checkpoint => "checkpoint",
            Self::Truncated => "truncated",
            Self::Head => "head",
            Self::Foreign => "foreign",
            Self::Store => "store",
        }
    }
}

/// One place where a trail is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The first record that it concerns, where there is one.
    pub seq: Option<i64>,
    /// What is wrong.
    pub kind: BreakKind,
    /// The same in words.
    pub message: String,
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many records were read.
    pub records: u64,
    /// The first of them.
    pub first: Option<i64>,
    /// The last of them.
    pub last: Option<Link>,
    /// Every break, up to a bound.
    pub breaks: Vec<Break>,
    /// How many more there are.
    pub more: u64,
    /// The checkpoint that accounts for records which are gone. Whoever can write the store can write one too,
    /// so it must be judged by the retention that is configured.
    pub removed: Option<Checkpoint>,
    /// Every checkpoint that was read, up to a bound: the latest ones are kept.
    pub removals: Vec<Checkpoint>,
    /// Exported heads of records that the checkpoint says were removed: nothing is left to compare them with.
    pub uncompared: u64,
}

impl Verified {
    /// A store of which nothing can be read.
    #[must_use]
    pub fn damaged(message: impl Into<String>) -> Self {
        let damage = Break { seq: None, kind: BreakKind::Store, message: message.into() };
        Self { breaks: vec![damage], ..Self::default() }
    }
}

/// Checkpoints that a verification keeps: at one a day, more than ten years.
const REMOVALS: usize = 4096;

/// Checks the rows of one store in their order.
#[derive(Debug)]
pub struct Verifier {
    store: String,
    checkpoint: Option<Checkpoint>,
    /// What exported heads say of single records.
    heads: BTreeMap<i64, Digest>,
    last: Option<Link>,
    limit: usize,
    found: Verified,
    buffer: Vec<u8>,
}

impl Verifier {
    /// A verifier for a store, with its last checkpoint and the heads that were exported from it.
    #[must_use]
    pub fn new(store: &str, checkpoint: Option<Checkpoint>, heads: &[Head], limit: usize) -> Self {
        let mut verifier = Self {
            store: store.to_owned(),
            checkpoint,
            heads: BTreeMap::new(),
            last: None,
            limit,
            found: Verified::default(),
            buffer: Vec::new(),
        };
        for head in heads {
            if head.store != store {
                let message = format!("the exported head {} is of the store {}", head.link.seq, head.store);
                verifier.report(None, BreakKind::Foreign, message);
            } else if let Some(other) = verifier.heads.insert(head.link.seq, head.link.hash)
                && other != head.link.hash
            {
                let message = format!("two exported heads of record {} differ", head.link.seq);
                verifier.report(Some(head.link.seq), BreakKind::Head, message);
            }
        }
        verifier
    }

    /// The next row.
    pub fn row(&mut self, row: &Row) {
        self.found.records += 1;
        match self.last {
            None => self.beginning(row),
            Some(last) if row.seq == last.seq.saturating_add(1) => {
                if row.previous != last.hash {
                    let message = format!("record {} does not follow record {}", row.seq, last.seq);
                    self.report(Some(row.seq), BreakKind::Unlinked, message);
                }
            }
            Some(last) => {
                let (from, to) = (last.seq.saturating_add(1), row.seq.saturating_sub(1));
                self.report(Some(from), BreakKind::Missing, format!("records {from} to {to} are gone"));
            }
        }
        if row.body.text(Column::Kind) == Some("checkpoint")
            && let Some(checkpoint) = checkpoint_of(row)
        {
            if self.found.removals.len() >= REMOVALS {
                self.found.removals.remove(0);
            }
            self.found.removals.push(checkpoint);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        if link(&self.store, row.seq, &row.previous, &row.body, &mut buffer) != row.hash {
            let message = format!("record {} is not what was written", row.seq);
            self.report(Some(row.seq), BreakKind::Altered, message);
        }
        self.buffer = buffer;
        if let Some(checkpoint) = self.checkpoint
            && checkpoint.through.seq == row.seq
            && checkpoint.through.hash != row.hash
        {
            let message =
                format!("record {} is not the one that the checkpoint {} names", row.seq, checkpoint.seq);
            self.report(Some(row.seq), BreakKind::Checkpoint, message);
        }
        if let Some(hash) = self.heads.remove(&row.seq)
            && hash != row.hash
        {
            let message = format!("record {} is not the one that was exported as head", row.seq);
            self.report(Some(row.seq), BreakKind::Head, message);
        }
        self.found.first.get_or_insert(row.seq);
        self.last = Some(Link { seq: row.seq, hash: row.hash });
    }

    fn beginning(&mut self, row: &Row) {
        let start = genesis(&self.store);
        let covered = self.checkpoint.map_or(start, |checkpoint| checkpoint.through);
        let expected = [start, covered].into_iter().find(|link| row.seq == link.seq.saturating_add(1));
        if let Some(expected) = expected {
            if row.previous != expected.hash {
                let message = format!("record {} does not follow the beginning of the chain", row.seq);
                self.report(Some(row.seq), BreakKind::Unlinked, message);
            }
        } else if row.seq > covered.seq || row.seq < 1 {
            let message = format!(
                "the trail begins at record {}, and records are accounted for only up to {}",
                row.seq, covered.seq
            );
            self.report(Some(covered.seq.saturating_add(1)), BreakKind::Beginning, message);
        }
    }

    /// Something that the store says about itself.
    pub fn damage(&mut self, message: impl Into<String>) {
        self.report(None, BreakKind::Store, message.into());
    }

    /// The end of the rows; `head` is what the store names as its end.
    #[must_use]
    pub fn finish(mut self, head: Link) -> Verified {
        let covered = self.checkpoint.map_or(0, |checkpoint| checkpoint.through.seq);
        let last = self.last.unwrap_or_else(|| genesis(&self.store));
        if head.seq > last.seq {
            let message = format!("the last record is {}, and the store has written {}", last.seq, head.seq);
            self.report(Some(last.seq.saturating_add(1)), BreakKind::Truncated, message);
        } else if head != last {
            let message = format!(
                "the last record is {}, and the end that the store names is {} with another hash",
                last.seq, head.seq
            );
            self.report(Some(head.seq), BreakKind::Head, message);
        }
        for (seq, hash) in std::mem::take(&mut self.heads) {
            if seq > last.seq {
                let message =
                    format!("record {seq} was exported as head, and the last record is {}", last.seq);
                self.report(Some(last.seq.saturating_add(1)), BreakKind::Truncated, message);
            } else if seq > covered {
                let message = format!("record {seq} was exported as head and is gone");
                self.report(Some(seq), BreakKind::Missing, message);
            } else if let Some(checkpoint) = self.checkpoint
                && checkpoint.through.seq == seq
            {
                if checkpoint.through.hash != hash {
                    let message = format!("the checkpoint {} names another record {seq}", checkpoint.seq);
                    self.report(Some(seq), BreakKind::Checkpoint, message);
                }
            } else {
                self.found.uncompared += 1;
            }
        }
        self.found.last = self.last;
        self.found.removed = self.checkpoint;
        self.found
    }

    fn report(&mut self, seq: Option<i64>, kind: BreakKind, message: String) {
        if self.found.breaks.len() < self.limit {
            self.found.breaks.push(Break { seq, kind, message });
        } else {
            self.found.more += 1;
        }
    }
}

/// The values of a checkpoint record.
#[must_use]
pub(super) fn checkpoint_body(time_us: i64, through: Link, removed: i64, until_us: i64) -> Body {
    let mut body = Body::new("checkpoint", time_us);
    let detail = format!(
        "{{\"through\":{},\"hash\":\"{}\",\"removed\":{removed},\"until_us\":{until_us}}}",
        through.seq, through.hash
    );
    body.set(Column::Detail, Value::Text(detail));
    body
}

/// What a checkpoint record says, or nothing if it is none.
#[must_use]
pub(super) fn checkpoint_of(row: &Row) -> Option<Checkpoint> {
    use callgate_protocol::json::{Document, Limits};
    let document = Document::parse(row.body.text(Column::Detail)?, &Limits::DEFAULT).ok()?;
    let root = document.root();
    let seq = root.get("through")?.as_i64()?;
    let hash = root.get("hash")?.as_str()?.parse().ok()?;
    let (time_us, until_us) = (row.body.get(Column::Time).integer()?, root.get("until_us")?.as_i64()?);
    Some(Checkpoint { seq: row.seq, through: Link { seq, hash }, time_us, until_us })
}
