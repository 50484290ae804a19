//! The parts of a request as they are sent: path, query, headers and body.
//!
//! Texts of the file are encoded here, once; values are encoded for each call. The judge of requests calls it.

use std::path::Path;

use callgate_adapters::http::is_exact_target;
use http::HeaderName;

use super::super::Judged;
use super::values::{Place, Scope};
use crate::build::sources::http::{follow, header_name, plain_value, secret_value};
use crate::config::{
    Body, Finding, HeaderText, HeaderValue, Located, Part, ReconcileTable, RequestTable, SecretRef, Template,
    is_credential_header,
};
use crate::http_tool::{self, Header, Piece, Query, Segment, percent};

/// The segments of the path.
pub(super) fn path(table: &RequestTable, scope: &mut Scope<'_>, findings: &mut Vec<Finding>) -> Vec<Segment> {
    let Some(template) = &table.path else { return Vec::new() };
    check_path(template, findings);
    segments(scope.pieces(template, Place::Path, ToOwned::to_owned, findings))
}

fn check_path(template: &Template, findings: &mut Vec<Finding>) {
    let example: String = template
        .parts
        .iter()
        .map(|part| match part {
            Part::Literal(text) => text.as_str(),
            Part::Value { .. } => "x",
        })
        .collect();
    if !is_exact_target(&example) || example.contains(['?', '#']) || example.contains("//") {
        let finding = Finding::error(
            "invalid_path",
            "the path does not stand for itself",
            "begin it with a slash, leave out `.` and `..`, empty segments, `?` and `#`, and write other characters \
             than letters, digits and `-._~` as in `%20`; parameters belong under `query`",
        );
        findings.push(finding.at(template.text.place().clone()));
    }
}

/// The path and the query by which the service is asked about an effect.
pub(super) fn reconcile(table: &ReconcileTable, findings: &mut Vec<Finding>) -> (Vec<Segment>, Vec<Query>) {
    let path = table.path.as_ref().map(|path| {
        check_path(path, findings);
        segments(of_effect(path, ToOwned::to_owned, findings))
    });
    let query = table
        .query
        .iter()
        .map(|(name, template)| Query { name: percent(name), text: of_effect(template, percent, findings) });
    (path.unwrap_or_default(), query.collect())
}

/// The pieces of a template of which no arguments are known.
fn of_effect(
    template: &Template,
    literal: impl Fn(&str) -> String,
    findings: &mut Vec<Finding>,
) -> Vec<Piece> {
    let pieces = template.parts.iter().map(|part| match part {
        Part::Literal(text) => Piece::Literal(literal(text)),
        Part::Value { name, .. } if name == "key" => Piece::Key,
        Part::Value { name, .. } if name == "tenant" => Piece::Tenant,
        Part::Value { name, at } => {
            let message = format!("`{{{name}}}` is not known when the service is asked about an effect");
            let finding = Finding::error("unknown_parameter", message, "use `{key}` and `{tenant}`");
            findings.push(finding.at(template.text.place_within(at.clone())));
            Piece::Key
        }
    });
    pieces.collect()
}

fn segments(pieces: Vec<Piece>) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for piece in pieces {
        let Piece::Literal(text) = piece else {
            if let Some(last) = segments.last_mut() {
                last.push(piece);
            }
            continue;
        };
        for (index, part) in text.split('/').enumerate() {
            if index > 0 {
                segments.push(Vec::new());
            }
            if let Some(last) = segments.last_mut().filter(|_| !part.is_empty()) {
                last.push(Piece::Literal(part.to_owned()));
            }
        }
    }
    segments
}

/// The parameters of the query.
pub(super) fn query(table: &RequestTable, scope: &mut Scope<'_>, findings: &mut Vec<Finding>) -> Vec<Query> {
    let mut query = Vec::with_capacity(table.query.len());
    for (name, template) in &table.query {
        if name.is_empty() {
            let message = "a parameter of the query has no name";
            let finding = Finding::error("invalid_name", message, "name it as the service does");
            findings.push(finding.at(name.place().clone()));
        }
        let place = if template.only_value().is_some() { Place::Parameter } else { Place::Text };
        let text = scope.pieces(template, place, percent, findings);
        query.push(Query { name: percent(name), text });
    }
    query
}

