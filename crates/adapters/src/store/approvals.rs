//! Approvals in a store: rows that outlive the process, are shared by all instances, and are decided by people
//! with `callgate approve`.
//!
//! Each step of the port is one transaction that first locks the part, so of two at once one comes first, on
//! whatever instance. It never gives back what was used or declined; the states are in `docs/design/approvals.md`.

mod row;

use callgate_core::port::{
    Answer, ApprovalBounds, ApprovalRow, ApprovalState, ApprovalVerdict, Approvals, Claimed, Ruled,
    Timestamp, Used,
};
use callgate_core::receipt::CallId;
use callgate_core::refusal::{Code, Refusal};

use super::migrate::Part;
use super::{Rows, Statement, Store, StoreError, first};

/// The tables of the approvals.
pub const PART: Part = Part::new("approvals", &[row::TABLES]);

/// Approvals in a store.
#[derive(Clone, Debug)]
pub struct StoreApprovals {
    store: Store,
}

impl StoreApprovals {
    /// The approvals of a store whose tables are there.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    async fn run(&self, statements: Vec<Statement>) -> Result<Vec<Rows>, Refusal> {
        self.store.run(statements).await.map_err(|error| refused(&error))
    }
}

fn refused(error: &StoreError) -> Refusal {
    Refusal::new(Code::GateUnavailable, "the approvals cannot be reached now")
        .with_detail(format_args!("{error}; {}", error.remedy()))
}

fn damaged() -> Refusal {
    Refusal::new(Code::GateUnavailable, "the approvals cannot be reached now")
        .with_detail("a row of an approval cannot be read")
}

/// The row that a statement gave, if any.
fn only(rows: Rows) -> Result<Option<ApprovalRow>, Refusal> {
    rows.first().map(|found| row::read(found).ok_or_else(damaged)).transpose()
}

/// The answers of the last statements, in their order.
fn last<const N: usize>(answers: Vec<Rows>) -> Result<[Rows; N], Refusal> {
    let from = answers.len().saturating_sub(N);
    answers.into_iter().skip(from).collect::<Vec<_>>().try_into().map_err(|_| damaged())
}

impl Approvals for StoreApprovals {
    fn reaches_people(&self) -> bool {
        true
    }

    fn claim(
        &self,
        row: ApprovalRow,
        bounds: ApprovalBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Claimed, Refusal>> {
        Answer::later(async move {
            let answers = self.run(row::claim(&row, bounds, now)).await?;
            let [burned, _kept, open] = last(answers)?;
            if let Some(burned) = only(burned)? {
                return Ok(Claimed::Burned(burned));
            }
            Ok(match only(open)? {
                None => Claimed::Full,
                Some(open) if open.state == ApprovalState::Denied => Claimed::Denied(open),
                Some(open) => Claimed::Pending(open),
            })
        })
    }

    fn use_up(
        &self,
        row: ApprovalRow,
        bounds: ApprovalBounds,
        now: Timestamp,
    ) -> Answer<'_, Result<Used, Refusal>> {
        Answer::later(async move {
            let [kept, known] = last(self.run(row::use_up(&row, bounds, now)).await?)?;
            Ok(match (kept.is_empty(), known.is_empty()) {
                (false, _) => Used::First,
                (true, false) => Used::Again,
                (true, true) => Used::Full,
            })
        })
    }

    fn rule(
        &self,
        id: CallId,
        verdict: ApprovalVerdict,
        now: Timestamp,
    ) -> Answer<'_, Result<Ruled, Refusal>> {
        Answer::later(async move {
            let [done, known] = last(self.run(row::rule(id, &verdict, now)).await?)?;
            if let Some(done) = only(done)? {
                return Ok(Ruled::Done(done));
            }
            Ok(match only(known)? {
                None => Ruled::Unknown,
                Some(row) if row.state != ApprovalState::Pending => Ruled::Settled(row),
                Some(row) => Ruled::OwnCall(row),
            })
        })
    }

    fn get(&self, id: CallId, now: Timestamp) -> Answer<'_, Result<Option<ApprovalRow>, Refusal>> {
        Answer::later(async move { only(first(self.run(vec![row::get(id, now)]).await?)) })
    }

    fn list(&self, max: usize, now: Timestamp) -> Answer<'_, Result<Vec<ApprovalRow>, Refusal>> {
        Answer::later(async move {
            let rows = first(self.run(vec![row::list(max, now)]).await?);
            rows.iter().map(|found| row::read(found).ok_or_else(damaged)).collect()
        })
    }
}
