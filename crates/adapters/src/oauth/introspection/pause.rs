//! The pause after questions that failed.
//!
//! It must never end by itself with many questions at once: after a pause one goes first, and the others follow
//! only when it is answered. The introspector asks it before each question.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::oauth::Limits;

/// When the endpoint may be asked.
pub(super) struct Pause {
    state: Mutex<State>,
    /// Failures in a row that are borne.
    borne: u32,
    longest: Duration,
    /// How long the question that goes first may take.
    question: Duration,
}

#[derive(Default)]
struct State {
    failures: u32,
    not_before: Option<Instant>,
}

/// Whose trouble a failed question is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The endpoint would fail for others, too.
    Endpoint,
    /// It may be that token only.
    Token,
}

impl Pause {
    pub(super) fn new(limits: &Limits) -> Self {
        let borne = limits.introspection_failures.max(1);
        Self { state: Mutex::default(), borne, longest: limits.backoff_max, question: limits.fetch_timeout }
    }

    /// Whether a question may be asked now. After a pause that is said to one, until its answer is there.
    pub(super) fn may_ask(&self) -> bool {
        let mut state = self.state();
        let Some(not_before) = state.not_before else { return true };
        let now = Instant::now();
        if now < not_before {
            return false;
        }
        // Whoever leaves without an answer holds the next one up no longer than a question takes.
        state.not_before = Some(now + self.question);
        true
    }

    /// A question was answered.
    pub(super) fn worked(&self) {
        *self.state() = State::default();
    }

    /// A question failed.
    pub(super) fn failed(&self, trouble: Trouble) {
        let mut state = self.state();
        match trouble {
            Trouble::Token => *state = State::default(),
            Trouble::Endpoint => {
                state.failures = state.failures.saturating_add(1);
                if let Some(over) = state.failures.checked_sub(self.borne) {
                    let wait = Duration::from_secs(1) * 2_u32.saturating_pow(over.min(16));
                    state.not_before = Some(Instant::now() + wait.min(self.longest));
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::{Pause, Trouble};
    use crate::oauth::Limits;

    #[tokio::test(start_paused = true)]
    async fn after_failures_in_a_row_one_question_goes_first() {
        let pause = Pause::new(&Limits { introspection_failures: 2, ..Limits::default() });
        pause.failed(Trouble::Endpoint);
        assert!(pause.may_ask() && pause.may_ask(), "one lost answer refuses nobody");
        pause.failed(Trouble::Endpoint);
        assert!(!pause.may_ask());
        advance(Duration::from_secs(1)).await;
        assert!(pause.may_ask());
        assert!(!pause.may_ask(), "the others wait for its answer");
        pause.failed(Trouble::Endpoint);
        advance(Duration::from_millis(1999)).await;
        assert!(!pause.may_ask(), "the pause doubles");
        advance(Duration::from_millis(1)).await;
        assert!(pause.may_ask());
        pause.worked();
        assert!(pause.may_ask() && pause.may_ask());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_has_a_longest_and_one_strange_token_begins_none() {
        let pause = Pause::new(&Limits::default());
        for _ in 0..100 {
            pause.failed(Trouble::Token);
        }
        assert!(pause.may_ask());
        for _ in 0..100 {
            pause.failed(Trouble::Endpoint);
        }
        assert!(!pause.may_ask());
        advance(Limits::default().backoff_max).await;
        assert!(pause.may_ask());
        advance(Limits::default().fetch_timeout).await;
        assert!(pause.may_ask(), "a question that was given up holds up no longer than it may take");
    }
}
