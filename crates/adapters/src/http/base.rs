//! The address of a service: where every request of a source goes, and the only place where one may go.
//!
//! It must never let a path lead to another host. The source and the tokens make one when they are built.

use std::net::IpAddr;

use reqwest::Url;

use super::address::{Permit, Reach};

/// A base address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Without a slash at its end.
    text: String,
    host: String,
    permit: Permit,
}

/// Why a text is no base address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// It is no URL.
    #[error("it is no absolute URL with the scheme https or http")]
    Url,
    /// It has a user, a password, a query or a fragment.
    #[error("it has a user, a password, a query or a fragment")]
    Parts,
    /// Its path does not stand for itself.
    #[error("its path has characters or segments that do not stand for themselves")]
    Path,
    /// It is not encrypted, and leads outside.
    #[error("it is not encrypted")]
    Plain,
    /// It leads into this machine or its network.
    #[error("its host is an address that is reached only when the file allows it by name")]
    Address,
}

impl Base {
    /// Reads a base address. `named` is whether the file allows its host to be in this machine or its network;
    /// only such a host is spoken to without TLS.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, named: impl FnOnce(&str) -> bool) -> Result<Self, BaseError> {
        let url = Url::parse(text).map_err(|_| BaseError::Url)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(BaseError::Url)?;
        let plain = match url.scheme() {
            "https" => false,
            "http" => true,
            _ => return Err(BaseError::Url),
        };
        let bare = url.username().is_empty() && url.password().is_none();
        if !bare || url.query().is_some() || url.fragment().is_some() {
            return Err(BaseError::Parts);
        }
        let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
        let named = named(&host);
        let permit = match (host.parse::<IpAddr>(), named) {
            (Ok(_), true) => Permit::Literal,
            (Ok(address), false) if !Permit::Public.admits(Reach::of(address)) => {
                return Err(BaseError::Address);
            }
            (Err(_), true) => Permit::Named,
            (_, false) => Permit::Public,
        };
        if let Ok(address) = host.parse::<IpAddr>()
            && !permit.admits(Reach::of(address))
        {
            return Err(BaseError::Address);
        }
        if plain && !named {
            return Err(BaseError::Plain);
        }
        let base = Self { text: url.as_str().trim_end_matches('/').to_owned(), host, permit };
        let written =
            text.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..)));
        let (written, path) =
            (written.unwrap_or_default().trim_end_matches('/'), url.path().trim_end_matches('/'));
        if written != path || path.contains("//") {
            return Err(BaseError::Path);
        }
        Ok(base)
    }

    /// The host, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address as it is used.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn permit(&self) -> Permit {
        self.permit
    }

    /// The URL of a path and query below the base. Nothing when it does not mean exactly what it says: a reader
    /// of URLs that drops a segment or encodes a character would send something else than was judged.
    pub(super) fn join(&self, target: &str) -> Option<Url> {
        let text = format!("{}{target}", self.text);
        let url = Url::parse(&text).ok()?;
        (target.starts_with('/') && url.as_str() == text && url.fragment().is_none()).then_some(url)
    }

    /// The base itself as a URL.
    pub(super) fn url(&self) -> Option<Url> {
        Url::parse(&self.text).ok()
    }
}

/// True for a path or query that a URL can hold as it is.
#[must_use]
pub fn is_exact_target(target: &str) -> bool {
    let text = format!("https://host.example{target}");
    Url::parse(&text)
        .is_ok_and(|url| target.starts_with('/') && url.as_str() == text && url.fragment().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_an_encrypted_address_or_one_that_the_file_names() {
        for (text, named, expected) in [
            ("https://crm.example", false, Ok("https://crm.example")),
            ("https://crm.example:8443/api/v2/", false, Ok("https://crm.example:8443/api/v2")),
            ("http://crm.example", false, Err(BaseError::Plain)),
            ("http://crm.internal:8080", true, Ok("http://crm.internal:8080")),
            ("http://127.0.0.1:9000", true, Ok("http://127.0.0.1:9000")),
            ("http://[::1]:9000/x", true, Ok("http://[::1]:9000/x")),
            ("https://127.0.0.1", false, Err(BaseError::Address)),
            ("https://0x7f.1", false, Err(BaseError::Address)),
            ("https://2130706433", false, Err(BaseError::Address)),
            ("https://[::ffff:169.254.169.254]", false, Err(BaseError::Address)),
            ("https://169.254.169.254", false, Err(BaseError::Address)),
            ("https://0.0.0.0", true, Err(BaseError::Address)),
            ("https://user:pass@crm.example", false, Err(BaseError::Parts)),
            ("https://crm.example?x=1", false, Err(BaseError::Parts)),
            ("https://crm.example/#a", false, Err(BaseError::Parts)),
            ("https://crm.example/a/../b", false, Err(BaseError::Path)),
            ("https://crm.example/a//b", false, Err(BaseError::Path)),
            ("https://crm.example/a b", false, Err(BaseError::Path)),
            ("ftp://crm.example", false, Err(BaseError::Url)),
            ("crm.example", false, Err(BaseError::Url)),
            ("https://", false, Err(BaseError::Url)),
        ] {
            let found = Base::parse(text, |_| named);
            let found = found.as_ref().map(Base::as_str).map_err(Clone::clone);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_target_that_would_mean_something_else_is_not_joined() {
        let base = Base::parse("https://crm.example/api", |_| false).unwrap();
        let good = base.join("/tickets/T-1?status=open").unwrap();
        assert_eq!(good.as_str(), "https://crm.example/api/tickets/T-1?status=open");
        for bad in
            ["/../x", "/a/./b", "/%2e%2e/x", "/a#b", "x", "@evil.example/", "/a b", "/a\\b", "/ä", "/a\r\nb"]
        {
            assert!(base.join(bad).is_none(), "{bad}");
        }
    }
}