/// The headers, with the secrets in them.
pub(super) fn headers(
    table: &RequestTable,
    directory: &Path,
    scope: &mut Scope<'_>,
    judged: &mut Judged,
) -> Vec<(HeaderName, Header)> {
    let mut headers: Vec<(HeaderName, Header)> = Vec::with_capacity(table.headers.len());
    for (name, value) in &table.headers {
        let parsed = header_name(name, &mut judged.findings);
        let header = match value {
            HeaderValue::Secret(text) => secret(text, directory, judged),
            HeaderValue::Template(template) => text(name, template, scope, &mut judged.findings),
        };
        let (Some(parsed), Some(header)) = (parsed, header) else { continue };
        if headers.iter().any(|(other, _)| *other == parsed) {
            let message = format!("the header `{parsed}` is set twice");
            let finding = Finding::error("duplicate_key", message, "remove one of them; names have no case");
            judged.findings.push(finding.at(name.place().clone()));
        }
        headers.push((parsed, header));
    }
    headers
}

fn secret(text: &Located<HeaderText>, directory: &Path, judged: &mut Judged) -> Option<Header> {
    let HeaderText::Secret(reference) = &**text else { return None };
    let reference = Located::new(reference.clone(), text.place().clone());
    let secret = follow(&reference, directory, &mut judged.findings, &mut judged.files)?;
    secret_value(&secret, text.place(), &mut judged.findings).map(Header::Constant)
}

fn text(
    name: &Located<String>,
    template: &Template,
    scope: &mut Scope<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Header> {
    if let Some(literal) = template.literal() {
        return plain_value(&literal, template.text.place(), findings).map(Header::Constant);
    }
    if is_credential_header(name) {
        let message = format!("the header `{}` carries a credential, and an argument is none", name.as_str());
        let remedy = "write `\"env:NAME\"` or `\"file:PATH\"`, or use the `credential` of the source";
        findings
            .push(Finding::error("credential_from_input", message, remedy).at(template.text.place().clone()));
    }
    for part in &template.parts {
        if let Part::Literal(literal) = part {
            let visible = literal.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
            if !visible {
                plain_value(literal, template.text.place(), findings);
            }
        }
    }
    Some(Header::Text(scope.pieces(template, Place::Text, ToOwned::to_owned, findings)))
}

/// Where the secrets of the headers are found.
pub(super) fn secrets(table: &RequestTable) -> Vec<(&str, &SecretRef)> {
    let headers = table.headers.iter().filter_map(|(name, value)| match value {
        HeaderValue::Template(_) => None,
        HeaderValue::Secret(text) => match &**text {
            HeaderText::Plain(_) => None,
            HeaderText::Secret(reference) => Some((name.as_str(), reference)),
        },
    });
    headers.collect()
}

/// The body.
pub(super) fn body(body: &Body, scope: &mut Scope<'_>, findings: &mut Vec<Finding>) -> http_tool::Body {
    match body {
        Body::Literal(text) => http_tool::Body::Literal(text.clone()),
        Body::Text(template) if template.only_value().is_some() => {
            let mut pieces = scope.pieces(template, Place::Json, ToOwned::to_owned, findings);
            pieces.pop().map_or_else(|| http_tool::Body::Text(Vec::new()), http_tool::Body::Value)
        }
        Body::Text(template) => {
            http_tool::Body::Text(scope.pieces(template, Place::Text, ToOwned::to_owned, findings))
        }
        Body::Items(items) => {
            http_tool::Body::Items(items.iter().map(|item| self::body(item, scope, findings)).collect())
        }
        Body::Members(members) => http_tool::Body::Members(
            members
                .iter()
                .map(|(name, member)| (name.clone(), self::body(member, scope, findings)))
                .collect(),
        ),
    }
}
