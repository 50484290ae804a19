//! The requests, and the checks on their answers. Every number in a request has eight digits, so that
//! all requests of a workload, and all right answers of a subject, have one length.

use serde_json::Value;

use crate::Failure;
use crate::case::{LISTED_TOOLS, Workload};

const FIRST: u64 = 10_000_000;
const DIGITS: usize = 8;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"callgate-bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
const ECHOED: &[u8] = br#""structuredContent":{"text":"hello "#;

/// A request whose numbers are filled in for each call without allocation.
#[derive(Clone)]
pub struct Template {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Template {
    /// The JSON-RPC request of a workload as one line of stdio.
    pub fn line(workload: Workload) -> Self {
        let mut bytes = body(workload);
        bytes.push(b'\n');
        Self::new(bytes)
    }

    /// The same as an HTTP request, with a bearer token if there is one.
    pub fn http(workload: Workload, authority: &str, token: Option<&str>) -> Self {
        let body = body(workload);
        let (method, name) = match workload {
            Workload::EchoHttp | Workload::EchoStdio => ("tools/call", "Mcp-Name: echo\r\n"),
            Workload::SqlHttp => ("tools/call", "Mcp-Name: invoice_get\r\n"),
            Workload::ListHttp => ("tools/list", ""),
        };
        let authorization = token.map_or_else(String::new, |t| format!("Authorization: Bearer {t}\r\n"));
        let mut bytes = format!(
            "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\n{name}{authorization}Content-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(&body);
        Self::new(bytes)
    }

    fn new(mut bytes: Vec<u8>) -> Self {
        let mut places = Vec::new();
        while let Some(at) = find(&bytes, b"########") {
            bytes[at..at + DIGITS].copy_from_slice(b"00000000");
            places.push(at);
        }
        Self { bytes, places }
    }

    /// The request of call `index`.
    pub fn fill(&mut self, index: usize) -> &[u8] {
        let mut digits = [b'0'; DIGITS];
        write_number(index, &mut digits);
        for &at in &self.places {
            self.bytes[at..at + DIGITS].copy_from_slice(&digits);
        }
        &self.bytes
    }
}

/// The JSON-RPC request of a workload; `########` stands for the number of the call.
fn body(workload: Workload) -> Vec<u8> {
    let text = match workload {
        Workload::EchoHttp | Workload::EchoStdio => format!(
            r#"{{"jsonrpc":"2.0","id":########,"method":"tools/call","params":{{{META},"name":"echo","arguments":{{"text":"hello ########"}}}}}}"#
        ),
        Workload::SqlHttp => format!(
            r#"{{"jsonrpc":"2.0","id":########,"method":"tools/call","params":{{{META},"name":"invoice_get","arguments":{{"invoice_reference":"A-2026-00017"}}}}}}"#
        ),
        Workload::ListHttp => {
            format!(r#"{{"jsonrpc":"2.0","id":########,"method":"tools/list","params":{{{META}}}}}"#)
        }
    };
    text.into_bytes()
}

fn write_number(index: usize, digits: &mut [u8; DIGITS]) {
    let mut number = FIRST + index as u64;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// What a subject's answers look like, learned from one that was checked in full.
#[derive(Clone, Copy)]
pub struct Expected {
    workload: Workload,
    /// The floor answers fixed bytes, so its ids are not looked at.
    fixed: bool,
    length: usize,
}

impl Expected {
    /// Checks one answer as a client would, and keeps what the quick check needs.
    pub fn learn(workload: Workload, fixed: bool, index: usize, body: &[u8]) -> Result<Self, Failure> {
        let json = json_of(body);
        let answer: Value =
            serde_json::from_slice(json).map_err(|e| fault("not JSON", &e.to_string(), body))?;
        if !fixed && answer["id"] != FIRST + index as u64 {
            return Err(fault("wrong id", &answer["id"].to_string(), body));
        }
        let result = &answer["result"];
        if result["resultType"] != "complete" || result["isError"] == true {
            return Err(fault("not a complete result", "", body));
        }
        match workload {
            Workload::EchoHttp | Workload::EchoStdio => {
                let text = result["structuredContent"]["text"].as_str().unwrap_or_default();
                let right = text == format!("hello {}", FIRST + index as u64);
                if !(right || fixed && text.starts_with("hello ")) {
                    return Err(fault("wrong echo", text, body));
                }
            }
            Workload::SqlHttp if !result["structuredContent"].to_string().contains("A-2026-00017") => {
                return Err(fault("wrong row", "", body));
            }
            Workload::ListHttp => {
                let tools = result["tools"].as_array().map_or(0, Vec::len);
                if tools != LISTED_TOOLS {
                    return Err(fault("wrong number of tools", &tools.to_string(), body));
                }
            }
            Workload::SqlHttp => {}
        }
        Ok(Self { workload, fixed, length: json.len() })
    }

    /// Checks one answer inside the measurement: its length, its id, and what was echoed.
    pub fn check(&self, index: usize, body: &[u8]) -> Result<(), Failure> {
        let json = json_of(body);
        let may_vary = self.workload == Workload::SqlHttp;
        if json.len() != self.length && !may_vary {
            return Err(fault("wrong length", &format!("{} instead of {}", json.len(), self.length), body));
        }
        if self.fixed {
            return Ok(());
        }
        let mut digits = [b'0'; DIGITS];
        write_number(index, &mut digits);
        if !has_id(json, &digits) {
            return Err(fault("wrong id", "", body));
        }
        if matches!(self.workload, Workload::EchoHttp | Workload::EchoStdio) {
            let right = find(json, ECHOED).is_some_and(|at| json[at + ECHOED.len()..].starts_with(&digits));
            if !right {
                return Err(fault("wrong echo", "", body));
            }
        } else if self.workload == Workload::SqlHttp && find(json, b"A-2026-00017").is_none() {
            return Err(fault("wrong row", "", body));
        }
        Ok(())
    }

    /// The index of the call that an answer belongs to, by what was echoed.
    pub fn index_of(json: &[u8]) -> Option<usize> {
        let at = find(json, ECHOED)? + ECHOED.len();
        let digits = json.get(at..at + DIGITS)?;
        let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        usize::try_from(number.checked_sub(FIRST)?).ok()
    }
}

/// The id stands near the start or near the end of an answer, whoever wrote it.
fn has_id(json: &[u8], digits: &[u8; DIGITS]) -> bool {
    const WINDOW: usize = 400;
    let mut needle = *br#""id":00000000"#;
    needle[5..].copy_from_slice(digits);
    let head = &json[..json.len().min(WINDOW)];
    let tail = &json[json.len().saturating_sub(WINDOW)..];
    find(head, &needle).is_some() || find(tail, &needle).is_some()
}

/// The JSON of an answer, out of its SSE event if it came in one.
pub fn json_of(body: &[u8]) -> &[u8] {
    let Some(at) = find(&body[..body.len().min(64)], b"data: ") else { return body };
    let rest = &body[at + 6..];
    &rest[..rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())]
}

fn fault(what: &str, found: &str, body: &[u8]) -> Failure {
    let start = String::from_utf8_lossy(&body[..body.len().min(600)]).into_owned();
    format!("{what}: {found}\n  answer: {start}").into()
}

/// The first place of `needle`.
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, rest) = needle.split_first()?;
    let mut from = 0;
    while let Some(at) = haystack[from..].iter().position(|&b| b == first) {
        let start = from + at;
        if haystack[start + 1..].starts_with(rest) {
            return Some(start);
        }
        from = start + 1;
    }
    None
}
