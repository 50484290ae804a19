//! The value of an `Authorization` header: a bearer token or not.
//!
//! It must never accept anything around the token. [`Bearer`](super::Bearer) calls it.

/// What a header presents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presented<'h> {
    /// A bearer token.
    Token(&'h str),
    /// A credential of another scheme.
    OtherScheme,
    /// A bearer credential that is none.
    Malformed,
}

/// Reads `Bearer` and one `b64token` (RFC 6750, section 2.1). The scheme has no case.
pub(super) fn read(value: &str) -> Presented<'_> {
    let (scheme, rest) = match value.split_once(' ') {
        Some((scheme, rest)) => (scheme, rest.trim_matches(' ')),
        None => (value, ""),
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_graphic());
        return if is_scheme { Presented::OtherScheme } else { Presented::Malformed };
    }
    let body = rest.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if body.is_empty() || !body.bytes().all(allowed) { Presented::Malformed } else { Presented::Token(rest) }
}

#[cfg(test)]
mod tests {
    use super::{Presented, read};

    /// Requirements: AUTH-RS-13
    #[test]
    fn only_one_token_of_the_bearer_scheme_is_a_token() {
        for (value, token) in
            [("Bearer abc.d-e_f~+/==", "abc.d-e_f~+/=="), ("bearer x", "x"), ("BEARER   y", "y")]
        {
            assert!(matches!(read(value), Presented::Token(read) if read == token), "{value}");
        }
        for value in
            ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer =", "Bearer a\tb", "", " x", "Bearer ä"]
        {
            assert!(matches!(read(value), Presented::Malformed), "{value:?}");
        }
        for value in ["Basic abc", "DPoP abc", "Token", "Bearer:abc"] {
            assert!(matches!(read(value), Presented::OtherScheme), "{value:?}");
        }
    }
}
