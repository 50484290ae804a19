//! A batch of a client of 2025-03-26: several requests in one line, answered by one array.
//!
//! It must never wait for a member that was cancelled, and never answer a batch that asks nothing. The
//! connection fills it; only that revision has batches
//! (<https://modelcontextprotocol.io/specification/2025-03-26/basic#batching>).

use callgate_protocol::Id;
use futures_util::future::{AbortHandle, Abortable, join_all};

use super::flights::Work;

/// The requests of one batch.
#[derive(Default)]
pub(super) struct Batch {
    members: Vec<(Id, AbortHandle)>,
    work: Vec<Abortable<Work>>,
    answers: Vec<String>,
}

impl Batch {
    /// True when a request of that id is in the batch.
    pub(super) fn has(&self, id: &Id) -> bool {
        self.members.iter().any(|(known, _)| known == id)
    }

    /// Takes a request in.
    pub(super) fn push(&mut self, id: Id, work: Work) {
        let (handle, registration) = AbortHandle::new_pair();
        self.members.push((id, handle));
        self.work.push(Abortable::new(work, registration));
    }

    /// Takes an answer in that is known at once.
    pub(super) fn push_answer(&mut self, text: String) {
        self.answers.push(text);
    }

    /// The work of the whole batch, with a handle for each request; nothing when there is nothing to answer.
    pub(super) fn into_work(self) -> Option<(Vec<(Id, AbortHandle)>, Work)> {
        if self.work.is_empty() && self.answers.is_empty() {
            return None;
        }
        let (mut answers, work) = (self.answers, self.work);
        let work: Work = Box::pin(async move {
            answers.extend(join_all(work).await.into_iter().filter_map(Result::ok).flatten());
            (!answers.is_empty()).then(|| crate::legacy::join_batch(&answers))
        });
        Some((self.members, work))
    }
}
