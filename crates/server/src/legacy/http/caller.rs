//! Who sent an HTTP request, kept for as long as the request runs.
//!
//! It must never be kept with a session: each request proves anew who sent it.

use std::sync::Arc;

use callgate_core::port::{Authorization, Credentials, Transport};
use callgate_core::principal::Principal;
use callgate_protocol::Id;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Response, StatusCode};

use crate::endpoint::{Answered, Endpoint, From};
use crate::http::{Body, answered_response};
use crate::respond;

/// The sender of one request.
pub(super) struct Caller {
    transport: Transport,
    authorization: Sent,
}

/// The `Authorization` header that was sent.
enum Sent {
    Nothing,
    One(Box<str>),
    Malformed,
}

impl Caller {
    pub(super) fn of(headers: &HeaderMap, transport: Transport) -> Self {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let authorization = match (values.next(), values.next()) {
            (None, _) => Sent::Nothing,
            (Some(value), None) => value.to_str().map_or(Sent::Malformed, |value| Sent::One(value.into())),
            (Some(_), Some(_)) => Sent::Malformed,
        };
        Self { transport, authorization }
    }

    /// For the endpoint. Earlier revisions mirror nothing into headers.
    pub(super) fn from(&self) -> From<'_> {
        let authorization = match &self.authorization {
            Sent::Nothing => Authorization::Absent,
            Sent::One(value) => Authorization::One(value),
            Sent::Malformed => Authorization::Malformed,
        };
        let credentials = Credentials::new(self.transport, authorization);
        From { credentials, headers: None }
    }

    /// Whose session it may use, or the response that refuses the caller's request. The request itself is held
    /// to the scopes that it needs when it is answered, so that all of them are told at once.
    pub(super) async fn identity(
        &self,
        endpoint: &Endpoint,
        id: Option<&Id>,
    ) -> Result<Arc<Principal>, Response<Body>> {
        let published = endpoint.published();
        Endpoint::identify(&published, self.from().credentials)
            .await
            .map_err(|refusal| refuse(endpoint, respond::to_error(id, &refusal)))
    }

    /// The principal, or the response that refuses the caller's request.
    pub(super) async fn principal(
        &self,
        endpoint: &Endpoint,
        id: Option<&Id>,
    ) -> Result<Arc<Principal>, Response<Body>> {
        let published = endpoint.published();
        Endpoint::authenticate(&published, self.from().credentials)
            .await
            .map_err(|refusal| refuse(endpoint, respond::to_error(id, &refusal)))
    }
}

/// The response to a request that was refused before its session had a part in it.
pub(super) fn refuse(endpoint: &Endpoint, answered: Answered) -> Response<Body> {
    let status = StatusCode::from_u16(answered.status).unwrap_or(StatusCode::BAD_REQUEST);
    answered_response(status, answered, HeaderMap::new(), || endpoint.published())
}
