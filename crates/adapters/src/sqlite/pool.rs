//! A bounded number of connections, each used by one query at a time, and stopping a query midway.
//!
//! A connection goes back only after its statement has ended, so an interrupt never hits the query of
//! another call. The source is the caller.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callgate_core::port::{QueryError, Rows, Statement};
use rusqlite::InterruptHandle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::Options;
use super::authorizer::Access;
use super::brief::{self, Brief};
use super::connection::{Connection, FileId};

/// The connections to one file.
#[derive(Debug)]
pub(super) struct Pool {
    options: Options,
    access: Access,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    brief: Brief,
}

/// What stops the statement of one call.
#[derive(Default)]
struct Stop(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Waiting,
    Running(Arc<AtomicBool>, InterruptHandle),
    Stopped,
}

impl Pool {
    pub(super) fn new(options: Options, access: Access) -> Self {
        // SQLite has one writer at a time.
        let count = if access == Access::Write { 1 } else { options.connections.max(1) };
        let permits = Arc::new(Semaphore::new(count));
        Self { options, access, permits, idle: Mutex::new(Vec::new()), brief: Brief::default() }
    }

    /// Runs a query on this thread, if one is likely to end in microseconds: waking another thread and being woken by it
    /// costs more than most reads. Nothing if it did not end, failed, or may not be tried; then it has to be run as work
    /// that may take its time, from its beginning, and says itself what is wrong.
    pub(super) fn glance(
        &self,
        statement: &Arc<Statement>,
        work: impl FnOnce(&mut Connection) -> Result<Rows, QueryError>,
    ) -> Option<Rows> {
        let tried = self.brief.may_try(statement)?;
        let _permit = self.permits.try_acquire().ok()?;
        // Opening a file may wait for its disk.
        let mut connection = self.opened()?;
        let began = Instant::now();
        let Ok(rows) = connection.briefly(work) else {
            // A connection in an unknown state is closed.
            return None;
        };
        self.give_back(connection);
        let rows = rows.ok();
        tried.ended(rows.is_some() && began.elapsed() < brief::TIME);
        rows
    }

    /// Runs blocking work on a connection, which must come free until then. Dropping the future stops the
    /// work.
    pub(super) async fn run<T: Send + 'static>(
        self: Arc<Self>,
        until: Instant,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, QueryError> {
        let failed = |detail: &str| QueryError::Failed { detail: detail.to_owned() };
        let free = timeout_at(until, Arc::clone(&self.permits).acquire_owned());
        let permit = free.await.map_err(|_| QueryError::Busy)?.map_err(|_| failed("the pool is closed"))?;
        let stop = Arc::new(Stop::default());
        let guard = StopOnDrop(Arc::clone(&stop));
        let job = tokio::task::spawn_blocking(move || {
            let mut connection = self.take()?;
            if !stop.start(&connection) {
                self.give_back(connection);
                return Err(QueryError::TimedOut);
            }
            let result = work(&mut connection);
            stop.end();
            self.give_back(connection);
            drop(permit);
            Ok(result)
        });
        let result = job.await.map_err(|_| failed("the query panicked"))?;
        drop(guard);
        result
    }

    fn take(&self) -> Result<Connection, QueryError> {
        match self.opened() {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.options, self.access),
        }
    }

    /// A connection that is open already.
    fn opened(&self) -> Option<Connection> {
        // A file that was replaced, as nightly exports are, is not the one that is open.
        let file = FileId::of(&self.options.path);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match idle.pop() {
                Some(connection) if connection.file() == file => return Some(connection),
                Some(_) => {}
                None => return None,
            }
        }
    }

    fn give_back(&self, connection: Connection) {
        // A transaction that could not be ended is ended with its connection.
        if !connection.is_autocommit() {
            return;
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Stop {
    /// Notes that a statement may run now, unless the caller has left already.
    fn start(&self, connection: &Connection) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Stopped) {
            return false;
        }
        let flag = connection.stop_flag();
        flag.store(false, Ordering::Relaxed);
        *state = State::Running(flag, connection.interrupt_handle());
        true
    }

    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Stopped;
    }

    fn stop(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(flag, interrupt) = &*state {
            // The interrupt ends a statement that is inside one long step; the flag, read by the progress
            // handler, ends one that has not begun its first step yet.
            flag.store(true, Ordering::Relaxed);
            interrupt.interrupt();
        }
        *state = State::Stopped;
    }
}

struct StopOnDrop(Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
