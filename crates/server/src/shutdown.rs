//! The graceful end: one handle that a signal or a caller pulls, and that every transport watches.
//!
//! It must never decide what a transport does with the time it has left; it only says that the end has
//! begun, and whether waiting is still wanted. The accept loop, the streams and the serve functions
//! hold clones of it.

use std::fmt;
use std::io;

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// A handle on the end of a server. Clones are one handle.
#[derive(Clone, Default)]
pub struct Shutdown {
    begun: CancellationToken,
    forced: CancellationToken,
}

impl Shutdown {
    /// A handle that nobody has pulled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle that the process pulls on SIGTERM or SIGINT (Ctrl-C where there are no signals). A second
    /// signal means that waiting is no longer wanted.
    ///
    /// # Errors
    /// When the operating system refuses to tell of signals, or outside a Tokio runtime with I/O.
    pub fn on_signal() -> io::Result<Self> {
        let shutdown = Self::new();
        let pulled = shutdown.clone();
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            signals.next().await;
            tracing::info!("shutting down; a second signal ends it at once");
            pulled.begin();
            signals.next().await;
            pulled.force();
        });
        Ok(shutdown)
    }

    /// Begins the end: nothing new is accepted, what was accepted is answered.
    pub fn begin(&self) {
        self.begun.cancel();
    }

    /// Ends the waiting too: what is not answered yet is answered with an error.
    pub fn force(&self) {
        self.begun.cancel();
        self.forced.cancel();
    }

    /// True from [`Shutdown::begin`] on.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.begun.is_cancelled()
    }

    /// Waits until the end has begun. Cancel safe.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// Waits until nobody wants to wait any longer. Cancel safe.
    pub(crate) fn forced(&self) -> WaitForCancellationFuture<'_> {
        self.forced.cancelled()
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown").field("begun", &self.is_begun()).finish_non_exhaustive()
    }
}

/// The signals that end a process.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Ctrl-C, where there are no signals.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on systems with signals")]
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a way to hear of Ctrl-C the end comes only through the handle.
            std::future::pending::<()>().await;
        }
    }
}
