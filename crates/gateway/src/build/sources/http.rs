//! Opening a source of kind `http`: its address, its authorities, its headers and its credential.
//!
//! Secrets are read here and nowhere else, and never shown. Nothing is asked of the service: it need not be there
//! when the file is loaded. The step that opens sources calls it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use callgate_adapters::http::{
    Base, BaseError, ClientSecret, Credential, Options, OptionsError, Service, TokenOptions,
};
use callgate_adapters::secret::Secret;
use callgate_protocol::header::is_token_byte;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::Built;
use crate::config::{
    CredentialKind, CredentialTable, Finding, HeaderText, HttpSource, Located, SecretRef, Sent, bare,
    is_credential_header, listed, read_text,
};
use crate::files::FileState;

/// Bytes of a file with certificates.
const PEM_BYTES: usize = 1 << 20;

/// Headers that are the transport's, the gate's, or would carry what the caller sent.
pub(crate) const RESERVED: [&str; 23] = [
    "host",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "accept",
    "accept-encoding",
    "proxy-authorization",
    "proxy-connection",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "mcp-session-id",
    "traceparent",
    "tracestate",
    "user-agent",
];

/// A service, and what of its source a tool is judged by.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) service: Arc<Service>,
    pub(crate) tenant_scoped: bool,
    pub(crate) trace: bool,
}

/// What is read of a table, and where the findings go.
struct Opening<'o> {
    table: &'o HttpSource,
    directory: &'o Path,
    built: &'o mut Built,
}

/// The service of a table, or nothing when it has an error.
pub(super) fn open(
    name: &Located<String>,
    table: &HttpSource,
    directory: &Path,
    built: &mut Built,
) -> Option<Remote> {
    let before = built.findings.len();
    let mut opening = Opening { table, directory, built };
    opening.check_private_hosts();
    let base = opening.base(table.url.as_ref());
    let authorities = opening.authorities();
    let headers = opening.headers();
    let credential = opening.credential(authorities.clone());
    let mut options = Options::new(base?);
    options.authorities = authorities;
    options.headers = headers;
    options.credential = credential?;
    set_limits(table, &mut options);
    let errors = built.findings.get(before..).unwrap_or_default();
    if errors.iter().any(|finding| finding.severity == crate::config::Severity::Error) {
        return None;
    }
    match Service::new(options) {
        Ok(service) => Some(Remote {
            service: Arc::new(service),
            tenant_scoped: table.tenant_scoped.as_ref().is_some_and(|flag| **flag),
            trace: table.trace.as_ref().is_none_or(|flag| **flag),
        }),
        Err(error) => {
            let (place, remedy) = match &error {
                OptionsError::Authorities => (
                    table.authorities.as_ref().map(Located::place),
                    "name a file with one or more certificates in PEM",
                ),
                OptionsError::Secret => (
                    table.credential.as_ref().and_then(|table| table.kind.as_ref()).map(Located::place),
                    "a secret in a header is of visible ASCII characters; correct what the reference leads to",
                ),
                _ => (None, "report it with the versions of this program and of the system"),
            };
            let finding = Finding::error("source_unusable", error.to_string(), remedy);
            built.findings.push(finding.at(place.unwrap_or(name.place()).clone()));
            None
        }
    }
}

fn set_limits(table: &HttpSource, options: &mut Options) {
    let number =
        |value: &Option<Located<u64>>| value.as_ref().and_then(|value| usize::try_from(**value).ok());
    let limits = &mut options.limits;
    if let Some(concurrency) = number(&table.concurrency) {
        limits.concurrency = concurrency;
    }
    if let Some(bytes) = number(&table.max_response_bytes) {
        limits.response_bytes = bytes;
        limits.decoded_bytes = limits.decoded_bytes.max(bytes);
    }
    if let Some(bytes) = number(&table.max_decoded_bytes) {
        limits.decoded_bytes = bytes;
    }
    if let Some(timeout) = &table.connect_timeout_ms {
        limits.connect_timeout = Duration::from_millis(**timeout);
    }
}

