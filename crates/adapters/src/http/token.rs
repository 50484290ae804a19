//! Tokens for services, from their authorization server: for this server itself (client credentials), or for a
//! caller in exchange for the caller's own (RFC 8693).
//!
//! It must never give out a token past its end, never one caller's to another, and never the caller's own. Each
//! token is asked for once, however many calls wait for it. The service calls it.

mod answer;
mod slot;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use callgate_core::port::{CallerToken, Delegated};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

use super::client::{Client, CredentialFault, Outgoing};
use super::{Base, Limits, OptionsError, sensitive};
use crate::form::{push_encoded, push_field};
use crate::secret::Secret;
use slot::{Kept, Slot};

/// The kind of token that is exchanged and wanted (RFC 8693, section 3).
pub(super) const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// How an authorization server is asked for tokens of a service.
#[derive(Debug)]
#[non_exhaustive]
pub struct TokenOptions {
    /// Its token endpoint.
    pub endpoint: Base,
    /// The certificates of the authorities that it is trusted by, in PEM, instead of those of the machine.
    pub authorities: Option<Vec<u8>>,
    /// Who this server is there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Secret,
    /// How the secret is sent.
    pub sent: ClientSecret,
    /// The scopes of the tokens; those of the client where there are none.
    pub scopes: Vec<String>,
    /// The service that the tokens are for (RFC 8707).
    pub resource: Option<String>,
    /// The name of the service at the authorization server, where it has one (RFC 8693).
    pub audience: Option<String>,
}

impl TokenOptions {
    /// Options without scopes, resource and audience.
    #[must_use]
    pub fn new(endpoint: Base, client_id: String, client_secret: Secret) -> Self {
        Self {
            endpoint,
            authorities: None,
            client_id,
            client_secret,
            sent: ClientSecret::Basic,
            scopes: Vec::new(),
            resource: None,
            audience: None,
        }
    }
}

/// How a client proves to a token endpoint who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientSecret {
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

/// The digest of a caller's token; zeros for this server itself, which no digest is.
type Key = [u8; 32];

/// Tokens for one service.
pub(super) struct Tokens {
    client: Client,
    options: TokenOptions,
    authorization: Option<HeaderValue>,
    limits: Limits,
    slots: Mutex<BTreeMap<Key, Arc<Slot>>>,
}

impl Tokens {
    pub(super) fn new(options: TokenOptions, limits: &Limits) -> Result<Self, OptionsError> {
        let mut own = limits.clone();
        own.response_bytes = limits.token_bytes;
        own.decoded_bytes = limits.token_bytes;
        let client = Client::new(&options.endpoint, options.authorities.as_deref(), &own)?;
        let authorization = match options.sent {
            ClientSecret::Post => None,
            ClientSecret::Basic => {
                let mut pair = String::new();
                push_encoded(&mut pair, &options.client_id);
                pair.push(':');
                push_encoded(&mut pair, options.client_secret.expose());
                Some(sensitive(&format!("Basic {}", STANDARD.encode(Secret::new(pair).expose())))?)
            }
        };
        Ok(Self { client, options, authorization, limits: own, slots: Mutex::default() })
    }

    /// The token of this server itself.
    pub(super) async fn of_client(&self, deadline: Instant) -> Result<Delegated, CredentialFault> {
        self.token(
            [0; 32],
            deadline,
            || {
                let mut form = String::new();
                push_field(&mut form, "grant_type", "client_credentials");
                form
            },
            None,
        )
        .await
    }

    /// The token for a caller.
    pub(super) async fn of_caller(
        &self,
        caller: CallerToken<'_>,
        deadline: Instant,
    ) -> Result<Delegated, CredentialFault> {
        let key: Key = Sha256::digest(caller.expose().as_bytes()).into();
        self.token(
            key,
            deadline,
            || {
                let mut form = String::new();
                push_field(&mut form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
                push_field(&mut form, "subject_token", caller.expose());
                push_field(&mut form, "subject_token_type", ACCESS_TOKEN);
                push_field(&mut form, "requested_token_type", ACCESS_TOKEN);
                form
            },
            Some(caller),
        )
        .await
    }

    /// Lets go of a token that the service did not accept.
    pub(super) fn forget(&self, token: &Delegated) {
        for slot in self.slots().values() {
            slot.forget(token);
        }
    }

    /// The token that is kept, or a new one. Of all that wait for one only the first asks; when it gives up, the
    /// next one does.
    async fn token(
        &self,
        key: Key,
        deadline: Instant,
        grant: impl FnOnce() -> String,
        caller: Option<CallerToken<'_>>,
    ) -> Result<Delegated, CredentialFault> {
        let slot = self.slot(key);
        if let Some(kept) = slot.kept() {
            return kept;
        }
        let late = |_| CredentialFault::Unavailable("did not answer in time".to_owned());
        let _turn = timeout_at(deadline, slot.turn.acquire())
            .await
            .map_err(late)?
            .map_err(|error| CredentialFault::Unavailable(error.to_string()))?;
        // Whoever had the turn before may have left one.
        if let Some(kept) = slot.kept() {
            return kept;
        }
        let asked = self.ask(grant(), deadline.min(Instant::now() + self.limits.token_timeout)).await;
        let answered = asked.and_then(|(status, body)| answer::read(status, body, caller, &self.limits));
        let now = Instant::now();
        slot.keep(match &answered {
            Ok((token, until)) => Kept::Token(token.clone(), *until),
            Err(fault) => Kept::Fault(fault.clone(), now + self.limits.token_pause),
        });
        if let Err(fault) = &answered {
            tracing::warn!(%fault, "there is no token for a service");
        }
        answered.map(|(token, _)| token)
    }

    async fn ask(&self, mut form: String, deadline: Instant) -> Result<(u16, Vec<u8>), CredentialFault> {
        let options = &self.options;
        if !options.scopes.is_empty() {
            push_field(&mut form, "scope", &options.scopes.join(" "));
        }
        for (name, value) in [("resource", &options.resource), ("audience", &options.audience)] {
            if let Some(value) = value {
                push_field(&mut form, name, value);
            }
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        match &self.authorization {
            Some(value) => {
                headers.insert(AUTHORIZATION, value.clone());
            }
            None => {
                push_field(&mut form, "client_id", &options.client_id);
                push_field(&mut form, "client_secret", options.client_secret.expose());
            }
        }
        let unavailable = |why: String| CredentialFault::Unavailable(why);
        let url = options.endpoint.url().ok_or_else(|| unavailable("has no address".to_owned()))?;
        let body = Some(Bytes::from(form));
        let outgoing = Outgoing { method: Method::POST, url, headers, body, deadline };
        let response = self
            .client
            .send(outgoing)
            .await
            .map_err(|failure| unavailable(format!("gave no answer: {failure}")))?;
        let body = response.body.map_err(|fault| unavailable(format!("gave no answer: {fault}")))?;
        Ok((response.status.as_u16(), body))
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut slots = self.slots();
        if !slots.contains_key(&key) && slots.len() >= self.limits.tokens {
            slots.retain(|_, slot| slot.is_of_use());
            if slots.len() >= self.limits.tokens {
                let first = slots.iter().min_by_key(|(_, slot)| slot.end()).map(|(key, _)| *key);
                first.map(|key| slots.remove(&key));
            }
        }
        Arc::clone(slots.entry(key).or_default())
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.options.endpoint.as_str())
    }
}
