//! Questions to an authorization server, bounded in time and size.
//!
//! It must never follow a redirect, because the answer of another server proves nothing, and never keep more
//! of an answer than the bound. Keys, discovery and introspection call it.

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};

use super::{Limits, OptionsError};

/// Asks one authorization server.
#[derive(Clone)]
pub(super) struct Fetch {
    client: Client,
    bytes: usize,
    timeout: Duration,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FetchError {
    #[error("it did not answer in time")]
    Timeout,
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("its answer is longer than the bound")]
    TooLong,
    #[error("its answer broke off")]
    Broken,
    #[error("its answer is {0}")]
    Malformed(&'static str),
    #[error("the file cannot be read")]
    File,
}

impl Fetch {
    pub(super) fn new(limits: &Limits) -> Result<Self, OptionsError> {
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(limits.connect_timeout)
            .timeout(limits.fetch_timeout)
            .user_agent("callgate")
            .build()
            .map_err(|error| {
                OptionsError(format!("the client for the authorization server cannot be made: {error}"))
            })?;
        Ok(Self { client, bytes: limits.response_bytes, timeout: limits.fetch_timeout })
    }

    /// The body of the resource at a URL.
    pub(super) async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        self.send(self.client.get(url).header(ACCEPT, "application/json")).await
    }

    /// The answer to a form, sent with an `Authorization` header where one is given.
    pub(super) async fn post(
        &self,
        url: &str,
        form: String,
        authorization: Option<String>,
    ) -> Result<Vec<u8>, FetchError> {
        let mut request = self
            .client
            .request(Method::POST, url)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        if let Some(authorization) = authorization {
            let mut value = reqwest::header::HeaderValue::from_str(&authorization)
                .map_err(|_| FetchError::Malformed("not asked for with a valid secret"))?;
            value.set_sensitive(true);
            request = request.header(reqwest::header::AUTHORIZATION, value);
        }
        self.send(request).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Vec<u8>, FetchError> {
        let answer = async { self.read(request.send().await.map_err(|error| why(&error))?).await };
        tokio::time::timeout(self.timeout, answer).await.unwrap_or(Err(FetchError::Timeout))
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, FetchError> {
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| why(&error))? {
            if body.len() + chunk.len() > self.bytes {
                return Err(FetchError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// The kind of an error. Its text names URLs and addresses, which are nobody's business but the operator's,
/// who knows them.
fn why(error: &reqwest::Error) -> FetchError {
    if error.is_timeout() {
        FetchError::Timeout
    } else if error.is_connect() || error.is_request() {
        FetchError::Unreachable
    } else {
        FetchError::Broken
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetch")
    }
}
