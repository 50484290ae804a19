//! The compatibility profile over HTTP, which serves nobody yet.

use crate::endpoint::Endpoint;
use crate::http::{Body, error_response};
use crate::shutdown::Shutdown;
use callgate_core::port::Transport;
use callgate_protocol::ErrorCode;
use http::{HeaderMap, Response, StatusCode};
use std::sync::Arc;
pub(crate) struct Sessions;
pub(crate) enum Posted {
    Message(callgate_protocol::Message),
    Batch(Vec<u8>),
}
impl Sessions {
    pub(crate) fn new(_endpoint: Arc<Endpoint>, _shutdown: Shutdown) -> Self {
        Self
    }
    pub(crate) async fn post(
        self: Arc<Self>,
        _posted: Posted,
        _headers: HeaderMap,
        _t: Transport,
    ) -> Response<Body> {
        error_response(StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, "no", None)
    }
    pub(crate) async fn get(self: Arc<Self>, _headers: HeaderMap, _t: Transport) -> Response<Body> {
        error_response(StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, "no", None)
    }
    pub(crate) async fn delete(self: Arc<Self>, _headers: HeaderMap, _t: Transport) -> Response<Body> {
        error_response(StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, "no", None)
    }
}
