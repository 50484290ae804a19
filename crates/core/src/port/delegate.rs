//! A token for a service, in the name of the caller.
//!
//! Some tools speak to a service for whoever calls. The caller's own token was issued for this server and must never
//! reach another one, so it is exchanged for one that was issued for that service. An executor must never see what is
//! exchanged: the loader gives a tool its [`Delegate`], the gate hands the token to that port alone, and the executor
//! gets what came out, by [`Invocation::delegated`](crate::invocation::Invocation::delegated).

use std::fmt;

use tokio::time::Instant;
use zeroize::Zeroizing;

use super::{Answer, Authorization};
use crate::refusal::Refusal;

/// The access token with which the caller came to this server. Only the gate makes one.
#[derive(Clone, Copy)]
pub struct CallerToken<'r>(&'r str);

impl<'r> CallerToken<'r> {
    /// The token of an `Authorization` header, where it has one of the bearer scheme.
    pub(crate) fn of(authorization: Authorization<'r>) -> Option<Self> {
        let Authorization::One(value) = authorization else { return None };
        let (scheme, token) = value.split_once(' ')?;
        let token = token.trim_matches(' ');
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(Self(token))
    }

    /// The token. It may be sent to the authorization server that exchanges it, and nowhere else.
    #[must_use]
    pub fn expose(self) -> &'r str {
        self.0
    }
}

impl fmt::Debug for CallerToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerToken(not shown)")
    }
}

/// A token that was issued for one service, in the name of the caller. It is wiped when it is dropped.
#[derive(Clone)]
pub struct Delegated(Zeroizing<String>);

impl Delegated {
    /// Takes a token in.
    #[must_use]
    pub fn new(token: String) -> Self {
        Self(Zeroizing::new(token))
    }

    /// The token, for the one service that it was issued for.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Delegated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delegated(not shown)")
    }
}

/// Exchanges the token of a caller.
///
/// Cancel safe: dropping the answer gives the question up.
pub trait Delegate: Send + Sync {
    /// The token for the service.
    ///
    /// # Errors
    /// [`Code::SourceUnavailable`](crate::refusal::Code::SourceUnavailable) when the authorization server gives no
    /// answer before the deadline, [`Code::Forbidden`](crate::refusal::Code::Forbidden) when it gives no token for
    /// this caller, or the caller has none to exchange.
    fn delegate<'a>(
        &'a self,
        caller: Option<CallerToken<'a>>,
        deadline: Instant,
    ) -> Answer<'a, Result<Delegated, Refusal>>;
}

#[cfg(test)]
mod tests {
    use super::{Authorization, CallerToken, Delegated};

    #[test]
    fn only_a_bearer_token_can_be_exchanged() {
        let of = |value| CallerToken::of(Authorization::One(value)).map(CallerToken::expose);
        assert_eq!(of("Bearer abc"), Some("abc"));
        assert_eq!(of("bearer  abc"), Some("abc"));
        for value in ["Basic abc", "Bearer", "Bearer ", "Bearer a b", "DPoP abc", ""] {
            assert_eq!(of(value), None, "{value:?}");
        }
        assert!(CallerToken::of(Authorization::Absent).is_none());
        assert!(CallerToken::of(Authorization::Malformed).is_none());
    }

    #[test]
    fn no_debug_form_shows_a_token() {
        let caller = CallerToken::of(Authorization::One("Bearer canary")).unwrap();
        assert!(!format!("{caller:?} {:?}", Delegated::new("canary".to_owned())).contains("canary"));
    }
}
