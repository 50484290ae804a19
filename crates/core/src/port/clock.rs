//! Time and randomness.
//!
//! Nothing else in the gate reads the system's clock or its random source, so tests simulate both.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Wall-clock time. Elapsed time inside a call comes from the runtime, which tests can pause.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Unpredictable bytes for keys, nonces and identifiers.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    ///
    /// # Errors
    /// When the source has failed; the caller must then refuse, never go on with fewer random bits.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError>;
}

/// The random source has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the random source of the system has failed")]
pub struct EntropyError;

/// The operating system's random source, read in pages so that a call costs no system call.
#[derive(Debug, Default)]
pub struct SystemEntropy {
    page: Mutex<Page>,
}

struct Page {
    bytes: [u8; 1024],
    used: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { bytes: [0; 1024], used: 1024 }
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page")
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = buffer.len();
        if wanted > page.bytes.len() {
            return getrandom::fill(buffer).map_err(|_| EntropyError);
        }
        if page.bytes.len() - page.used < wanted {
            getrandom::fill(&mut page.bytes).map_err(|_| EntropyError)?;
            page.used = 0;
        }
        let start = page.used;
        page.used += wanted;
        let Some(fresh) = page.bytes.get_mut(start..start + wanted) else { return Err(EntropyError) };
        buffer.copy_from_slice(fresh);
        // Bytes that were handed out are not kept.
        fresh.fill(0);
        Ok(())
    }
}
