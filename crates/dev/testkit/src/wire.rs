//! Judges a message by the schema of its revision.
//!
//! It must never let a message pass because nothing is known about it: an unknown method, an unknown
//! definition and a budget that runs out are failures. Tests of servers call
//! [`assert_server_message`] for everything that a server sends.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use callgate_core::contract::schema::{Schema, SchemaLimits, Verdict};
use callgate_protocol::json::{Document, Limits, Value};
use callgate_protocol::message::ResponseOutcome;
use callgate_protocol::{ErrorCode, Message, Method, Revision, decode};

use crate::vectors;

#[cfg(test)]
mod tests;

/// Compiled definitions, by revision and name.
type Compiled = BTreeMap<(Revision, String), &'static Schema>;

static COMPILED: LazyLock<Mutex<Compiled>> = LazyLock::new(|| Mutex::new(BTreeMap::new()));

/// Judges a text by one definition of a revision's schema.
///
/// # Errors
/// Every violation with its place, or why the text could not be judged.
pub fn check(revision: Revision, definition: &str, text: &str) -> Result<(), String> {
    let document = Document::parse(text, &Limits::DEFAULT).map_err(|error| error.to_string())?;
    check_value(revision, definition, document.root())
}

/// Asserts that a text fits one definition of a revision's schema.
///
/// # Panics
/// When it does not.
#[track_caller]
#[expect(clippy::panic, reason = "an assertion")]
pub fn assert_valid_message(revision: Revision, text: &str, definition: &str) {
    if let Err(violations) = check(revision, definition, text) {
        panic!("not a {definition} of {revision}: {violations}\n{text}");
    }
}

/// Asserts that a server may send this text: it is one message on one line, its envelope and its
/// contents fit the schema of the revision, and its error code, if it has one, exists there.
///
/// `answered` is the method of the request that is answered, if the text answers one.
///
/// # Panics
/// When it may not.
#[track_caller]
#[expect(clippy::panic, reason = "an assertion")]
pub fn assert_server_message(revision: Revision, answered: Option<&str>, text: &str) {
    if let Err(fault) = check_server_message(revision, answered, text) {
        panic!("the server must not send this in {revision}: {fault}\n{text}");
    }
}

/// As [`assert_server_message`].
///
/// # Errors
/// What is wrong with the message.
pub fn check_server_message(revision: Revision, answered: Option<&str>, text: &str) -> Result<(), String> {
    if text.contains(['\n', '\r']) {
        return Err("a message is one line".to_owned());
    }
    let limits = Limits::DEFAULT.with_bytes(64 << 20).with_nodes(1 << 24);
    let message = decode(text.as_bytes().to_vec(), &limits).map_err(|error| error.to_string())?;
    match &message {
        Message::Notification(notification) => {
            let method = known(revision, &notification.method())?;
            let definition = notification_definition(method).ok_or("no notification of a server")?;
            let root = notification.document().root();
            check_value(revision, "JSONRPCNotification", root)?;
            check_value(revision, definition, root)
        }
        Message::Request(request) => {
            if revision.is_modern() {
                return Err("a server never sends a request".to_owned());
            }
            let method = known(revision, &request.method())?;
            let definition = request_definition(method).ok_or("no request of a server")?;
            let root = request.document().root();
            check_value(revision, "JSONRPCRequest", root)?;
            check_value(revision, definition, root)
        }
        Message::Response(response) => match response.outcome() {
            ResponseOutcome::Error(error) => check_error(revision, response.document().root(), error),
            ResponseOutcome::Result(result) => {
                let envelope = if revision >= Revision::V2025_11_25 {
                    "JSONRPCResultResponse"
                } else {
                    "JSONRPCResponse"
                };
                check_value(revision, envelope, response.document().root())?;
                let method = answered.ok_or("a result without a request")?;
                check_result(revision, known(revision, method)?, result)
            }
        },
    }
}

fn known(revision: Revision, method: &str) -> Result<Method, String> {
    Method::of_name(method)
        .filter(|method| method.is_defined_in(revision))
        .ok_or_else(|| format!("{method} is no method of {revision}"))
}

fn check_result(revision: Revision, method: Method, result: Value<'_>) -> Result<(), String> {
    if revision.is_modern() && result.get("resultType").is_some_and(|kind| kind.is_str("input_required")) {
        if !method.may_require_input() {
            return Err(format!("{method} is never answered with input_required"));
        }
        if result.get("inputRequests").is_none() && result.get("requestState").is_none() {
            return Err("input_required needs input requests or a state".to_owned());
        }
        if result.get("ttlMs").is_some() || result.get("cacheScope").is_some() {
            return Err("input_required is never cached".to_owned());
        }
        return check_value(revision, "InputRequiredResult", result);
    }
    let definition = result_definition(method).ok_or_else(|| format!("{method} is not answered"))?;
    if !revision.is_modern() && result.get("resultType").is_some() {
        return Err("resultType belongs to 2026-07-28".to_owned());
    }
    check_value(revision, definition, result)
}