impl Opening<'_> {
    fn base(&mut self, url: Option<&Located<String>>) -> Option<Base> {
        let url = url?;
        let base = Base::parse(url, |host| self.table.names(host));
        base.map_err(|error| {
            let remedy = match error {
                BaseError::Plain => {
                    "write `https`; a host of this machine or of a private network is spoken to without TLS when it \
                     is named in `private_hosts`"
                }
                BaseError::Address => {
                    "use the address of a service in the public network, or name this host in `private_hosts` if \
                     that is where the service is"
                }
                BaseError::Parts => "leave them out; a credential belongs under `credential`, parameters in the tools",
                BaseError::Path => "write the path as it is sent, without `.` and `..`, empty segments and spaces",
                _ => "write it as in `https://crm.example.com/api`",
            };
            let finding = Finding::error("invalid_url", format!("the URL cannot be used: {error}"), remedy);
            self.built.findings.push(finding.at(url.place().clone()));
        })
        .ok()
    }

    /// A host that is named and never used is a typo that leaves the real one out.
    fn check_private_hosts(&mut self) {
        let table = self.table;
        let token_url = table.credential.as_ref().and_then(|table| table.token_url.as_ref());
        let used: Vec<String> = [table.url.as_ref(), token_url]
            .into_iter()
            .flatten()
            .filter_map(|url| Some(Base::parse(url, |_| true).ok()?.host().to_owned()))
            .collect();
        for host in table.private_hosts.iter().flat_map(|hosts| hosts.iter()) {
            if !used.contains(&bare(host)) {
                let names: Vec<&str> = used.iter().map(String::as_str).collect();
                let finding = Finding::error(
                    "unknown_host",
                    format!("`{}` is not the host of a URL of this source", host.as_str()),
                    format!("remove it, or name a host as it stands in a URL here: {}", listed(&names)),
                );
                self.built.findings.push(finding.at(host.place().clone()));
            }
        }
    }

    fn authorities(&mut self) -> Option<Vec<u8>> {
        let path = self.table.authorities.as_ref()?;
        let full = self.directory.join(path.as_str());
        self.built.files.push(FileState::now(full.as_path()));
        match read_text(&full, PEM_BYTES) {
            Ok(text) => Some(text.into_bytes()),
            Err(why) => {
                let message = format!("the file {:?} with certificates cannot be read: {why}", path.as_str());
                let remedy = why.remedy("name a file with one or more certificates in PEM");
                let finding = Finding::error("unreadable_file", message, remedy);
                self.built.findings.push(finding.at(path.place().clone()));
                None
            }
        }
    }

    fn headers(&mut self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.table.headers {
            let name = header_name(name, &mut self.built.findings);
            let value = self.header_value(value);
            if let (Some(name), Some(value)) = (name, value) {
                headers.insert(name, value);
            }
        }
        headers
    }

    fn header_value(&mut self, value: &Located<HeaderText>) -> Option<HeaderValue> {
        match &**value {
            HeaderText::Plain(text) => plain_value(text, value.place(), &mut self.built.findings),
            HeaderText::Secret(reference) => {
                let secret = self.secret(&Located::new(reference.clone(), value.place().clone()))?;
                secret_value(&secret, value.place(), &mut self.built.findings)
            }
        }
    }

    fn secret(&mut self, reference: &Located<SecretRef>) -> Option<Secret> {
        follow(reference, self.directory, &mut self.built.findings, &mut self.built.files)
    }

    fn credential(&mut self, authorities: Option<Vec<u8>>) -> Option<Credential> {
        let Some(table) = &self.table.credential else { return Some(Credential::None) };
        let kind = **table.kind.as_ref()?;
        match kind {
            CredentialKind::Bearer => Some(Credential::Bearer(self.secret(table.secret.as_ref()?)?)),
            CredentialKind::Basic => {
                let user = table.user.as_ref()?.to_string();
                Some(Credential::Basic { user, password: self.secret(table.secret.as_ref()?)? })
            }
            CredentialKind::Header => {
                let name = credential_name(table.header.as_ref()?, &mut self.built.findings);
                let value = self.secret(table.secret.as_ref()?);
                Some(Credential::Header { name: name?, value: value? })
            }
            CredentialKind::ClientCredentials => self.tokens(table, authorities).map(Credential::Client),
            CredentialKind::TokenExchange => self.tokens(table, authorities).map(Credential::Exchange),
        }
    }

    fn tokens(&mut self, table: &CredentialTable, authorities: Option<Vec<u8>>) -> Option<TokenOptions> {
        let endpoint = self.base(table.token_url.as_ref());
        let secret = table.client_secret.as_ref().and_then(|secret| self.secret(secret));
        let client_id = table.client_id.as_ref()?.to_string();
        let mut options = TokenOptions::new(endpoint?, client_id, secret?);
        options.authorities = authorities;
        if table.authentication.as_ref().is_some_and(|sent| **sent == Sent::Post) {
            options.sent = ClientSecret::Post;
        }
        let scopes = table.scopes.iter().flat_map(|scopes| scopes.iter());
        options.scopes = scopes.map(ToString::to_string).collect();
        options.resource = table.resource.as_ref().map(ToString::to_string);
        options.audience = table.audience.as_ref().map(ToString::to_string);
        Some(options)
    }
}

