//! Static tokens, known by their digests only.
//!
//! The digest of a presented token is compared with every known one, each in constant time, so that the
//! time of an answer says nothing about them. [`Bearer`](super::Bearer) asks it first.

use std::fmt;
use std::sync::Arc;

use callgate_core::port::Timestamp;
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use subtle::ConstantTimeEq as _;

use super::{TokenDigest, invalid};

/// A token that was given to one caller.
#[derive(Clone, PartialEq, Eq)]
pub struct StaticToken {
    digest: TokenDigest,
    principal: Arc<Principal>,
}

impl StaticToken {
    /// The token with this SHA-256 digest speaks for `principal`, until the principal's credential ends.
    #[must_use]
    pub fn new(digest: [u8; 32], principal: Principal) -> Self {
        Self { digest, principal: Arc::new(principal) }
    }

    /// Whether both stand for the same token.
    #[must_use]
    pub fn is_same_token(&self, other: &Self) -> bool {
        bool::from(self.digest.ct_eq(&other.digest))
    }

    /// Reads `sha256:` and 64 hexadecimal digits.
    #[must_use]
    pub fn parse_digest(text: &str) -> Option<[u8; 32]> {
        let digits = text.strip_prefix("sha256:")?.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        let mut digest = [0; 32];
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(digest)
    }
}

impl fmt::Debug for StaticToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaticToken({})", self.principal.subject)
    }
}

/// All static tokens of a server.
pub(super) struct StaticTokens(Vec<StaticToken>);

impl StaticTokens {
    pub(super) fn new(tokens: Vec<StaticToken>) -> Self {
        Self(tokens)
    }

    /// Whom the token speaks for; nothing when it is none of these.
    pub(super) fn find(
        &self,
        digest: &TokenDigest,
        now: Timestamp,
    ) -> Option<Result<Arc<Principal>, Refusal>> {
        let mut found = None;
        for token in &self.0 {
            // No early end: the place of a token in the list must not show.
            if bool::from(token.digest.ct_eq(digest)) {
                found = Some(&token.principal);
            }
        }
        found.map(|principal| match principal.expires {
            Some(expires) if expires <= now => Err(invalid("the token has expired")),
            _ => Ok(Arc::clone(principal)),
        })
    }
}

#[cfg(test)]
mod tests {
    use callgate_core::port::Timestamp;
    use callgate_core::principal::Principal;
    use sha2::{Digest as _, Sha256};

    use super::{StaticToken, StaticTokens};

    /// Requirements: AUTH-RS-19
    #[test]
    fn a_static_token_is_known_by_its_digest_until_it_expires() {
        let digest: [u8; 32] = Sha256::digest(b"secret").into();
        let written = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        assert_eq!(StaticToken::parse_digest(written), Some(digest));
        for wrong in ["2bb8", "sha256:2bb8", "sha256:zz", &format!("{written}0"), &written.to_uppercase()] {
            assert_eq!(StaticToken::parse_digest(wrong), None, "{wrong}");
        }
        let token = StaticToken::new(digest, Principal::new("ci").with_expiry(Timestamp(10)));
        assert_eq!(format!("{token:?}"), "StaticToken(ci)");
        let tokens = StaticTokens::new(vec![token]);
        assert_eq!(&*tokens.find(&digest, Timestamp(9)).unwrap().unwrap().subject, "ci");
        assert!(tokens.find(&digest, Timestamp(10)).unwrap().is_err());
        assert!(tokens.find(&[0; 32], Timestamp(9)).is_none());
    }
}
