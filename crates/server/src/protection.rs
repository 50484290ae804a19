//! What a server says of its protection: the protected-resource metadata (RFC 9728) and the challenges
//! that point to it (RFC 6750).
//!
//! It decides nothing: who is refused, and why, was decided by the gate. It must never write a part of a
//! credential. The builder makes a [`Protection`]; the transports ask it for headers.

use bytes::Bytes;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::push_string;
use http::HeaderValue;

/// Where the metadata of a resource without a path is found.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The scope that asks for refresh tokens. It is the client's own business: "Servers … SHOULD NOT include
/// `offline_access` in the scope challenge or in `scopes_supported`":
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#refresh-tokens>
const OFFLINE: &str = "offline_access";

/// A server to which tokens of an authorization server give access.
///
/// # Defaults
/// No scope is required of every token, none is named to a client without a token, and the scopes that are
/// published are those of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The resource identifier, by which clients ask for tokens; published exactly as it is here.
    pub resource: String,
    /// The issuers of tokens. At least one.
    pub authorization_servers: Vec<String>,
    /// The scopes that are published. Nothing means those of the tools.
    pub scopes_supported: Option<Vec<String>>,
    /// Scopes that each operation needs; every caller is held to them.
    pub required_scopes: Vec<String>,
    /// What a client that has no token is told to ask for, so that it need not come back for more at once.
    pub initial_scopes: Vec<String>,
}

impl ProtectedResource {
    /// A resource with one authorization server.
    #[must_use]
    pub fn new(resource: impl Into<String>, authorization_server: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: vec![authorization_server.into()],
            scopes_supported: None,
            required_scopes: Vec::new(),
            initial_scopes: Vec::new(),
        }
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.authorization_servers.is_empty() {
            return Some("name at least one authorization server");
        }
        let Some((_, rest)) = self.resource.split_once("://") else {
            return Some("the resource must be an absolute URL, for example `https://mcp.example.com/mcp`");
        };
        if rest.is_empty() || rest.starts_with('/') {
            return Some("the resource must name a host");
        }
        let is_plain = |text: &str| text.bytes().all(|byte| (0x21..=0x7e).contains(&byte) && byte != b'"');
        if self.resource.contains('#') || !is_plain(&self.resource) {
            return Some("the resource must have no fragment, no space and no quotes");
        }
        None
    }
}

/// What is published and said of a protected server, rendered once.
#[derive(Clone, Debug)]
pub(crate) struct Protection {
    source: ProtectedResource,
    /// The metadata document.
    document: Bytes,
    /// The URL of the document.
    metadata: String,
    /// The paths under which it is served.
    paths: Vec<String>,
}

impl Protection {
    /// Renders a resource whose tools need these scopes.
    pub(crate) fn new<'s>(source: ProtectedResource, of_tools: impl Iterator<Item = &'s String>) -> Self {
        let (origin, path) = split(&source.resource);
        let metadata = format!("{origin}{WELL_KNOWN}{path}");
        let inserted = format!("{WELL_KNOWN}{path}");
        let mut paths = vec![WELL_KNOWN.to_owned()];
        if inserted != WELL_KNOWN {
            paths.push(inserted);
        }
        let of_tools: Vec<_> = of_tools.collect();
        let document = Bytes::from(render(&source, &of_tools));
        Self { source, document, metadata, paths }
    }

    /// The resource it was made from.
    pub(crate) fn source(&self) -> &ProtectedResource {
        &self.source
    }

    /// The metadata, if it is served under that path. `endpoint` is the path of the endpoint itself, under
    /// which a proxy that rewrites paths may ask.
    pub(crate) fn document(&self, path: &str, endpoint: &str) -> Option<Bytes> {
        let of_endpoint = || path.strip_prefix(WELL_KNOWN) == Some(endpoint);
        (self.paths.iter().any(|served| served == path) || of_endpoint()).then(|| self.document.clone())
    }
}

