//! The tables of a trail, in both dialects.
//!
//! They are made once, by opening a new file or by `callgate audit init`, and never changed behind
//! anybody's back: a store of another version is refused. Stores and readers use the texts.

use super::column::{Column, Shape};

/// The version of the tables.
pub(super) const VERSION: i64 = 1;

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

impl Dialect {
    const fn integer(self) -> &'static str {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "integer",
            #[cfg(feature = "postgres")]
            Self::Postgres => "bigint",
        }
    }

    const fn bytes(self) -> &'static str {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "blob",
            #[cfg(feature = "postgres")]
            Self::Postgres => "bytea",
        }
    }

    const fn shape(self, shape: Shape) -> &'static str {
        match shape {
            Shape::Text => "text",
            Shape::Integer => self.integer(),
            Shape::Digest => self.bytes(),
        }
    }

    /// What is made in an empty place.
    pub(super) fn tables(self) -> String {
        let (integer, bytes) = (self.integer(), self.bytes());
        let end = match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => " strict",
            #[cfg(feature = "postgres")]
            Self::Postgres => "",
        };
        let mut columns = String::new();
        for column in Column::ALL {
            let needed = matches!(column, Column::Kind | Column::Time);
            columns.push_str(&format!(
                "  {} {}{},\n",
                column.name(),
                self.shape(column.shape()),
                if needed { " not null" } else { "" }
            ));
        }
        // One index holds every column that is searched. Records come nearly in the order of their times, so
        // it grows at its end, and a search of any combination reads it alone.
        format!(
            "create table callgate_audit_store (\n  one {integer} primary key check (one = 1),\n  version \
             {integer} not null,\n  id text not null,\n  seq {integer} not null,\n  hash {bytes} not null\n){end};\n\
             create table callgate_audit (\n  seq {integer} primary key,\n{columns}  previous {bytes} not null,\n  \
             hash {bytes} not null\n){end};\n\
             create index callgate_audit_search on callgate_audit\n  (time_us, tool, principal, tenant, decision, \
             result, code);\n\
             create index callgate_audit_own on callgate_audit (seq) where kind <> 'call';\n"
        )
    }
}
