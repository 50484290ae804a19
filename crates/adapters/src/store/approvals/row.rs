//! The table of approvals, and the statements on it.
//!
//! Each statement says itself from which states it may lead away. The time is that of the gate, as everywhere
//! else about approvals.

use callgate_core::port::{ApprovalBounds, ApprovalRow, ApprovalState, ApprovalVerdict, Timestamp};
use callgate_core::receipt::CallId;

use crate::store::{Row, Statement};

/// What makes the table.
pub(super) const TABLES: &[&str] = &[
    "create table callgate_approval (id text not null primary key, binding {bytes}, owner {bytes} not null, \
     subject text not null, tenant text, tool text not null, shown text not null, \
     second_person {integer} not null, created_us {integer} not null, expires_us {integer} not null, \
     state text not null, decided_by text, reason text, burned_by text){strict}",
    "create unique index callgate_approval_open on callgate_approval (binding) \
     where binding is not null and state <> 'burned'",
    "create index callgate_approval_expires on callgate_approval (expires_us)",
    "create index callgate_approval_owner on callgate_approval (owner)",
];

/// The columns that are read, in the order of [`read`].
const COLUMNS: &str = "id, binding, owner, subject, tenant, tool, shown, second_person, created_us, expires_us, state, \
                       decided_by, reason";

/// A row that was read.
pub(super) fn read(row: &Row) -> Option<ApprovalRow> {
    let text = |at| row.text(at).map(str::to_owned);
    let time = |at| row.integer(at).map(Timestamp);
    let state = ApprovalState::of_name(row.text(10)?)?;
    let mut read = ApprovalRow::new(row.text(0)?.parse().ok()?, row.digest(2)?, state, time(8)?, time(9)?);
    read.binding = row.digest(1);
    read.subject = text(3)?;
    read.tenant = text(4);
    read.tool = text(5)?;
    read.text = text(6)?;
    read.second_person = row.integer(7)? != 0;
    read.by = text(11);
    read.reason = text(12);
    Some(read)
}

/// A text without zero bytes, which PostgreSQL does not keep.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// Has every other step of the part wait until the transaction has ended, on all instances, and takes away what is
/// over.
fn alone(now: Timestamp) -> [Statement; 2] {
    [
        Statement::new("update callgate_part set version = version where name = 'approvals'"),
        Statement::new("delete from callgate_approval where expires_us <= $1").bind(now.0),
    ]
}

/// Puts a row in, if so many are there at most of those that count, and of those of its owner.
fn keep(row: &ApprovalRow, bounds: ApprovalBounds, counts: &'static str, unless: &'static str) -> Statement {
    let bound = |bound: usize| i64::try_from(bound).unwrap_or(i64::MAX);
    let sql = format!(
        "insert into callgate_approval ({COLUMNS}) select cast($1 as text), cast($2 as {{bytes}}), \
         cast($3 as {{bytes}}), cast($4 as text), cast($5 as text), cast($6 as text), cast($7 as text), \
         cast($8 as {{integer}}), cast($9 as {{integer}}), cast($10 as {{integer}}), cast($11 as text), \
         cast($12 as text), cast($13 as text) \
         where (select count(*) from callgate_approval where {counts} and owner = cast($3 as {{bytes}})) \
         < cast($14 as {{integer}}) \
         and (select count(*) from callgate_approval where {counts}) < cast($15 as {{integer}}) \
         and not exists (select 1 from callgate_approval where {unless}) on conflict do nothing returning id"
    );
    Statement::new(sql)
        .bind(row.id.to_string())
        .bind(row.binding)
        .bind(row.owner)
        .bind(clean(&row.subject))
        .bind(row.tenant.as_deref().map(clean))
        .bind(clean(&row.tool))
        .bind(clean(&row.text))
        .bind(i64::from(row.second_person))
        .bind(row.created.0)
        .bind(row.expires.0)
        .bind(row.state.as_str())
        .bind(row.by.as_deref().map(clean))
        .bind(row.reason.as_deref().map(clean))
        .bind(bound(bounds.of_owner))
        .bind(bound(bounds.total))
}

/// The last three give the row that was burned, the id of the one that was kept, and the one that is open.
pub(super) fn claim(row: &ApprovalRow, bounds: ApprovalBounds, now: Timestamp) -> Vec<Statement> {
    let mut statements = Vec::from(alone(now));
    statements.push(
        Statement::new(format!(
            "update callgate_approval set state = 'burned', burned_by = $1 \
             where binding = $2 and state = 'granted' returning {COLUMNS}"
        ))
        .bind(row.id.to_string())
        .bind(row.binding),
    );
    let open = "binding is not null and state <> 'burned'";
    // A call that has burned an approval asks for no other one.
    statements.push(keep(row, bounds, open, "burned_by = cast($1 as text)"));
    statements.push(
        Statement::new(format!(
            "select {COLUMNS} from callgate_approval where binding = $1 and state <> 'burned'"
        ))
        .bind(row.binding),
    );
    statements
}

/// The last two give the id of the row if it was kept, and if it is there.
pub(super) fn use_up(row: &ApprovalRow, bounds: ApprovalBounds, now: Timestamp) -> Vec<Statement> {
    let mut statements = Vec::from(alone(now));
    statements.push(keep(row, bounds, "binding is null", "id = cast($1 as text)"));
    statements
        .push(Statement::new("select id from callgate_approval where id = $1").bind(row.id.to_string()));
    statements
}

/// The last two give the row if it was decided, and as it is now.
pub(super) fn rule(id: CallId, verdict: &ApprovalVerdict, now: Timestamp) -> Vec<Statement> {
    let mut statements = Vec::from(alone(now));
    let state = if verdict.granted { ApprovalState::Granted } else { ApprovalState::Denied };
    statements.push(
        Statement::new(format!(
            "update callgate_approval set state = cast($1 as text), decided_by = cast($2 as text), \
             reason = cast($3 as text), expires_us = case when expires_us < cast($4 as {{integer}}) \
             then cast($4 as {{integer}}) else expires_us end \
             where id = cast($5 as text) and binding is not null and state = 'pending' \
             and not (cast($1 as text) = 'granted' and second_person <> 0 and subject = cast($2 as text)) \
             returning {COLUMNS}"
        ))
        .bind(state.as_str())
        .bind(clean(&verdict.by))
        .bind(verdict.reason.as_deref().map(clean))
        .bind(verdict.until.0)
        .bind(id.to_string()),
    );
    statements.push(get(id, now));
    statements
}

/// One approval that people decide.
pub(super) fn get(id: CallId, now: Timestamp) -> Statement {
    Statement::new(format!(
        "select {COLUMNS} from callgate_approval where id = $1 and binding is not null and expires_us > $2"
    ))
    .bind(id.to_string())
    .bind(now.0)
}

/// Approvals that people decide, the oldest first.
pub(super) fn list(max: usize, now: Timestamp) -> Statement {
    Statement::new(format!(
        "select {COLUMNS} from callgate_approval where binding is not null and expires_us > $1 \
         order by id limit $2"
    ))
    .bind(now.0)
    .bind(i64::try_from(max).unwrap_or(i64::MAX))
}