/// Origin and path of a resource identifier. A lone slash is no path, as RFC 9728 (section 3.1) has it; a
/// query stays at the end.
fn split(resource: &str) -> (&str, &str) {
    let authority = resource.find("://").map_or(0, |at| at + 3);
    let rest = resource.get(authority..).unwrap_or_default();
    let end = rest.find(['/', '?']).map_or(resource.len(), |at| authority + at);
    let (origin, path) = resource.split_at(end);
    (origin, if path == "/" { "" } else { path })
}

fn render(source: &ProtectedResource, of_tools: &[&String]) -> String {
    let mut out = String::from("{\"resource\":");
    push_string(&mut out, &source.resource);
    out.push_str(",\"authorization_servers\":");
    push_strings(&mut out, source.authorization_servers.iter());
    let mut scopes: Vec<&String> = match &source.scopes_supported {
        Some(scopes) => scopes.iter().collect(),
        None => source.required_scopes.iter().chain(of_tools.iter().copied()).collect(),
    };
    scopes.sort();
    scopes.dedup();
    scopes.retain(|scope| *scope != OFFLINE);
    if !scopes.is_empty() {
        out.push_str(",\"scopes_supported\":");
        push_strings(&mut out, scopes.into_iter());
    }
    out.push_str(",\"bearer_methods_supported\":[\"header\"]}");
    out
}

fn push_strings<'s>(out: &mut String, texts: impl Iterator<Item = &'s String>) {
    out.push('[');
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, text);
    }
    out.push(']');
}

/// What a refused caller has to do, to be written into the head of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    code: Code,
    public: String,
    scopes: Vec<String>,
}

impl Challenge {
    /// The challenge that goes with a refusal; nothing when the refusal is about something else.
    pub(crate) fn of(refusal: &Refusal) -> Option<Box<Self>> {
        let code = refusal.code();
        error(code)?;
        let scopes = refusal.scopes().to_vec();
        Some(Box::new(Self { code, public: refusal.public().to_owned(), scopes }))
    }

    /// The value of `WWW-Authenticate`.
    pub(crate) fn header(&self, protection: Option<&Protection>) -> HeaderValue {
        let mut out = String::from("Bearer");
        let mut parameter = |name: &str, value: &str| {
            out.push_str(if out.len() > "Bearer".len() { ", " } else { " " });
            out.push_str(name);
            out.push_str("=\"");
            out.extend(value.chars().filter(|character| is_quotable(*character)));
            out.push('"');
        };
        if let Some(Some(error)) = error(self.code) {
            parameter("error", error);
            parameter("error_description", &self.public);
        }
        let source = protection.map(Protection::source);
        let scopes = self.scopes(source);
        if !scopes.is_empty() {
            parameter("scope", &scopes.join(" "));
        }
        if let Some(protection) = protection {
            parameter("resource_metadata", &protection.metadata);
        }
        // Every character was chosen from those that a header may have.
        HeaderValue::from_str(&out).unwrap_or(HeaderValue::from_static("Bearer"))
    }

    /// All scopes at once, each once: a client that asks for exactly these can carry out the operation.
    fn scopes<'c>(&'c self, source: Option<&'c ProtectedResource>) -> Vec<&'c str> {
        let required = source.into_iter().flat_map(|source| &source.required_scopes);
        let first = source.filter(|_| self.code != Code::InsufficientScope);
        let initial = first.into_iter().flat_map(|source| &source.initial_scopes);
        let mut all: Vec<&str> = Vec::new();
        for scope in required.chain(initial).chain(&self.scopes) {
            if !all.contains(&scope.as_str()) && scope != OFFLINE {
                all.push(scope);
            }
        }
        all
    }
}

/// The error of a challenge. "If the request lacks any authentication information …, the resource server
/// SHOULD NOT include an error code" (RFC 6750, section 3.1).
const fn error(code: Code) -> Option<Option<&'static str>> {
    match code {
        Code::Unauthenticated => Some(None),
        Code::InvalidToken => Some(Some("invalid_token")),
        Code::MalformedCredential => Some(Some("invalid_request")),
        Code::InsufficientScope => Some(Some("insufficient_scope")),
        _ => None,
    }
}

