//! A bounded number of threads for blocking work, and stopping work whose caller has left.
//!
//! A place is given back only when the work has really ended, so callers who leave cannot pile up work.
//! The repository is the caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::budget::Budget;
use super::{RepositoryError, work_until};

/// The places for work.
#[derive(Debug)]
pub(super) struct Jobs {
    places: Arc<Semaphore>,
    wait: Duration,
}

impl Jobs {
    pub(super) fn new(concurrency: usize, wait: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(concurrency.max(1))), wait }
    }

    /// Runs blocking work once there is a place. Dropping the future stops the work.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&Budget) -> Result<T, RepositoryError> + Send + 'static,
    ) -> Result<T, RepositoryError> {
        let failed = |detail: &str| RepositoryError::Failed { detail: detail.to_owned() };
        let free =
            timeout_at(deadline.min(Instant::now() + self.wait), Arc::clone(&self.places).acquire_owned());
        let place = free
            .await
            .map_err(|_elapsed| RepositoryError::Busy)?
            .map_err(|_closed| failed("no places are given any more"))?;
        let left = Arc::new(AtomicBool::new(false));
        let guard = LeaveOnDrop(Arc::clone(&left));
        let budget = Budget::new(left, work_until(Instant::now(), deadline));
        let job = tokio::task::spawn_blocking(move || {
            let result = work(&budget);
            drop(place);
            result
        });
        let result = match timeout_at(deadline, job).await {
            Ok(Ok(result)) => result,
            Ok(Err(_panicked)) => Err(failed("the work panicked")),
            Err(_elapsed) => Err(RepositoryError::TimedOut),
        };
        drop(guard);
        result
    }
}

struct LeaveOnDrop(Arc<AtomicBool>);

impl Drop for LeaveOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
