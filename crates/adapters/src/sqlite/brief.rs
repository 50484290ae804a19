//! Which statements are run where the call itself runs, because they end in microseconds.
//!
//! A statement that did not end soon twice in a row is left to the threads for blocking work for a while, and for twice as
//! long each time that it is tried again and does not. Once says nothing: another process may have had the core. It is a
//! guess that costs time when it is wrong and nothing else. The pool asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use callgate_core::port::Statement;

/// What is brief. Whoever waits for the same thread waits so long at most, but for one step that takes longer by itself.
pub(super) const TIME: Duration = Duration::from_micros(500);
/// How many runs a statement is left out after two that were not brief.
const FIRST: u32 = 16;
/// How many at most.
const MOST: u32 = 4096;
/// Statements that are told apart; those that share a place also share its guess.
const PLACES: usize = 64;

/// What is known of the statements of one source.
#[derive(Debug)]
pub(super) struct Brief([Place; PLACES]);

#[derive(Debug, Default)]
struct Place {
    /// Runs that are still left out.
    left_out: AtomicU32,
    /// How many are left out the next time; none after a run that was brief.
    next: AtomicU32,
}

/// A try that was allowed, and has to tell how it ended.
pub(super) struct Try<'b>(&'b Place);

impl Default for Brief {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Place::default()))
    }
}

impl Brief {
    /// Whether the statement may be tried now.
    pub(super) fn may_try(&self, statement: &Arc<Statement>) -> Option<Try<'_>> {
        // Its address tells it apart as long as it is in force. The lowest bits are the same for all.
        let place = self.0.get((Arc::as_ptr(statement).addr() >> 5) % PLACES)?;
        // Calls at the same time may both count, or neither: it is a guess.
        match place.left_out.load(Ordering::Relaxed) {
            0 => Some(Try(place)),
            left => {
                place.left_out.store(left - 1, Ordering::Relaxed);
                None
            }
        }
    }
}

impl Try<'_> {
    /// Whether it was brief.
    pub(super) fn ended(self, was_brief: bool) {
        let Self(place) = self;
        if was_brief {
            place.next.store(0, Ordering::Relaxed);
        } else {
            let runs = place.next.load(Ordering::Relaxed);
            place.left_out.store(runs, Ordering::Relaxed);
            place.next.store((runs * 2).clamp(FIRST, MOST), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate_core::port::Statement;

    use super::{Brief, FIRST, MOST};

    fn statement() -> Arc<Statement> {
        Arc::new(Statement { sql: "select 1".to_owned(), columns: Vec::new(), key: Vec::new() })
    }

    fn runs_left_out(brief: &Brief, statement: &Arc<Statement>) -> u32 {
        (0..).find(|_| brief.may_try(statement).is_some()).unwrap()
    }

    #[test]
    fn a_statement_that_is_not_brief_is_left_out_for_longer_each_time() {
        let (brief, statement) = (Brief::default(), statement());
        let ends = |was_brief| {
            brief.may_try(&statement).unwrap().ended(was_brief);
            runs_left_out(&brief, &statement)
        };
        assert_eq!(ends(false), 0, "once says nothing");
        let mut before = 0;
        for _ in 0..20 {
            let runs = ends(false);
            assert_eq!(runs, (before * 2).clamp(FIRST, MOST), "after {before}");
            before = runs;
        }
        assert_eq!((ends(true), ends(false), ends(false)), (0, 0, FIRST));
    }
}
