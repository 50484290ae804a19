//! Rows as a JSON array, within bounds on rows and bytes.
//!
//! Both stores feed their rows through here, so both mean the same by a bound, a cut and a key. A row
//! is written whole or not at all. The sources are the callers.

use callgate_core::port::{Cut, KeyValue, NullForm, QueryError, Rows, Statement};
use callgate_protocol::json::push_string;

use crate::cell::{Cell, push};

/// Whether the store should be asked for another row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Wanted,
    Enough,
}

/// Bytes of the rows that are handed over at once.
pub(crate) const BATCH_BYTES: usize = 64 << 10;

/// Collects rows.
pub(crate) struct RowWriter<'s> {
    statement: &'s Statement,
    max_rows: usize,
    max_bytes: usize,
    json: String,
    count: usize,
    /// Bytes of the rows that were handed over.
    sent: usize,
    cut: Cut,
    last: Option<Vec<KeyValue>>,
}

impl<'s> RowWriter<'s> {
    pub(crate) fn new(statement: &'s Statement, max_rows: usize, max_bytes: usize) -> Self {
        let json = String::from("[");
        Self { statement, max_rows, max_bytes, json, count: 0, sent: 0, cut: Cut::Whole, last: None }
    }

    /// Takes one row: `cell` gives the value of the declared column of that number, and `key` are the
    /// values of the sort key.
    pub(crate) fn row<'c>(
        &mut self,
        mut cell: impl FnMut(usize) -> Result<Cell<'c>, QueryError>,
        key: Vec<KeyValue>,
    ) -> Result<Next, QueryError> {
        if self.count == self.max_rows {
            return self.end(Cut::Rows, &key);
        }
        let start = self.json.len();
        self.json.push_str(if start == 1 { "{" } else { ",{" });
        let mut first = true;
        for (index, column) in self.statement.columns.iter().enumerate() {
            let value = cell(index)?;
            let refused = |expected| QueryError::Form { column: column.name.clone(), expected };
            if matches!(value, Cell::Null) {
                match column.null {
                    NullForm::Omitted => continue,
                    NullForm::Refused => return Err(refused("a value, not NULL")),
                    NullForm::Null => {}
                }
            }
            if !first {
                self.json.push(',');
            }
            first = false;
            push_string(&mut self.json, &column.name);
            self.json.push(':');
            if matches!(value, Cell::Null) {
                self.json.push_str("null");
            } else {
                push(&mut self.json, column.form, value).map_err(refused)?;
            }
            if self.sent + self.json.len() > self.max_bytes {
                break;
            }
        }
        self.json.push('}');
        // The closing bracket still has to fit.
        if self.sent + self.json.len() >= self.max_bytes {
            self.json.truncate(start);
            return if self.count == 0 { Err(QueryError::RowTooLarge) } else { self.end(Cut::Bytes, &key) };
        }
        self.count += 1;
        self.last = Some(key);
        Ok(Next::Wanted)
    }

    /// The rows so far as an array of their own, if they are more than so many bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<String> {
        if self.json.len() <= bytes {
            return None;
        }
        self.sent += self.json.len();
        self.json.push(']');
        Some(std::mem::replace(&mut self.json, String::from("[")))
    }

    pub(crate) fn finish(mut self) -> Rows {
        self.json.push(']');
        let paged = !self.statement.key.is_empty() && self.cut != Cut::Whole;
        Rows { json: self.json, count: self.count, cut: self.cut, last: self.last.filter(|_| paged) }
    }

    /// Ends before the row with this key. If it cannot be told from the last row that was taken, a page
    /// that starts after that row would lose it.
    fn end(&mut self, cut: Cut, key: &[KeyValue]) -> Result<Next, QueryError> {
        self.cut = cut;
        let same = self.last.as_deref() == Some(key);
        if same && !self.statement.key.is_empty() {
            return Err(QueryError::KeyNotUnique);
        }
        Ok(Next::Enough)
    }
}

#[cfg(test)]
mod tests;
