//! From the claims of a token to a principal, whether they came signed or from an introspection.
//!
//! It must never take a claim of another type than the one it expects, never guess, and never show a value.
//! Both kinds of tokens pass the same checks here, so that neither is the easier way in.

use std::time::Duration;

use callgate_core::port::Timestamp;
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Document, Kind, Value};

use super::options::{ClaimPath, Tenancy};
use super::scope::Hierarchy;
use super::{Options, invalid};

/// Audiences of one token that are looked at.
const AUDIENCES: usize = 64;

/// Whether a claim must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    /// What is missing was told by other means: an introspection endpoint belongs to one issuer.
    IfPresent,
}

/// The principal that claims speak for.
pub(super) fn read(
    claims: &Document,
    issuer: Presence,
    options: &Options,
    hierarchy: &Hierarchy,
    now: Timestamp,
) -> Result<Principal, Refusal> {
    let root = claims.root();
    if root.kind() != Kind::Object {
        return Err(invalid("the claims of the token are no object"));
    }
    let expires = check_time(root, options.leeway, now)?;
    check_issuer(root, issuer, &options.issuer)?;
    check_audience(root, &options.audience)?;
    // RFC 9449, section 7.1, and RFC 8705: such a token is good only with the proof that it is bound to.
    if root.get("cnf").is_some_and(|confirmation| !confirmation.is_null()) {
        return Err(invalid("the token is bound to a key of its client, and no proof of that is taken here"));
    }
    let principal = principal(root, options, hierarchy)?.with_expiry(expires);
    let required = &options.required_scopes;
    if !required.iter().all(|scope| principal.has_scope(scope)) {
        let message = "the credential lacks a scope that this server needs";
        return Err(Refusal::new(Code::InsufficientScope, message).with_scopes(required.clone()));
    }
    Ok(principal)
}

/// When the token ends, the leeway included.
fn check_time(root: Value<'_>, leeway: Duration, now: Timestamp) -> Result<Timestamp, Refusal> {
    let leeway = i64::try_from(leeway.as_micros()).unwrap_or(0);
    let expires = root.get("exp").ok_or(invalid("the token does not say when it expires"))?;
    let expires = date(expires).ok_or(invalid("`exp` of the token is no number of seconds"))?;
    let expires = Timestamp(expires.0.saturating_add(leeway));
    if expires <= now {
        return Err(invalid("the token has expired"));
    }
    if let Some(begins) = root.get("nbf") {
        let begins = date(begins).ok_or(invalid("`nbf` of the token is no number of seconds"))?;
        if begins.0.saturating_sub(leeway) > now.0 {
            return Err(invalid("the token is not valid yet"));
        }
    }
    Ok(expires)
}

/// A `NumericDate` (RFC 7519, section 2): seconds, possibly with a fraction.
fn date(value: Value<'_>) -> Option<Timestamp> {
    if value.kind() != Kind::Number {
        return None;
    }
    if let Some(seconds) = value.as_i64() {
        return Some(Timestamp(seconds.saturating_mul(1_000_000)));
    }
    let seconds: f64 = value.raw().parse().ok()?;
    // Beyond these nothing is a date; within them a float keeps every second.
    (seconds.is_finite() && seconds.abs() < 1e12)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
        .map(|since| Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)))
}

fn check_issuer(root: Value<'_>, presence: Presence, issuer: &str) -> Result<(), Refusal> {
    match root.get("iss") {
        None if presence == Presence::IfPresent => Ok(()),
        None => Err(invalid("the token does not say who issued it")),
        Some(value) if value.is_str(issuer) => Ok(()),
        Some(_) => Err(invalid("the token was issued by somebody else than this server trusts")),
    }
}

