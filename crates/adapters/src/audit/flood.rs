//! Refusals that come faster than anybody reads them: the first ones have a record of their own, the rest are
//! counted, and a record of the counts is written for each caller and reason.
//!
//! It must never lose a refusal and never keep more than its bounds: what does not fit is counted under one
//! heading for all. The port asks it, the writer takes the counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use callgate_core::port::{Record, ResultKind};
use callgate_core::receipt::EffectStatus;
use callgate_core::refusal::Code;
use callgate_protocol::json::push_integer;

use super::Limits;
use super::body::{Body, Value, bounded};
use super::column::Column;

/// The kind of a record that stands for many refusals.
pub(super) const REFUSALS: &str = "refusals";

/// Who was refused: the part of a record that counts are kept by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Caller {
    /// Somebody who is known.
    Known { principal: Box<str>, tenant: Option<Box<str>> },
    /// Somebody without a credential that holds.
    Unknown(&'static str),
    /// All those for whom there was no room.
    Others,
}

/// How many calls of one caller were refused for one reason, and from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    refused: u64,
    since_us: i64,
    until_us: i64,
}

/// Counts by caller and reason.
pub(super) type Counts = BTreeMap<(Caller, &'static str), Count>;

/// What came in this second, and what was counted since the last record of counts.
#[derive(Default)]
pub(super) struct Flood(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    second: i64,
    /// Records of their own in this second.
    own: HashMap<Caller, u32>,
    total: u32,
    counted: Counts,
    since_us: Option<i64>,
}

impl Flood {
    /// Whether a record is written on its own. A refusal for which this says no has been counted.
    pub(super) fn writes(&self, record: &Record<'_>, now_us: i64, has_room: bool, limits: &Limits) -> bool {
        let Some((caller, code)) = refused(record) else { return true };
        let mut inner = self.lock();
        let second = now_us.div_euclid(1_000_000);
        // A clock that was set back begins another second, too.
        if inner.second != second {
            inner.second = second;
            inner.own.clear();
            inner.total = 0;
        }
        let known = inner.own.get(&caller).copied().unwrap_or(0);
        let knows = known > 0 || inner.own.len() < limits.refusal_callers;
        if has_room && knows && known < limits.refusals_of_caller && inner.total < limits.refusals_of_all {
            inner.total += 1;
            inner.own.insert(caller, known + 1);
            return true;
        }
        let one = Count { refused: 1, since_us: now_us, until_us: now_us };
        inner.count((caller, code.as_str()), one, limits);
        false
    }

    /// What was counted, if it is time to write it, or in any case. It is handed over: who cannot write it gives
    /// it back.
    pub(super) fn take(&self, now_us: i64, anyway: bool, limits: &Limits) -> Counts {
        let mut inner = self.lock();
        let every = i64::try_from(limits.refusals_every.as_micros()).unwrap_or(i64::MAX);
        // Whatever the clock does, counts do not wait longer than that.
        let is_due = inner
            .since_us
            .is_some_and(|since| now_us.saturating_sub(since).unsigned_abs() >= every.unsigned_abs());
        if !is_due && !anyway {
            return Counts::new();
        }
        inner.since_us = None;
        std::mem::take(&mut inner.counted)
    }

    /// Takes back what could not be written.
    pub(super) fn give_back(&self, counts: Counts, limits: &Limits) {
        let mut inner = self.lock();
        for (key, count) in counts {
            inner.count(key, count, limits);
        }
    }

    /// How many refusals have no record yet.
    #[cfg(test)]
    pub(super) fn counted(&self) -> u64 {
        refused_in(&self.lock().counted)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn count(&mut self, key: (Caller, &'static str), more: Count, limits: &Limits) {
        self.since_us.get_or_insert(more.since_us);
        let (caller, code) = key;
        let has_room = self.counted.len() < limits.refusal_callers;
        let key = (caller, code);
        // The last heading takes the rest; there are as many of it as there are codes.
        let key = if has_room || self.counted.contains_key(&key) { key } else { (Caller::Others, code) };
        let count = self.counted.entry(key).or_insert(Count { refused: 0, ..more });
        count.refused = count.refused.saturating_add(more.refused);
        count.since_us = count.since_us.min(more.since_us);
        count.until_us = count.until_us.max(more.until_us);
    }
}

/// Who was refused and why; nothing for a call that was not refused.
fn refused(record: &Record<'_>) -> Option<(Caller, Code)> {
    // A call that used up an approval, or that nobody knows to have changed nothing, is evidence whatever refused it.
    let is_plain = !record.approved && matches!(record.effect, EffectStatus::None | EffectStatus::NotStarted);
    let refused = record.result == ResultKind::Refused && is_plain;
    let code = record.code.filter(|code| refused && is_cheap(*code))?;
    let caller = match record.principal {
        Some(principal) => {
            Caller::Known { principal: principal.subject.clone(), tenant: principal.tenant.clone() }
        }
        None => Caller::Unknown(record.transport.as_str()),
    };
    Some((caller, code))
}

/// Whether somebody who may do nothing here can make refusals of this kind as fast as they like, and each says the
/// same as the one before. What a policy, an approval or the ledger refused is evidence one by one.
fn is_cheap(code: Code) -> bool {
    matches!(
        code,
        Code::Unauthenticated
            | Code::InvalidToken
            | Code::MalformedCredential
            | Code::IdentityUnavailable
            | Code::MalformedCall
            | Code::HeaderMismatch
            | Code::UnknownTool
            | Code::RateLimited
            | Code::Busy
            | Code::GateUnavailable
    )
}

/// How many refusals are counted there.
pub(super) fn refused_in(counts: &Counts) -> u64 {
    counts.values().fold(0, |sum, count| sum.saturating_add(count.refused))
}

/// The records of counts.
pub(super) fn bodies(counts: &Counts, time_us: i64, limits: &Limits) -> Vec<Body> {
    let of = |((caller, code), count): (&(Caller, &'static str), &Count)| {
        let mut body = Body::new(REFUSALS, time_us);
        match caller {
            Caller::Known { principal, tenant } => {
                body.set(Column::Principal, Value::Text(bounded(principal, limits.identity)));
                if let Some(tenant) = tenant {
                    body.set(Column::Tenant, Value::Text(bounded(tenant, limits.identity)));
                }
            }
            Caller::Unknown(transport) => body.set(Column::Transport, Value::Word(transport)),
            Caller::Others => {}
        }
        body.set(Column::Result, Value::Word(ResultKind::Refused.as_str()));
        body.set(Column::Code, Value::Word(code));
        let mut detail = String::from("{\"refused\":");
        push_integer(&mut detail, count.refused);
        detail.push_str(",\"since_us\":");
        push_integer(&mut detail, count.since_us);
        detail.push_str(",\"until_us\":");
        push_integer(&mut detail, count.until_us);
        detail.push_str(match caller {
            Caller::Others => ",\"callers\":\"others\"}",
            Caller::Known { .. } | Caller::Unknown(_) => "}",
        });
        body.set(Column::Detail, Value::Text(detail));
        body
    };
    counts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use callgate_core::port::{Record, ResultKind, Timestamp};
    use callgate_core::principal::Principal;
    use callgate_core::receipt::CallId;
    use callgate_core::refusal::Code;

    use super::{Flood, bodies};
    use crate::audit::{Column, Limits};

    fn limits() -> Limits {
        Limits { refusals_of_caller: 2, refusals_of_all: 5, refusal_callers: 3, ..Limits::default() }
    }

    fn record<'a>(principal: Option<&'a Principal>, result: ResultKind, code: Option<Code>) -> Record<'a> {
        let mut record = Record::new(CallId::new(0, &[0; 10]), Timestamp(0), "t", result);
        record.principal = principal;
        record.code = code;
        record
    }

    #[test]
    fn the_first_refusals_of_a_second_have_records_and_the_rest_are_counted() {
        let (flood, limits) = (Flood::default(), limits());
        let dana = Principal::new("dana");
        let refused = record(Some(&dana), ResultKind::Refused, Some(Code::RateLimited));
        let own: Vec<bool> = (0..4).map(|_| flood.writes(&refused, 7, true, &limits)).collect();
        assert_eq!(own, [true, true, false, false], "at the bound and past it");
        assert!(flood.writes(&refused, 1_000_000, true, &limits), "another second");
        assert!(!flood.writes(&refused, 1_000_000, false, &limits), "no room in the queue");
        let answered = record(Some(&dana), ResultKind::Complete, None);
        assert!(
            (0..50).all(|_| flood.writes(&answered, 7, false, &limits)),
            "what was answered is never counted"
        );
        let forbidden = record(Some(&dana), ResultKind::Refused, Some(Code::Forbidden));
        assert!((0..50).all(|_| flood.writes(&forbidden, 7, false, &limits)), "each is evidence");
        let mut approved = record(Some(&dana), ResultKind::Refused, Some(Code::GateUnavailable));
        approved.approved = true;
        assert!((0..50).all(|_| flood.writes(&approved, 7, false, &limits)), "an approval was used up");
        assert_eq!(flood.counted(), 3);
    }

    #[test]
    fn all_callers_together_have_a_bound_too() {
        let (flood, limits) = (Flood::default(), limits());
        let mut own = 0;
        for name in 0..100 {
            let principal = Principal::new(format!("p{name}"));
            let refused = record(Some(&principal), ResultKind::Refused, Some(Code::UnknownTool));
            own += u64::from(flood.writes(&refused, 0, true, &limits));
        }
        assert_eq!(own, 3, "more callers than the table holds");
        assert_eq!(flood.counted(), 97, "nothing is lost");
        let counts = flood.take(0, true, &limits);
        assert_eq!(counts.len(), 4, "three callers and the rest");
        let bodies = bodies(&counts, 9, &limits);
        let last = bodies.last().unwrap();
        assert_eq!(
            last.text(Column::Detail),
            Some(r#"{"refused":94,"since_us":0,"until_us":0,"callers":"others"}"#)
        );
        assert_eq!(flood.counted(), 0);
    }

    #[test]
    fn counts_are_due_after_their_time_and_are_taken_back_when_they_could_not_be_written() {
        let (flood, limits) = (Flood::default(), limits());
        let refused = record(None, ResultKind::Refused, Some(Code::Unauthenticated));
        for _ in 0..3 {
            flood.writes(&refused, 1_500_000, true, &limits);
        }
        assert!(flood.take(11_499_999, false, &limits).is_empty());
        let counts = flood.take(11_500_000, false, &limits);
        assert_eq!(counts.len(), 1);
        flood.give_back(counts, &limits);
        flood.writes(&refused, 11_500_000, false, &limits);
        assert_eq!(flood.counted(), 2);
        let counts = flood.take(0, true, &limits);
        let bodies = bodies(&counts, 12_000_000, &limits);
        assert_eq!(bodies.len(), 1);
        assert_eq!(
            bodies[0].text(Column::Detail),
            Some(r#"{"refused":2,"since_us":1500000,"until_us":11500000}"#)
        );
        assert_eq!(bodies[0].text(Column::Code), Some("unauthenticated"));
        assert_eq!(limits.refusals_every, Duration::from_secs(10));
    }
}