/// The characters of scopes and descriptions (RFC 6750, section 3).
fn is_quotable(character: char) -> bool {
    matches!(character, '\u{20}' | '\u{21}' | '\u{23}'..='\u{5b}' | '\u{5d}'..='\u{7e}')
}

#[cfg(test)]
mod tests {
    use callgate_core::refusal::{Code, Refusal};

    use super::{Challenge, ProtectedResource, Protection};

    fn protection(resource: &str) -> Protection {
        let mut source = ProtectedResource::new(resource, "https://id.example.com");
        source.required_scopes = vec!["mcp".into()];
        source.initial_scopes = vec!["mcp".into(), "invoices:read".into(), "offline_access".into()];
        Protection::new(source, ["invoices:read".to_owned(), "offline_access".to_owned()].iter())
    }

    /// Requirements: AUTH-RS-04, AUTH-RS-05, AUTH-RS-06, AUTH-RS-08, AUTH-RS-18
    #[test]
    fn the_metadata_has_the_resource_as_it_was_configured() {
        let protection = protection("https://MCP.example.com:443/mcp?x=1");
        assert_eq!(
            std::str::from_utf8(&protection.document).unwrap(),
            r#"{"resource":"https://MCP.example.com:443/mcp?x=1","authorization_servers":["https://id.example.com"],"scopes_supported":["invoices:read","mcp"],"bearer_methods_supported":["header"]}"#
        );
        assert_eq!(
            protection.metadata,
            "https://MCP.example.com:443/.well-known/oauth-protected-resource/mcp?x=1"
        );
    }

    /// Requirements: AUTH-RS-06
    #[test]
    fn the_metadata_is_found_at_the_inserted_path_at_the_root_and_below_the_endpoint() {
        let with_path = protection("https://mcp.example.com/public/mcp");
        for path in ["", "/public/mcp", "/mcp"] {
            let path = format!("/.well-known/oauth-protected-resource{path}");
            assert!(with_path.document(&path, "/mcp").is_some(), "{path}");
        }
        assert!(with_path.document("/.well-known/oauth-protected-resource/other", "/mcp").is_none());
        let root = protection("https://mcp.example.com/");
        assert_eq!(root.metadata, "https://mcp.example.com/.well-known/oauth-protected-resource");
        let port = protection("http://[::1]:8300");
        assert_eq!(port.metadata, "http://[::1]:8300/.well-known/oauth-protected-resource");
    }

    /// Requirements: AUTH-RS-07, AUTH-RS-14, AUTH-RS-15, AUTH-RS-16
    #[test]
    fn a_challenge_names_error_and_all_scopes_at_once() {
        let protection = protection("https://mcp.example.com/mcp");
        let said = |refusal: &Refusal| {
            let header = Challenge::of(refusal).unwrap().header(Some(&protection));
            header.to_str().unwrap().to_owned()
        };
        let at = r#"resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp""#;
        let none = Refusal::new(Code::Unauthenticated, "a token is required");
        assert_eq!(said(&none), format!(r#"Bearer scope="mcp invoices:read", {at}"#));
        let bad = Refusal::new(Code::InvalidToken, "the \"token\" has\r\nexpired");
        assert_eq!(
            said(&bad),
            format!(
                r#"Bearer error="invalid_token", error_description="the token hasexpired", scope="mcp invoices:read", {at}"#
            )
        );
        let scope = Refusal::new(Code::InsufficientScope, "a scope is missing")
            .with_scopes(vec!["reports:write".into(), "mcp".into()]);
        assert_eq!(
            said(&scope),
            format!(
                r#"Bearer error="insufficient_scope", error_description="a scope is missing", scope="mcp reports:write", {at}"#
            )
        );
        assert!(Challenge::of(&Refusal::new(Code::Forbidden, "no")).is_none());
    }
}
