//! From the response of a service to the result of a tool: only what the output declares gets through.
//!
//! It must never guess: a body that is not JSON, or has no result where the file says, is no result. Values are copied
//! as they are, so that no digit changes; whether they fit the output is checked by the pipeline. The HTTP tool
//! calls it.

use callgate_adapters::http::Response;
use callgate_protocol::json::{Document, Kind, Limits, Value, push_string};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};

mod project;

pub(crate) use project::{Projection, is_nullable};

/// The longest message of a service that is shown.
const MESSAGE_CHARACTERS: usize = 500;

/// What of a response is the result.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Where in the body the result is.
    pub(crate) select: Vec<String>,
    /// The rows, for a result that has them.
    pub(crate) rows: Option<Rows>,
    /// The fields of the result or of a row.
    pub(crate) fields: Vec<Field>,
    /// The bounds on a body.
    pub(crate) limits: Limits,
}

/// The rows of a result.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Where in the body the array is.
    pub(crate) pointer: Vec<String>,
    /// The name of the array in the output.
    pub(crate) items: String,
    pub(crate) max_rows: usize,
    pub(crate) max_bytes: usize,
}

/// One field of the output.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) nullable: bool,
    pub(crate) projection: Projection,
}

/// Where a field is.
#[derive(Debug)]
pub(crate) enum Source {
    /// In the result or row.
    Body(Vec<String>),
    /// In the head of the response.
    Header(HeaderName),
}

/// Why a whole body is no result.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("the media type of the response is not that of JSON")]
    Media,
    #[error("the body is no JSON: {0}")]
    Json(String),
    #[error("the body has nothing at {0:?}")]
    Missing(String),
    #[error("there is no array where the rows are to be")]
    NotRows,
    #[error("one row is larger than the bound")]
    RowTooLarge,
}

impl Selection {
    /// The result of a response that says that there is nothing, where such a result exists.
    pub(super) fn empty(&self) -> Option<String> {
        let rows = self.rows.as_ref()?;
        let mut json = String::from("{");
        push_string(&mut json, &rows.items);
        json.push_str(":[],\"truncated\":false}");
        Some(json)
    }

    /// The result of a successful response.
    pub(super) fn result(&self, headers: &HeaderMap, body: &[u8]) -> Result<String, Malformed> {
        if self.fields.iter().all(|field| matches!(field.source, Source::Header(_))) && self.rows.is_none() {
            // Nothing of the body is wanted, so it may be anything.
            return Ok(self.object(headers, None));
        }
        if !is_json(headers) {
            return Err(Malformed::Media);
        }
        let document = Document::parse_bytes(body.to_vec(), &self.limits)
            .map_err(|error| Malformed::Json(error.to_string()))?;
        let Some(rows) = &self.rows else {
            let selected = follow(document.root(), &self.select).ok_or_else(|| missing(&self.select))?;
            return Ok(self.object(headers, Some(selected)));
        };
        let array = follow(document.root(), &rows.pointer).ok_or_else(|| missing(&rows.pointer))?;
        if array.kind() != Kind::Array {
            return Err(Malformed::NotRows);
        }
        self.rows(headers, array, rows)
    }

    fn rows(&self, headers: &HeaderMap, array: Value<'_>, rows: &Rows) -> Result<String, Malformed> {
        let mut json = String::from("{");
        push_string(&mut json, &rows.items);
        json.push_str(":[");
        let start = json.len();
        let mut truncated = false;
        for (index, row) in array.items().enumerate() {
            let row = match follow(row, &self.select) {
                Some(row) => self.object(headers, Some(row)),
                None => return Err(missing(&self.select)),
            };
            let is_full = json.len() - start + row.len() + 1 > rows.max_bytes;
            if is_full && index == 0 {
                return Err(Malformed::RowTooLarge);
            }
            if is_full || index >= rows.max_rows {
                truncated = true;
                break;
            }
            if index > 0 {
                json.push(',');
            }
            json.push_str(&row);
        }
        json.push_str(if truncated { "],\"truncated\":true}" } else { "],\"truncated\":false}" });
        Ok(json)
    }

    fn object(&self, headers: &HeaderMap, body: Option<Value<'_>>) -> String {
        let mut json = String::from("{");
        for field in &self.fields {
            let before = json.len();
            if before > 1 {
                json.push(',');
            }
            push_string(&mut json, &field.name);
            json.push(':');
            let is_there = match &field.source {
                Source::Header(name) => {
                    let value = headers.get(name).and_then(|value| value.to_str().ok());
                    value.inspect(|text| push_string(&mut json, text)).is_some()
                }
                Source::Body(pointer) => {
                    let value = body.and_then(|body| follow(body, pointer));
                    // NULL where no null may be is left out, as by queries; a required field is then missed.
                    let value = value.filter(|value| field.nullable || !value.is_null());
                    value.inspect(|value| field.projection.push(*value, &mut json)).is_some()
                }
            };
            if !is_there {
                json.truncate(before);
            }
        }
        json.push('}');
        json
    }
}

/// The message of a service about its failure, shortened, and only if it is text.
pub(super) fn message(response: &Response, pointer: &[String]) -> Option<String> {
    let body = response.body.as_ref().ok().filter(|_| is_json(&response.headers))?;
    let document = Document::parse_bytes(body.clone(), &Limits::DEFAULT.with_depth(64)).ok()?;
    let text = follow(document.root(), pointer)?.as_str()?;
    let shown: String = text.chars().take(MESSAGE_CHARACTERS).collect();
    Some(if shown.len() < text.len() { format!("{shown} (cut)") } else { shown })
}

/// The value at a pointer. An index is one of an array.
fn follow<'d>(value: Value<'d>, pointer: &[String]) -> Option<Value<'d>> {
    pointer.iter().try_fold(value, |value, part| match value.kind() {
        Kind::Object => value.get(part),
        Kind::Array => {
            let is_index = part == "0" || !part.starts_with('0');
            part.parse().ok().filter(|_| is_index).and_then(|index: usize| value.items().nth(index))
        }
        _ => None,
    })
}

fn missing(pointer: &[String]) -> Malformed {
    Malformed::Missing(pointer.join("/"))
}

/// `application/json`, or a type that is built on it.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else { return false };
    let Ok(text) = only.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

#[cfg(test)]
mod tests;
