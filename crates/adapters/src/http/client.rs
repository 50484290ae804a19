//! The client for services and their authorization servers, bounded in time, places and size.
//!
//! It must never follow a redirect, use a proxy that the environment names, keep cookies, or send a request a
//! second time. The source and the tokens call it.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use reqwest::{Certificate, Url};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::address::{Lookup, Refused, Resolver, System};
use super::body::{self, BodyFault};
use super::{Base, Limits, OptionsError};

/// A client for one host.
pub(super) struct Client {
    client: reqwest::Client,
    places: Semaphore,
    limits: Limits,
}

/// A request, complete.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(super) deadline: Instant,
}

/// A response whose head arrived.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// What the service says came of the request.
    pub status: StatusCode,
    /// The fields of its head.
    pub headers: HeaderMap,
    /// Its body, or why that cannot be used.
    pub body: Result<Vec<u8>, BodyFault>,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// All places for exchanges with the service stayed in use.
    #[error("all places for exchanges with the service are in use")]
    Busy,
    /// No credential for the service could be had.
    #[error("there is no credential for the service: {0}")]
    Credential(CredentialFault),
    /// The request has no form in which it can be sent.
    #[error("the request cannot be sent: {0}")]
    Request(&'static str),
    /// The host leads where it may not.
    #[error("{0}")]
    Address(String),
    /// No connection was made: no address, nobody listens, no TLS, or not in time.
    #[error("no connection was made: {0}")]
    Connect(String),
    /// The time was over before the head of a response arrived.
    #[error("the service did not answer in time")]
    Timeout,
    /// The connection ended before the head of a response arrived.
    #[error("the connection ended before the service answered: {0}")]
    Reset(String),
}

/// Why there is no credential for a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialFault {
    /// The authorization server did not answer, or not with a token.
    #[error("the authorization server {0}")]
    Unavailable(String),
    /// The caller has no token that could be exchanged.
    #[error("the caller has no access token that could be exchanged")]
    NoToken,
    /// The authorization server gives none for this caller.
    #[error("the authorization server gives no token for this caller: {0}")]
    Refused(String),
}

impl Client {
    pub(super) fn new(
        base: &Base,
        authorities: Option<&[u8]>,
        limits: &Limits,
    ) -> Result<Self, OptionsError> {
        Self::with_lookup(base, authorities, limits, Arc::new(System))
    }

    pub(super) fn with_lookup(
        base: &Base,
        authorities: Option<&[u8]>,
        limits: &Limits,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, OptionsError> {
        let hosts = BTreeMap::from([(base.host().to_owned(), base.permit())]);
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .no_gzip()
            .referer(false)
            .dns_resolver(Resolver::new(hosts, lookup))
            .connect_timeout(limits.connect_timeout)
            .pool_idle_timeout(limits.idle_timeout)
            .pool_max_idle_per_host(limits.concurrency)
            .http1_max_headers(limits.header_fields)
            .user_agent("callgate");
        if let Some(pem) = authorities {
            let certificates = Certificate::from_pem_bundle(pem).map_err(|_| OptionsError::Authorities)?;
            if certificates.is_empty() {
                return Err(OptionsError::Authorities);
            }
            builder = builder.tls_certs_only(certificates);
        }
        let client = builder.build().map_err(|error| OptionsError::Client(why(&error)))?;
        Ok(Self { client, places: Semaphore::new(limits.concurrency.max(1)), limits: limits.clone() })
    }

    /// Sends a request once and reads its response.
    ///
    /// Cancel safe in the sense that dropping it closes the exchange: the connection of HTTP/1.1, the stream of
    /// HTTP/2. What the service made of the request is not known then.
    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<Response, Failure> {
        let waits_until = outgoing.deadline.min(Instant::now() + self.limits.place_timeout);
        let _place = timeout_at(waits_until, self.places.acquire())
            .await
            .map_err(|_| Failure::Busy)?
            .map_err(|_| Failure::Busy)?;
        let Outgoing { method, url, headers, body, deadline } = outgoing;
        let mut request = self.client.request(method, url).headers(headers);
        request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = match timeout_at(deadline, request.send()).await {
            Err(_elapsed) => return Err(Failure::Timeout),
            Ok(Err(error)) => return Err(failure(&error)),
            Ok(Ok(response)) => response,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let body = timeout_at(deadline, body::read(response, &self.limits)).await;
        Ok(Response { status, headers, body: body.unwrap_or(Err(BodyFault::Late)) })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

/// What an error of the library proves. Only one while connecting proves that no byte of the request left.
fn failure(error: &reqwest::Error) -> Failure {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return Failure::Address(refused.to_string());
        }
        source = inner.source();
    }
    if error.is_builder() {
        Failure::Request("the library refuses its form")
    } else if error.is_connect() {
        Failure::Connect(why(error))
    } else if error.is_timeout() {
        Failure::Timeout
    } else {
        Failure::Reset(why(error))
    }
}

/// The innermost reason of an error, for the operator; the outer ones repeat the URL.
fn why(error: &reqwest::Error) -> String {
    let mut source = error.source();
    let mut text = None;
    while let Some(inner) = source {
        text = Some(inner.to_string());
        source = inner.source();
    }
    text.unwrap_or_else(|| {
        if error.is_timeout() { "it took too long".to_owned() } else { "no reason is known".to_owned() }
    })
}
