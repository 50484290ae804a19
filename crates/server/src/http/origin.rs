//! Who may speak to this server from a browser: the checks of `Host` and `Origin`.
//!
//! A page of an attacker can make a browser send requests to a local server under any name that
//! resolves to it (DNS rebinding), and from any origin. So a request whose host is not one of ours, or
//! whose origin is there and not one of ours, must never reach anything else. The service calls this
//! first, on every route.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::HeaderValue;

use super::head::{Field, Front};

/// The hosts and origins that are allowed beside loopback names and the address of the server itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Doors {
    /// `name` for any port, or `name:port`; in lower case.
    hosts: Vec<String>,
    /// `scheme://name[:port]`, in lower case.
    origins: Vec<String>,
}

/// Why a request does not get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shut {
    /// There is no `Host`, more than one, or one that is no authority.
    BadHost,
    /// The host is not one of ours.
    ForeignHost,
    /// The origin is not one of ours.
    ForeignOrigin,
}

/// The address that a connection came in on.
#[derive(Clone, Debug)]
pub(super) struct Local {
    address: SocketAddr,
    /// How a client names it in `Host`.
    authority: String,
}

impl Local {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address, authority: address.to_string() }
    }
}

impl Doors {
    pub(super) fn new(hosts: &[String], origins: &[String]) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { hosts: lower(hosts), origins: lower(origins) }
    }

    /// Checks one request. `target` is the authority of the request target: it is there over HTTP/2 and
    /// in the absolute form of HTTP/1, and then it counts as well as the header.
    pub(super) fn check(
        &self,
        front: &Front<'_>,
        target: Option<&str>,
        local: Option<&Local>,
    ) -> Result<(), Shut> {
        let header = match front.host {
            Field::Absent => None,
            // Nearly all callers name the very address that they have connected to, and need no parser.
            Field::One(value) if local.is_some_and(|local| value == local.authority.as_str()) => {
                Some(ALLOWED)
            }
            Field::One(value) if is_plain_loopback(value.as_bytes()) => Some(ALLOWED),
            Field::One(value) => Some(value.to_str().map_err(|_| Shut::BadHost)?),
            Field::Several => return Err(Shut::BadHost),
        };
        if header.is_none() && target.is_none() {
            return Err(Shut::BadHost);
        }
        for authority in [header, target].into_iter().flatten() {
            if authority == ALLOWED {
                continue;
            }
            let host = Authority::parse(authority).ok_or(Shut::BadHost)?;
            if !self.is_ours(host, local) {
                return Err(Shut::ForeignHost);
            }
        }
        match front.origin {
            Field::Absent => Ok(()),
            Field::One(origin) if self.is_allowed_origin(origin, local) => Ok(()),
            Field::One(_) | Field::Several => Err(Shut::ForeignOrigin),
        }
    }

    /// True when there are listed origins at all.
    pub(super) fn lists_origins(&self) -> bool {
        !self.origins.is_empty()
    }

    /// True when the operator has listed exactly this origin.
    pub(super) fn is_listed(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|listed| listed.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
    }

    fn is_allowed_origin(&self, origin: &HeaderValue, local: Option<&Local>) -> bool {
        if self.is_listed(origin) {
            return true;
        }
        // "null", which sandboxed pages send, has no scheme and so is refused here.
        let Ok(origin) = origin.to_str() else { return false };
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        known && Authority::parse(rest).is_some_and(|authority| self.is_ours(authority, local))
    }

    fn is_ours(&self, authority: Authority<'_>, local: Option<&Local>) -> bool {
        if authority.name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        if let Some(address) = authority.address() {
            if address.is_loopback() {
                return true;
            }
            if local.is_some_and(|local| {
                let local = local.address;
                local.ip() == address && authority.port.is_none_or(|port| port == local.port())
            }) {
                return true;
            }
        }
        self.hosts.iter().any(|allowed| authority.is(allowed))
    }
}

/// A host with or without a port.
#[derive(Clone, Copy, Debug)]
struct Authority<'a> {
    /// Without brackets.
    name: &'a str,
    bracketed: bool,
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Nothing for what is no plain `host[:port]`: user information, paths and spaces are refused.
    fn parse(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            let (name, after) = rest.split_once(']')?;
            let port = match after {
                "" => None,
                _ => Some(parse_port(after.strip_prefix(':')?)?),
            };
            return Some(Self { name, bracketed: true, port });
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(parse_port(port)?)),
            None => (text, None),
        };
        let plain = name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_'));
        (plain && !name.is_empty()).then_some(Self { name, bracketed: false, port })
    }

    fn address(self) -> Option<IpAddr> {
        if self.bracketed {
            return self.name.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
        }
        // Most hosts are names; a look at the first character spares them the attempt.
        self.name
            .starts_with(|first: char| first.is_ascii_digit())
            .then(|| self.name.parse::<Ipv4Addr>().ok().map(IpAddr::V4))
            .flatten()
    }

    /// True when a configured `name` or `name:port` stands for this authority.
    fn is(self, allowed: &str) -> bool {
        Authority::parse(allowed).is_some_and(|allowed| {
            allowed.name.eq_ignore_ascii_case(self.name)
                && allowed.bracketed == self.bracketed
                && (allowed.port.is_none() || allowed.port == self.port)
        })
    }
}

const LOOPBACK: &str = "127.0.0.1";

/// What stands for a host that is known to be ours without being parsed.
const ALLOWED: &str = LOOPBACK;

/// True for the two common names of this machine, with or without a port.
fn is_plain_loopback(host: &[u8]) -> bool {
    let digits = host.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (name, port) = host.split_at(host.len() - digits);
    let name = match name.split_last() {
        // Numbers of equal length are ordered as their texts are.
        Some((b':', name)) if (1..=4).contains(&digits) || (digits == 5 && port <= b"65535".as_slice()) => {
            name
        }
        _ => host,
    };
    name == LOOPBACK.as_bytes() || name == b"localhost"
}

/// Digits only: `u16::from_str` alone would take a sign.
fn parse_port(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
