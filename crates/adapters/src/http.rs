//! Services that are reached over HTTP: one source, one host, one credential.
//!
//! It must never speak to another host than the one that it was made for, never follow a redirect, never send what a
//! caller sent to prove who it is, and never send a request twice. What an end of an exchange proves is said by
//! [`proof`]. The gateway's HTTP tools are the caller.

mod address;
mod base;
mod body;
mod client;
mod limits;
mod proof;
mod token;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use callgate_core::port::{Answer, CallerToken, Delegate, Delegated};
use callgate_core::refusal::{Code, Refusal};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use tokio::time::Instant;

pub use base::{Base, BaseError, is_exact_target};
pub use body::BodyFault;
pub use client::{CredentialFault, Failure, Response};
pub use limits::Limits;
pub use proof::{End, Proof, Statuses, proof};
pub use token::{ClientSecret, TokenOptions};

use crate::secret::Secret;
use client::{Client, Outgoing};
use token::Tokens;

/// What a service is reached by.
///
/// # Defaults
/// The authorities of the machine, no credential, no headers, and the default limits.
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    /// Its address.
    pub base: Base,
    /// The certificates of the authorities that it is trusted by, in PEM, instead of those of the machine.
    pub authorities: Option<Vec<u8>>,
    /// What proves to it who asks.
    pub credential: Credential,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// The bounds.
    pub limits: Limits,
}

impl Options {
    /// A service without a credential.
    #[must_use]
    pub fn new(base: Base) -> Self {
        Self {
            base,
            authorities: None,
            credential: Credential::None,
            headers: HeaderMap::new(),
            limits: Limits::default(),
        }
    }
}

/// What proves to a service who asks.
#[derive(Debug)]
#[non_exhaustive]
pub enum Credential {
    /// Nothing.
    None,
    /// A token that does not change.
    Bearer(Secret),
    /// A name and a password.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A header of its own.
    Header {
        /// The name of the header.
        name: HeaderName,
        /// Its value.
        value: Secret,
    },
    /// A token that an authorization server gives to this server.
    Client(TokenOptions),
    /// A token that an authorization server gives for that of the caller (RFC 8693).
    Exchange(TokenOptions),
}

/// Options that give no service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The certificates cannot be read.
    #[error("the certificates of the authorities cannot be read")]
    Authorities,
    /// A secret cannot stand in a header.
    #[error("the secret has characters that no header can have")]
    Secret,
    /// The client cannot be made.
    #[error("the client cannot be made: {0}")]
    Client(String),
}

/// A request of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query below the base, encoded.
    pub target: String,
    /// Its own headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Option<Bytes>,
    /// When it is given up.
    pub deadline: Instant,
}

impl Request {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: Method, target: String, deadline: Instant) -> Self {
        Self { method, target, headers: HeaderMap::new(), body: None, deadline }
    }
}

/// A service.
pub struct Service {
    base: Base,
    client: Client,
    headers: HeaderMap,
    credential: Ready,
    limits: Limits,
}

/// A credential as it is used.
enum Ready {
    None,
    Constant(HeaderName, HeaderValue),
    Client(Arc<Tokens>),
    Exchange(Arc<Tokens>),
}

impl Service {
    /// A service. Nothing is asked of it: it need not be there when a file is loaded.
    ///
    /// # Errors
    /// What of the options cannot be used.
    pub fn new(options: Options) -> Result<Self, OptionsError> {
        let Options { base, authorities, credential, headers, limits } = options;
        let client = Client::new(&base, authorities.as_deref(), &limits)?;
        let tokens = |options| Tokens::new(options, &limits).map(Arc::new);
        let credential = match credential {
            Credential::None => Ready::None,
            Credential::Bearer(token) => Ready::Constant(AUTHORIZATION, bearer(token.expose())?),
            Credential::Basic { user, password } => {
                let pair = Secret::new(STANDARD.encode(format!("{user}:{}", password.expose())));
                Ready::Constant(AUTHORIZATION, sensitive(&format!("Basic {}", pair.expose()))?)
            }
            Credential::Header { name, value } => Ready::Constant(name, sensitive(value.expose())?),
            Credential::Client(options) => Ready::Client(tokens(options)?),
            Credential::Exchange(options) => Ready::Exchange(tokens(options)?),
        };
        Ok(Self { base, client, headers, credential, limits })
    }