/// "MCP servers MUST validate that access tokens were issued specifically for them":
/// <https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling>
fn check_audience(root: Value<'_>, audience: &str) -> Result<(), Refusal> {
    let value = root.get("aud").ok_or(invalid("the token does not say for which server it was issued"))?;
    let is_ours = match value.kind() {
        Kind::String => value.is_str(audience),
        Kind::Array => {
            value.len() <= AUDIENCES
                && value.items().all(|one| one.kind() == Kind::String)
                && value.items().any(|one| one.is_str(audience))
        }
        _ => false,
    };
    if is_ours { Ok(()) } else { Err(invalid("the token was issued for another server")) }
}

fn principal(root: Value<'_>, options: &Options, hierarchy: &Hierarchy) -> Result<Principal, Refusal> {
    let paths = &options.claims;
    let text = |path: &ClaimPath| text(root, path, options.limits.name_bytes);
    let subject = text(&paths.subject)?;
    let subject = subject.ok_or_else(|| invalid(format!("the token lacks `{}`", paths.subject.as_str())))?;
    let mut principal = Principal::new(subject);
    match (text(&paths.tenant)?, options.tenancy) {
        (Some(tenant), _) => principal = principal.with_tenant(tenant),
        (None, Tenancy::Optional) => {}
        (None, Tenancy::Required) => {
            return Err(invalid(format!("the token names no tenant in `{}`", paths.tenant.as_str())));
        }
    }
    if let Some(purpose) = text(&paths.purpose)? {
        principal = principal.with_purpose(purpose);
    }
    let client = match &paths.client {
        Some(path) => text(path)?,
        None => match text(&ClaimPath::name("client_id"))? {
            Some(client) => Some(client),
            None => text(&ClaimPath::name("azp"))?,
        },
    };
    if let Some(client) = client {
        principal = principal.with_client(client);
    }
    let names = |path: &ClaimPath, form| names(root, path, form, options);
    principal = principal.with_groups(names(&paths.groups, Form::Whole)?.unwrap_or_default());
    let scopes = match &paths.scopes {
        Some(path) => names(path, Form::Words)?,
        None => match names(&ClaimPath::name("scope"), Form::Words)? {
            Some(scopes) => Some(scopes),
            None => names(&ClaimPath::name("scp"), Form::Words)?,
        },
    };
    Ok(principal.with_scopes(hierarchy.expand(scopes.unwrap_or_default())))
}

fn text(root: Value<'_>, path: &ClaimPath, bytes: usize) -> Result<Option<Box<str>>, Refusal> {
    let Some(value) = path.find(root) else { return Ok(None) };
    let text = value.as_str().filter(|text| is_name(text, bytes));
    let text = text.ok_or_else(|| {
        invalid(format!("`{}` of the token is no plain text of a usable length", path.as_str()))
    })?;
    Ok(Some(text.into()))
}

/// How one string gives names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// It is one.
    Whole,
    /// They are its words.
    Words,
}

fn names(
    root: Value<'_>,
    path: &ClaimPath,
    form: Form,
    options: &Options,
) -> Result<Option<Vec<Box<str>>>, Refusal> {
    let Some(value) = path.find(root) else { return Ok(None) };
    let wrong = || invalid(format!("`{}` of the token is no list of plain texts", path.as_str()));
    let names: Vec<Box<str>> = match value.kind() {
        Kind::Array if value.len() <= options.limits.names => value
            .items()
            .map(|item| item.as_str().map(Into::into))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?,
        Kind::String => {
            let text = value.as_str().unwrap_or_default();
            match form {
                Form::Whole => vec![text.into()],
                Form::Words => text.split(' ').filter(|word| !word.is_empty()).map(Into::into).collect(),
            }
        }
        _ => return Err(wrong()),
    };
    let is_usable = names.len() <= options.limits.names
        && names.iter().all(|name| is_name(name, options.limits.name_bytes));
    if is_usable { Ok(Some(names)) } else { Err(wrong()) }
}

/// Names get into logs and statements, so they have no control characters.
fn is_name(text: &str, bytes: usize) -> bool {
    !text.trim().is_empty() && text.len() <= bytes && !text.chars().any(char::is_control)
}
