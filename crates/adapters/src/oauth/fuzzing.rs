//! What the fuzz target of credentials runs, with the properties that must hold for every input.
//!
//! It must never be called by anything but fuzz targets and the tests that replay their corpora.

use std::collections::BTreeMap;

use callgate_core::port::Timestamp;
use callgate_protocol::json::{Document, Limits as JsonLimits};

use super::claims::{self, Presence};
use super::header::{self, Presented};
use super::jwt::Signed;
use super::keys::read_set;
use super::options::Algorithm;
use super::scope::Hierarchy;
use super::{Limits, Options};

/// Reads arbitrary text as a header, as a token, as claims and as a set of keys.
///
/// # Panics
/// When a property does not hold.
pub(crate) fn credential(bytes: &[u8]) {
    let limits = Limits::default();
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Presented::Token(token) = header::read(text) {
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
            assert!(!token.is_empty() && token.bytes().all(is_token), "a token has the form of one");
            assert!(
                text.ends_with(token) || text.trim_end_matches(' ').ends_with(token),
                "it is what was sent"
            );
        }
        if let Some(signed) = Signed::read(text, &limits) {
            assert_eq!(text.matches('.').count(), 2, "a signed token has three parts");
            let _ = signed.read_header(&Options::new("https://a.example", "https://b.example"));
        }
    }
    if let Ok(document) = Document::parse_bytes(bytes.to_vec(), &JsonLimits::DEFAULT) {
        let options = Options::new("https://a.example", "https://b.example");
        let (hierarchy, now) = (Hierarchy::new(&BTreeMap::new()), Timestamp(1_800_000_000_000_000));
        if let Ok(principal) = claims::read(&document, Presence::Required, &options, &hierarchy, now) {
            let root = document.root();
            assert!(
                root.get("iss").is_some_and(|issuer| issuer.is_str("https://a.example")),
                "of this issuer"
            );
            assert!(root.get("aud").is_some(), "for somebody");
            assert!(principal.expires.is_some_and(|expires| expires > now), "not expired");
            assert!(!principal.subject.trim().is_empty(), "somebody");
        }
    }
    if let Ok(set) = read_set(bytes.to_vec(), limits.keys) {
        for algorithm in Algorithm::ALL {
            let keys = set.fitting(None, algorithm, limits.keys_tried);
            assert!(keys.len() <= limits.keys_tried, "no more are tried than the bound");
            assert!(!keys.iter().any(|key| key.verifies(algorithm, "a.b", "")), "nothing is no signature");
        }
    }
}