fn check_error(revision: Revision, root: Value<'_>, error: Value<'_>) -> Result<(), String> {
    let number = error.get("code").and_then(Value::as_i64).ok_or("a code is an integer")?;
    let code = ErrorCode::of_number(number);
    let only_modern = matches!(
        code,
        Some(
            ErrorCode::HeaderMismatch
                | ErrorCode::MissingRequiredClientCapability
                | ErrorCode::UnsupportedProtocolVersion
        )
    );
    let only_legacy = matches!(code, Some(ErrorCode::ResourceNotFound | ErrorCode::UrlElicitationRequired));
    let reserved = (-32768..=-32000).contains(&number);
    if (reserved && code.is_none())
        || (only_legacy && revision.is_modern())
        || (only_modern && revision < Revision::V2026_07_28)
    {
        return Err(format!("{number} is no code of {revision}"));
    }
    let definition = match code {
        Some(ErrorCode::HeaderMismatch) => "HeaderMismatchError",
        Some(ErrorCode::MissingRequiredClientCapability) => "MissingRequiredClientCapabilityError",
        Some(ErrorCode::UnsupportedProtocolVersion) => "UnsupportedProtocolVersionError",
        Some(ErrorCode::UrlElicitationRequired) => "URLElicitationRequiredError",
        _ if revision >= Revision::V2025_11_25 => "JSONRPCErrorResponse",
        // The first three revisions have no form for an error whose request could not be read.
        _ if root.get("id").is_none() => return Ok(()),
        _ => "JSONRPCError",
    };
    check_value(revision, definition, root)
}

fn result_definition(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::Initialize => "InitializeResult",
        Method::Ping | Method::SetLevel | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
            "EmptyResult"
        }
        Method::Discover => "DiscoverResult",
        Method::ToolsList => "ListToolsResult",
        Method::ToolsCall => "CallToolResult",
        Method::ResourcesList => "ListResourcesResult",
        Method::ResourcesTemplatesList => "ListResourceTemplatesResult",
        Method::ResourcesRead => "ReadResourceResult",
        Method::PromptsList => "ListPromptsResult",
        Method::PromptsGet => "GetPromptResult",
        Method::Complete => "CompleteResult",
        Method::SubscriptionsListen => "SubscriptionsListenResult",
        _ => return None,
    })
}

fn notification_definition(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::Cancelled => "CancelledNotification",
        Method::Progress => "ProgressNotification",
        Method::LoggingMessage => "LoggingMessageNotification",
        Method::ResourcesUpdated => "ResourceUpdatedNotification",
        Method::ResourcesListChanged => "ResourceListChangedNotification",
        Method::ToolsListChanged => "ToolListChangedNotification",
        Method::PromptsListChanged => "PromptListChangedNotification",
        Method::SubscriptionsAcknowledged => "SubscriptionsAcknowledgedNotification",
        Method::ElicitationComplete => "ElicitationCompleteNotification",
        _ => return None,
    })
}

fn request_definition(method: Method) -> Option<&'static str> {
    Some(match method {
        Method::Ping => "PingRequest",
        Method::SamplingCreateMessage => "CreateMessageRequest",
        Method::ElicitationCreate => "ElicitRequest",
        Method::RootsList => "ListRootsRequest",
        _ => return None,
    })
}

fn check_value(revision: Revision, definition: &str, value: Value<'_>) -> Result<(), String> {
    match compiled(revision, definition)?.validate(value) {
        Verdict::Valid => Ok(()),
        Verdict::Invalid(violations) => {
            let list = violations.list.iter();
            let list: Vec<_> = list
                .map(|violation| format!("{:?}: expected {}", violation.pointer, violation.expected))
                .collect();
            Err(format!("not a {definition}: {}", list.join("; ")))
        }
        Verdict::OverBudget => Err(format!("the budget ran out while judging a {definition}")),
    }
}

/// Compiles a definition once. The compiled schema stays for the life of the test process.
fn compiled(revision: Revision, definition: &str) -> Result<&'static Schema, String> {
    let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (revision, definition.to_owned());
    if let Some(schema) = all.get(&key) {
        return Ok(schema);
    }
    let whole = vectors::schema(revision);
    let document = Document::parse(whole, &Limits::DEFAULT).map_err(|error| error.to_string())?;
    let root = document.root();
    let dialect = root.get("$schema").map_or("", |dialect| dialect.raw());
    let (keyword, definitions) = ["$defs", "definitions"]
        .into_iter()
        .find_map(|keyword| root.get(keyword).map(|definitions| (keyword, definitions)))
        .ok_or("the schema has no definitions")?;
    if definitions.get(definition).is_none() {
        return Err(format!("{definition} is no definition of {revision}"));
    }
    // `allOf` because draft-07 ignores what stands beside a reference.
    let text = format!(
        r##"{{"$schema":{dialect},"allOf":[{{"$ref":"#/{keyword}/{definition}"}}],"{keyword}":{}}}"##,
        definitions.raw()
    );
    let schema = Schema::compile(&text, &SchemaLimits::DEFAULT).map_err(|error| {
        let list: Vec<_> = error.findings.iter().map(|f| format!("{}: {}", f.pointer, f.message)).collect();
        format!("the schema of {revision} does not compile: {}", list.join("; "))
    })?;
    let schema: &'static Schema = Box::leak(Box::new(schema));
    all.insert(key, schema);
    Ok(schema)
}
