//! Web pages of listed origins: what a browser must be told before it lets such a page call (CORS).
//!
//! It must never speak for an origin that the operator has not listed; loopback origins pass the doors
//! without it, but a page there cannot read an answer. Credentials of the browser are never asked for: a
//! page sends its own `Authorization`. The service calls it for requests that carry an `Origin`.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::body::Body;

/// The answer to a browser that asks whether a page may call; nothing when it does not ask that.
pub(super) fn preflight(asked: &HeaderMap) -> Option<Response<Body>> {
    if !asked.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    // Mirrored parameters have names of the tools' choosing, so no list could name them all.
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    Some(response)
}

/// Lets the page read the answer.
pub(super) fn allow(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After"),
    );
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
