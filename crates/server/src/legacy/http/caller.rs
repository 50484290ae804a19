//! Who sent an HTTP request, kept for as long as the request runs.
//!
//! It must never be kept with a session: each request proves anew who sent it.

use std::sync::Arc;

use callgate_core::port::{Credentials, Transport};
use callgate_core::principal::Principal;
use callgate_protocol::Id;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Response, StatusCode};

use crate::endpoint::{Endpoint, From};
use crate::http::{Body, json_response};
use crate::respond;

/// The sender of one request.
pub(super) struct Caller {
    transport: Transport,
    authorization: Option<String>,
}

impl Caller {
    pub(super) fn of(headers: &HeaderMap, transport: Transport) -> Self {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let authorization = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok().map(str::to_owned),
            // Two credentials prove nothing about either.
            (None | Some(_), _) => None,
        };
        Self { transport, authorization }
    }

    /// For the endpoint. Earlier revisions mirror nothing into headers.
    pub(super) fn from(&self) -> From<'_> {
        let credentials = Credentials::new(self.transport, self.authorization.as_deref());
        From { credentials, headers: None }
    }

    /// The principal, or the response that refuses the caller's request.
    pub(super) async fn principal(
        &self,
        endpoint: &Endpoint,
        id: Option<&Id>,
    ) -> Result<Arc<Principal>, Response<Body>> {
        let published = endpoint.published();
        Endpoint::authenticate(&published, self.from().credentials).await.map_err(|refusal| {
            let answered = respond::to_error(id, &refusal);
            let status = StatusCode::from_u16(answered.status).unwrap_or(StatusCode::UNAUTHORIZED);
            json_response(status, answered.into_text())
        })
    }
}
