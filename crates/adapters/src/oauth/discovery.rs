//! Where an issuer says that its keys are (RFC 8414, OpenID Connect Discovery 1.0).
//!
//! It must never believe a document that names another issuer than the one that was asked for: otherwise
//! whoever can answer one request could put any keys in force. The key store calls it.

use callgate_protocol::json::{Document, Limits as JsonLimits};
use reqwest::Url;

use super::fetch::{Fetch, FetchError};
use super::options::{check_url, is_loopback};

/// The URLs under which the metadata of an issuer may be, in the order in which they are tried.
pub(super) fn candidates(issuer: &str) -> Vec<String> {
    let (origin, path) =
        match issuer.find("://").and_then(|at| issuer.get(at + 3..)?.find('/').map(|end| at + 3 + end)) {
            Some(end) => issuer.split_at(end),
            None => (issuer, ""),
        };
    let path = path.trim_end_matches('/');
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    urls
}

/// The URL of the issuer's keys.
pub(super) async fn jwks_uri(fetch: &Fetch, issuer: &str) -> Result<String, FetchError> {
    let mut last = FetchError::Status(404);
    for url in candidates(issuer) {
        match fetch.get(&url).await {
            Ok(body) => return read(body, issuer),
            // Only where there is nothing may it be elsewhere.
            Err(error @ FetchError::Status(400..=499)) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn read(body: Vec<u8>, issuer: &str) -> Result<String, FetchError> {
    let limits = JsonLimits::DEFAULT.with_bytes(1 << 20);
    let document = Document::parse_bytes(body, &limits).map_err(|_| FetchError::Malformed("no JSON"))?;
    let member = |name: &str| document.root().get(name).and_then(|value| value.as_str());
    // "The `issuer` value returned MUST be identical to the issuer identifier" (RFC 8414, section 3.3).
    if member("issuer").as_deref() != Some(issuer) {
        return Err(FetchError::Malformed("metadata of another issuer"));
    }
    let uri = member("jwks_uri").ok_or(FetchError::Malformed("metadata without `jwks_uri`"))?;
    let refused = FetchError::Malformed("metadata whose `jwks_uri` may not be asked");
    check_url(&uri).map_err(|_| refused.clone())?;
    // A server elsewhere has no say in what is asked of this machine.
    let is_local = |url: &str| Url::parse(url).is_ok_and(|url| is_loopback(&url));
    if is_local(&uri) && !is_local(issuer) {
        return Err(refused);
    }
    Ok(uri.into_owned())
}

#[cfg(test)]
mod tests {
    use super::{candidates, read};
    use crate::oauth::fetch::FetchError;

    #[test]
    fn metadata_is_looked_for_where_the_specifications_put_it() {
        assert_eq!(
            candidates("https://id.example.com"),
            [
                "https://id.example.com/.well-known/oauth-authorization-server",
                "https://id.example.com/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            candidates("https://id.example.com/realms/a/"),
            [
                "https://id.example.com/.well-known/oauth-authorization-server/realms/a",
                "https://id.example.com/.well-known/openid-configuration/realms/a",
                "https://id.example.com/realms/a/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_of_another_issuer_and_keys_in_odd_places_are_not_believed() {
        let issuer = "https://id.example.com";
        let document = |issuer: &str, uri: &str| format!(r#"{{"issuer":"{issuer}","jwks_uri":"{uri}"}}"#);
        let keys = "https://keys.example.net/a";
        assert_eq!(read(document(issuer, keys).into(), issuer).unwrap(), keys);
        for (named, uri) in [
            ("https://id.example.com/", keys),
            ("https://evil.example.com", keys),
            (issuer, "http://id.example.com/keys"),
            (issuer, "http://127.0.0.1/keys"),
            (issuer, "https://127.0.0.1/keys"),
            (issuer, "file:///etc/passwd"),
            (issuer, ""),
        ] {
            let read = read(document(named, uri).into(), issuer);
            assert!(matches!(read, Err(FetchError::Malformed(_))), "{named} {uri}");
        }
    }
}
