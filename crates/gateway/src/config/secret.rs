//! References to secrets, and keeping secrets that somebody wrote into the file out of everything that shows
//! the file.
//!
//! A finding shows source lines, and reports go to terminals, logs and bug trackers. The loader blots them out
//! before any place in the file exists; tables read references, the build step follows them.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use callgate_adapters::secret::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;
use super::text::read_text;

/// The longest secret in a file, in bytes.
const SECRET_BYTES: usize = 64 << 10;
/// Keys whose values are secret or stand for one. What is written there literally is never shown.
const SECRET_KEYS: [&str; 6] = ["client_secret", "secret", "password", "token", "api_key", "digest"];

/// Where a secret is found. A secret itself never stands in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretRef {
    /// `env:NAME`: in the environment variable of that name.
    Env(String),
    /// `file:PATH`: in a file, relative to the directory of `callgate.toml`.
    File(String),
}

impl SecretRef {
    /// Reads a reference that must be there. A literal secret is an error.
    pub(super) fn read(table: &mut Table<'_, '_>, key: &'static str, example: &str) -> Option<Located<Self>> {
        let text = table.required_string(key, &format!("\"{example}\""))?;
        let reference = match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Some(Self::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Some(Self::File(path.to_owned())),
            _ => None,
        };
        if reference.is_none() {
            let finding = Finding::error(
                "secret_in_file",
                format!("`{key}` of {} is no reference to a secret", table.name()),
                format!(
                    "put the secret into an environment variable or a file of its own and write `{key} = \
                     \"{example}\"` or `\"file:PATH\"`; change a secret that was written here"
                ),
            );
            table.reading().report(text.place().span(), finding);
        }
        reference.map(|reference| Located::new(reference, text.place().clone()))
    }

    /// Follows the reference. The end of the last line of a file does not count.
    ///
    /// # Errors
    /// The finding says where the secret was looked for, and nothing of it.
    pub(crate) fn follow(&self, directory: &Path) -> Result<Secret, Finding> {
        let text = match self {
            Self::Env(name) => std::env::var(name).map_err(|_| {
                Finding::error(
                    "missing_secret",
                    format!("the environment variable `{name}` is not set"),
                    "set it to the secret before the server starts",
                )
            })?,
            Self::File(path) => read_text(&directory.join(path), SECRET_BYTES).map_err(|why| {
                Finding::error(
                    "missing_secret",
                    format!("the file {path:?} with the secret cannot be read: {why}"),
                    why.remedy("write the secret into that file and let only the server read it"),
                )
            })?,
        };
        let secret = text.strip_suffix('\n').unwrap_or(&text);
        let secret = secret.strip_suffix('\r').unwrap_or(secret);
        if secret.is_empty() {
            let remedy = "write the secret to where the reference points";
            return Err(Finding::error("missing_secret", "the secret is empty", remedy));
        }
        Ok(Secret::new(secret.to_owned()))
    }
}

/// The text of a header: in the file, or where a secret is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// In the file.
    Plain(String),
    /// A secret.
    Secret(SecretRef),
}

impl HeaderText {
    /// Reads the headers under a key. A credential that stands there literally is an error.
    pub(super) fn read_all(
        table: &mut Table<'_, '_>,
        key: &'static str,
    ) -> Vec<(Located<String>, Located<Self>)> {
        let mut headers = Vec::new();
        for (name, text) in table.named_strings(key).unwrap_or_default() {
            let value = match text.split_once(':') {
                Some(("env", of)) if !of.is_empty() => Self::Secret(SecretRef::Env(of.to_owned())),
                Some(("file", of)) if !of.is_empty() => Self::Secret(SecretRef::File(of.to_owned())),
                _ if is_credential_header(&name) => {
                    let finding = Finding::error(
                        "secret_in_file",
                        format!("the header `{}` of {} carries a credential", name.as_str(), table.name()),
                        "put it into an environment variable or a file of its own and write `\"env:NAME\"` or \
                         `\"file:PATH\"`; change a secret that was written here",
                    );
                    table.reading().report(text.place().span(), finding);
                    continue;
                }
                _ => Self::Plain(text.to_string()),
            };
            headers.push((name, Located::new(value, text.place().clone())));
        }
        headers
    }
}

/// True for the name of a header whose value is a credential.
pub(crate) fn is_credential_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["token", "secret", "password", "api-key", "apikey", "authorization", "cookie"];
    matches!(name.as_str(), "authorization" | "cookie" | "apikey")
        || (name.contains('-') && words.iter().any(|word| name.contains(word)))
}

impl JsonSchema for SecretRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SecretRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(env|file):.",
            "description": "`env:NAME` or `file:PATH`",
            "examples": ["env:INTROSPECTION_SECRET", "file:/run/secrets/introspection"]
        })
    }
}

/// True for a URL that carries a password.
pub(crate) fn has_password(url: &str) -> bool {
    let Some((_, after_scheme)) = url.split_once("://") else { return false };
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let in_authority = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    in_authority || url.to_lowercase().contains("password=")
}

/// The text with every character of a secret, and of a URL that carries a password, replaced by `*`.
pub(crate) fn blotted(text: &str, document: &DeTable<'_>) -> String {
    let mut spans = Vec::new();
    for (key, value) in document {
        find(key.get_ref(), value, &mut spans);
    }
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        for byte in bytes.get_mut(span).unwrap_or_default() {
            if !matches!(byte, b'\n' | b'\r' | b'"' | b'\'') {
                *byte = b'*';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn find(key: &str, value: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::String(text) if has_password(text) || is_literal_secret(key, text) => {
            spans.push(value.span())
        }
        DeValue::Array(items) => items.iter().for_each(|item| find(key, item, spans)),
        DeValue::Table(table) => table.iter().for_each(|(key, member)| find(key.get_ref(), member, spans)),
        _ => {}
    }
}

/// True for a secret that stands where a reference or a digest belongs.
fn is_literal_secret(key: &str, text: &str) -> bool {
    let is_allowed = ["env:", "file:", "sha256:"].iter().any(|start| text.starts_with(start));
    (SECRET_KEYS.contains(&key) || is_credential_header(key)) && !is_allowed
}