    /// What exchanges the tokens of callers for this service, where that is its credential.
    #[must_use]
    pub fn delegate(&self) -> Option<Arc<dyn Delegate>> {
        match &self.credential {
            Ready::Exchange(tokens) => Some(Arc::new(Exchanger(Arc::clone(tokens)))),
            Ready::None | Ready::Constant(..) | Ready::Client(_) => None,
        }
    }

    /// Sends a request and reads its response. `caller` is what the service's [`Delegate`] gave for this call.
    ///
    /// Dropping it closes the exchange; what the service made of the request is not known then.
    ///
    /// # Errors
    /// Why there is no response.
    pub async fn send(&self, request: Request, caller: Option<&Delegated>) -> Result<Response, Failure> {
        let Request { method, target, headers, body, deadline } = request;
        if target.len() > self.limits.target_bytes {
            return Err(Failure::Request("its path and query are too long"));
        }
        let url = self.base.join(&target).ok_or(Failure::Request("its path does not stand for itself"))?;
        let mut all = self.headers.clone();
        // A name that the tool sets replaces that of the source; the credential comes last and replaces both.
        for (name, value) in headers.iter() {
            all.insert(name.clone(), value.clone());
        }
        let used = self.credential(&mut all, caller, deadline).await?;
        let response = self.client.send(Outgoing { method, url, headers: all, body, deadline }).await?;
        if response.status == StatusCode::UNAUTHORIZED
            && let (Some(used), Ready::Client(tokens) | Ready::Exchange(tokens)) = (used, &self.credential)
        {
            tokens.forget(&used);
        }
        Ok(response)
    }

    /// Adds the credential, and gives back the token where it is one that can be had anew.
    async fn credential(
        &self,
        headers: &mut HeaderMap,
        caller: Option<&Delegated>,
        deadline: Instant,
    ) -> Result<Option<Delegated>, Failure> {
        let (name, value, used) = match &self.credential {
            Ready::None => return Ok(None),
            Ready::Constant(name, value) => (name.clone(), value.clone(), None),
            Ready::Client(tokens) => {
                let token = tokens.of_client(deadline).await.map_err(Failure::Credential)?;
                (AUTHORIZATION, of_token(&token)?, Some(token))
            }
            Ready::Exchange(_) => {
                let token = caller.ok_or(Failure::Credential(CredentialFault::NoToken))?;
                (AUTHORIZATION, of_token(token)?, Some(token.clone()))
            }
        };
        headers.insert(name, value);
        Ok(used)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({})", self.base.as_str())
    }
}

/// Exchanges tokens of callers for those of one service.
struct Exchanger(Arc<Tokens>);

impl Delegate for Exchanger {
    fn delegate<'a>(
        &'a self,
        caller: Option<CallerToken<'a>>,
        deadline: Instant,
    ) -> Answer<'a, Result<Delegated, Refusal>> {
        Answer::later(async move {
            let caller = caller.ok_or_else(|| no_credential(&CredentialFault::NoToken))?;
            self.0.of_caller(caller, deadline).await.map_err(|fault| no_credential(&fault))
        })
    }
}

/// What a caller may know of a credential that could not be had.
pub fn no_credential(fault: &CredentialFault) -> Refusal {
    let refusal = match fault {
        CredentialFault::NoToken => Refusal::new(
            Code::Forbidden,
            "the tool speaks to its service in the name of the caller, and this caller has no access token for that",
        ),
        CredentialFault::Refused(_) => {
            Refusal::new(Code::Forbidden, "the authorization server does not let this caller use the service")
        }
        CredentialFault::Unavailable(_) => Refusal::new(
            Code::SourceUnavailable,
            "the service cannot be used now: there is no credential for it",
        ),
    };
    refusal.with_detail(fault)
}

fn of_token(token: &Delegated) -> Result<HeaderValue, Failure> {
    bearer(token.expose()).map_err(|_| Failure::Request("the token cannot stand in a header"))
}

fn bearer(token: &str) -> Result<HeaderValue, OptionsError> {
    sensitive(&format!("Bearer {token}"))
}

fn sensitive(text: &str) -> Result<HeaderValue, OptionsError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| OptionsError::Secret)?;
    value.set_sensitive(true);
    Ok(value)
}
