//! Who calls, as the file says it: the authenticator of a gate.
//!
//! There is one rule for several ways to prove it: **a request that carries an `Authorization` header is
//! judged by that header alone.** Only one without it may be local, on stdio, or on a loopback address if the
//! file says so; it must never become local because its credential was refused. The gate makes the authenticator of each snapshot
//! here; one whose settings did not change is kept, with the keys and tokens that it knows.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use callgate_adapters::oauth::{Bearer, Options, OptionsError, StaticToken};
use callgate_core::port::{Answer, Authenticate, Authorization, Clock, Credentials, Transport};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use callgate_server::{ProtectedResource, ServerBuilder, Tls};

/// What the file says of callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) local: Option<Principal>,
    /// Whether callers from this machine are the local one although others have credentials.
    pub(crate) loopback: bool,
    pub(crate) oauth: Option<Options>,
    pub(crate) resource: Option<ProtectedResource>,
    pub(crate) tokens: Vec<StaticToken>,
}

impl Settings {
    fn has_credentials(&self) -> bool {
        self.oauth.is_some() || !self.tokens.is_empty()
    }
}

/// What outlives a snapshot as long as its settings stay the same.
#[derive(Default)]
pub(crate) struct Kept {
    bearer: Mutex<Option<(Settings, Arc<Bearer>)>>,
    tls: Mutex<Option<Tls>>,
}

impl Kept {
    /// What judges credentials; nothing when the file says nothing of them.
    pub(crate) fn bearer(
        &self,
        settings: &Settings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Arc<Bearer>>, OptionsError> {
        let mut kept = self.bearer.lock().unwrap_or_else(PoisonError::into_inner);
        if !settings.has_credentials() {
            *kept = None;
            return Ok(None);
        }
        if let Some((known, bearer)) = &*kept
            && (&known.oauth, &known.tokens) == (&settings.oauth, &settings.tokens)
        {
            return Ok(Some(Arc::clone(bearer)));
        }
        let bearer = Bearer::new(settings.oauth.clone(), settings.tokens.clone(), Arc::clone(clock))?;
        let bearer = Arc::new(bearer);
        *kept = Some((settings.clone(), Arc::clone(&bearer)));
        Ok(Some(bearer))
    }

    /// Keeps the certificate of a server that starts.
    pub(crate) fn begin(&self, tls: Option<Tls>) {
        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = tls;
    }

    /// Puts another certificate in force in a server that runs. False when there is nothing to put it into: a
    /// server begins or ceases to end TLS only when it starts.
    #[must_use]
    pub(crate) fn replace(&self, tls: Option<&Tls>) -> bool {
        let kept = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*kept, tls) {
            (Some(running), Some(new)) => {
                running.replace(new);
                true
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// The certificate in force.
    pub(crate) fn tls(&self) -> Option<Tls> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Says in a builder who calls.
pub(crate) fn install(
    builder: ServerBuilder,
    settings: Settings,
    bearer: Option<Arc<Bearer>>,
) -> ServerBuilder {
    let Settings { local, loopback, resource, .. } = settings;
    let builder = match (local, bearer) {
        (None, None) => builder,
        (Some(local), None) => builder.local_principal(local),
        (local, Some(bearer)) => {
            builder.authenticate(Callers { local: local.map(Arc::new), loopback, bearer })
        }
    };
    match resource {
        Some(resource) => builder.protected_resource(resource),
        None => builder,
    }
}

/// Local callers and those with credentials.
struct Callers {
    local: Option<Arc<Principal>>,
    loopback: bool,
    bearer: Arc<Bearer>,
}

impl Authenticate for Callers {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        let is_here = match credentials.transport {
            Transport::Stdio => true,
            Transport::Loopback => self.loopback,
            _ => false,
        };
        match (credentials.authorization, &self.local) {
            (Authorization::Absent, Some(local)) if is_here => Answer::now(Ok(Arc::clone(local))),
            _ => self.bearer.authenticate(credentials),
        }
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callers")
    }
}
