//! One piece of work of the store, and how its answer is told.

use super::{Rows, Statement, StoreError};

/// What became of a piece of work.
pub(super) type Answered = Result<Vec<Rows>, StoreError>;

/// Statements for one transaction, and who is told what became of them.
pub(super) struct Job {
    pub(super) statements: Vec<Statement>,
    /// It ends something that was begun, and is taken however much waits.
    pub(super) must: bool,
    pub(super) reply: Box<dyn FnOnce(Answered) + Send>,
}

impl Job {
    pub(super) fn answer(self, answer: Answered) {
        (self.reply)(answer);
    }
}