/// Follows a reference to a secret.
pub(crate) fn follow(
    reference: &Located<SecretRef>,
    directory: &Path,
    findings: &mut Vec<Finding>,
    files: &mut Vec<FileState>,
) -> Option<Secret> {
    if let SecretRef::File(path) = &**reference {
        files.push(FileState::now(directory.join(path)));
    }
    reference.follow(directory).map_err(|finding| findings.push(finding.at(reference.place().clone()))).ok()
}

/// The name of a header that the file may set.
pub(crate) fn header_name(name: &Located<String>, findings: &mut Vec<Finding>) -> Option<HeaderName> {
    let lower = name.to_ascii_lowercase();
    let is_token = !name.is_empty() && name.bytes().all(is_token_byte);
    let parsed = HeaderName::from_bytes(lower.as_bytes()).ok().filter(|_| is_token);
    let (message, remedy) = match parsed {
        None => (
            format!("{:?} is no name of a header", name.as_str()),
            "use letters, digits and `-`, as in `X-Region`".to_owned(),
        ),
        Some(_) if RESERVED.contains(&lower.as_str()) || lower.starts_with("mcp-") => (
            format!("the header `{}` is not set by the file", name.as_str()),
            "remove it; the body, the connection and the trace have theirs".to_owned(),
        ),
        Some(parsed) => return Some(parsed),
    };
    findings.push(Finding::error("invalid_header", message, remedy).at(name.place().clone()));
    None
}

/// The name of a header that carries a credential.
fn credential_name(name: &Located<String>, findings: &mut Vec<Finding>) -> Option<HeaderName> {
    let parsed = header_name(name, findings)?;
    if !is_credential_header(name) {
        let finding = Finding::warning(
            "unusual_header",
            format!("the header `{}` does not look as if it carried a credential", name.as_str()),
            "check the name with the manual of the service",
        );
        findings.push(finding.at(name.place().clone()));
    }
    Some(parsed)
}

/// A header value that stands in the file.
pub(crate) fn plain_value(
    text: &str,
    place: &crate::config::Place,
    findings: &mut Vec<Finding>,
) -> Option<HeaderValue> {
    let visible = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) && text.trim() == text;
    let value = HeaderValue::from_str(text).ok().filter(|_| visible);
    if value.is_none() {
        let finding = Finding::error(
            "invalid_header",
            "the value has characters that a header cannot have",
            "use visible ASCII characters, without spaces at its ends",
        );
        findings.push(finding.at(place.clone()));
    }
    value
}

/// A header value that is a secret.
pub(crate) fn secret_value(
    secret: &Secret,
    place: &crate::config::Place,
    findings: &mut Vec<Finding>,
) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(secret.expose()).ok();
    match &mut value {
        Some(value) => value.set_sensitive(true),
        None => {
            let finding = Finding::error(
                "invalid_header",
                "the secret has characters that a header cannot have",
                "correct what the reference leads to: visible ASCII characters in one line",
            );
            findings.push(finding.at(place.clone()));
        }
    }
    value
}
