//! A future that is often ready when it is made.
//!
//! Ports return it instead of a boxed future, so that an answer from memory costs no allocation.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// An answer that is there, or a future that will give it.
#[must_use = "an answer does nothing until it is awaited"]
pub enum Answer<'a, T> {
    /// The answer, until it is taken.
    Now(Option<T>),
    /// A future that gives the answer.
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Answer<'a, T> {
    /// An answer that is there.
    pub fn now(answer: T) -> Self {
        Self::Now(Some(answer))
    }

    /// An answer that needs to wait.
    pub fn later(future: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(future))
    }
}

impl<'a, T: Unpin + Send + 'a> Answer<'a, T> {
    /// The answer, if it comes in time. One that is there costs no timer.
    ///
    /// # Errors
    /// It did not come in time; its future is dropped.
    pub async fn within(self, time: Duration) -> Result<T, Elapsed> {
        match self {
            Self::Now(Some(answer)) => Ok(answer),
            waiting => timeout(time, waiting).await,
        }
    }
}

impl<T: Unpin> Future for Answer<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            // Polling after completion never resolves; the pipeline awaits each answer once.
            Self::Now(answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            Self::Later(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Now(_) => "Answer::Now",
            Self::Later(_) => "Answer::Later",
        })
    }
}
