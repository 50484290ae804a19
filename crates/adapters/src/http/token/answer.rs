//! What a token endpoint answered: a token and its end, or why there is none.
//!
//! It must never take the caller's own token for one that was issued for the service, and nothing for a token
//! that is none. The tokens call it.

use std::time::Duration;

use callgate_core::port::{CallerToken, Delegated};
use callgate_protocol::json::{Document, Limits as JsonLimits, Value};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use super::ACCESS_TOKEN;
use crate::http::{CredentialFault, Limits};

/// The same kind by another name: an access token that is a JWT.
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// What the endpoint says about the caller, and not about this server.
const OF_CALLER: [&str; 6] = [
    "invalid_grant",
    "invalid_request",
    "invalid_target",
    "invalid_scope",
    "access_denied",
    "interaction_required",
];

/// Reads an answer to a question whose token must not be used before now.
pub(super) fn read(
    status: u16,
    body: Vec<u8>,
    caller: Option<CallerToken<'_>>,
    limits: &Limits,
) -> Result<(Delegated, Instant), CredentialFault> {
    let unavailable = |why: &str| CredentialFault::Unavailable(why.to_owned());
    let document = Document::parse_bytes(body, &JsonLimits::DEFAULT.with_depth(16));
    if status != 200 {
        let error = document.ok().and_then(|document| {
            let error = document.root().get("error")?.as_str()?.into_owned();
            OF_CALLER.contains(&error.as_str()).then_some(error)
        });
        return Err(match (error, caller) {
            (Some(error), Some(_)) => CredentialFault::Refused(error),
            (Some(error), None) => unavailable(&format!("answered with status {status}: {error}")),
            (None, _) => unavailable(&format!("answered with status {status}")),
        });
    }
    let document = document.map_err(|_| unavailable("answered with no JSON"))?;
    let root = document.root();
    let text = |name: &str| root.get(name).and_then(Value::as_str);
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(unavailable("gave no bearer token"));
    }
    if text("issued_token_type").is_some_and(|kind| kind != ACCESS_TOKEN && kind != JWT) {
        return Err(unavailable("gave another kind of token than was asked for"));
    }
    let token = text("access_token")
        .filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or_else(|| unavailable("gave no token that can be sent"))?;
    // A server that hands the token back would have this one pass it on to a service that it was not issued for.
    if caller.is_some_and(|caller| bool::from(caller.expose().as_bytes().ct_eq(token.as_bytes()))) {
        return Err(unavailable("gave the caller's own token back"));
    }
    let life = match root.get("expires_in") {
        None => limits.token_life,
        Some(seconds) => Duration::from_secs(
            seconds
                .as_u64()
                .or_else(|| seconds.as_str()?.parse().ok())
                .ok_or_else(|| unavailable("gave a token without a readable end"))?,
        ),
    };
    let life = life.min(limits.token_life_max);
    let life = life.saturating_sub(limits.token_margin.min(life / 10));
    Ok((Delegated::new(token.into_owned()), Instant::now() + life))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Result<(String, Duration), CredentialFault> {
        let before = Instant::now();
        let read = read(status, body.as_bytes().to_vec(), None, &Limits::default());
        read.map(|(token, until)| (token.expose().to_owned(), until - before))
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_used_until_shortly_before_its_end() {
        let seconds = Duration::from_secs;
        for (expires, used) in [
            (r#","expires_in":3600"#, seconds(3570)),
            (r#","expires_in":100"#, seconds(90)),
            (r#","expires_in":"100""#, seconds(90)),
            (r#","expires_in":0"#, seconds(0)),
            (r#","expires_in":999999999"#, seconds(3570)),
            ("", seconds(54)),
        ] {
            let body = format!(r#"{{"access_token":"t","token_type":"bearer"{expires}}}"#);
            assert_eq!(of(200, &body), Ok(("t".to_owned(), used)), "{expires}");
        }
    }

    #[tokio::test]
    async fn what_is_no_token_is_none() {
        for (status, body) in [
            (200, "{}"),
            (200, "no json"),
            (200, r#"{"access_token":"t"}"#),
            (200, r#"{"access_token":"t","token_type":"DPoP"}"#),
            (200, r#"{"access_token":"","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"a b","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"a\r\nb","token_type":"Bearer"}"#),
            (200, r#"{"access_token":"t","token_type":"Bearer","expires_in":-1}"#),
            (200, r#"{"access_token":"t","token_type":"Bearer","issued_token_type":"urn:x:saml2"}"#),
            (201, r#"{"access_token":"t","token_type":"Bearer"}"#),
            (302, ""),
            (400, r#"{"error":"invalid_client"}"#),
            (500, ""),
        ] {
            assert!(matches!(of(status, body), Err(CredentialFault::Unavailable(_))), "{status} {body}");
        }
    }
}
