//! One refusal: its code, what the caller may read, and what only the operator may.
//!
//! Nothing moves from `detail` to `public`. Whoever refuses makes one; the server and the trail read it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::{Code, Retry};
use crate::contract::schema::Violation;

/// A call that was not carried out as asked.
#[derive(Debug)]
#[must_use]
pub struct Refusal(Box<Parts>);

#[derive(Debug)]
struct Parts {
    code: Code,
    public: Cow<'static, str>,
    detail: Option<String>,
    violations: Vec<Violation>,
    truncated: bool,
    data: Option<String>,
    scopes: Vec<String>,
    retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal with what the caller may read.
    pub fn new(code: Code, public: impl Into<Cow<'static, str>>) -> Self {
        let public = public.into();
        Self(Box::new(Parts {
            code,
            public,
            detail: None,
            violations: Vec::new(),
            truncated: false,
            data: None,
            scopes: Vec::new(),
            retry_after: None,
        }))
    }

    /// Adds what only the operator may read.
    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        self.0.detail = Some(detail.to_string());
        self
    }

    /// Adds the failing places of arguments or output; `truncated` says that there were more.
    pub fn with_violations(mut self, violations: Vec<Violation>, truncated: bool) -> Self {
        self.0.violations = violations;
        self.0.truncated = truncated;
        self
    }

    /// Adds the `data` member of a JSON-RPC error: one JSON value that the caller may read.
    pub fn with_data(mut self, data: String) -> Self {
        self.0.data = Some(data);
        self
    }

    /// Adds all scopes that the operation needs.
    pub fn with_scopes(mut self, scopes: Vec<String>) -> Self {
        self.0.scopes = scopes;
        self
    }

    /// Says when the same request may be sent again, where that is known better than by the code.
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Whether and when the same intention may be tried again.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry_after.map_or_else(|| self.0.code.retry(), Retry::After)
    }

    /// All scopes that the operation needs; empty when the refusal is not about scopes.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.0.scopes
    }

    /// What the caller may read.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.0.public
    }

    /// What only the operator may read.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// The failing places.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// True when there were more failing places than shown.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.0.truncated
    }

    /// The `data` member of a JSON-RPC error.
    #[must_use]
    pub fn data(&self) -> Option<&str> {
        self.0.data.as_deref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.public)
    }
}

impl std::error::Error for Refusal {}
