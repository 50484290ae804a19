use std::fs;
use std::path::PathBuf;

use super::base::{
    ErrorObject, Implementation, PaginatedRequestParams, RequestMetaObject, RequestParams,
    UnsupportedVersionData,
};
use super::cancellation::CancelledNotificationParams;
use super::capability::{ClientCapabilities, ServerCapabilities};
use super::completion::{CompleteRequestParams, CompleteResult};
use super::content::{AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, TextContent};
use super::discover::DiscoverResult;
use super::elicitation::{ElicitFormParams, ElicitRequestParams, ElicitResult, ElicitUrlParams};
use super::envelope::{Answer, Call};
use super::form::PrimitiveSchema;
use super::initialize::{InitializeRequestParams, InitializeResult};
use super::logging::LoggingMessageNotificationParams;
use super::mrtr::{
    CreateMessageInput, ElicitInput, InputRequest, InputRequiredResult, ListRootsInput, Outcome,
};
use super::progress::ProgressNotificationParams;
use super::prompt::{GetPromptRequestParams, GetPromptResult, ListPromptsResult};
use super::resource::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult, ReadResourceRequestParams,
    ReadResourceResult, Resource, ResourceContents, ResourceUpdatedNotificationParams, TextResourceContents,
};
use super::root::{ListRootsResult, Root};
use super::sampling::{
    CreateMessageRequestParams, CreateMessageResult, ModelPreferences, SamplingMessage, ToolResultContent,
    ToolUseContent,
};
use super::subscription::{
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
use super::tool::{CallToolRequestParams, CallToolResult, ListToolsResult, Tool};
use super::{Entries, Number, Project, RawJson, Wire, WireError};
use crate::json::{Document, Kind, Limits, Value};
use crate::revision::Revision;

/// Reads a text into its type and writes it again.
fn rewrite<T: Wire>(text: &str) -> Result<String, WireError> {
    T::from_json(text).map(|value| value.to_json())
}

/// The rewriter of a definition of the 2026-07-28 schema.
fn rewriter(definition: &str) -> fn(&str) -> Result<String, WireError> {
    match definition {
        "AudioContent" => rewrite::<AudioContent>,
        "BlobResourceContents" => rewrite::<BlobResourceContents>,
        "BooleanSchema"
        | "NumberSchema"
        | "StringSchema"
        | "TitledMultiSelectEnumSchema"
        | "TitledSingleSelectEnumSchema"
        | "UntitledMultiSelectEnumSchema"
        | "UntitledSingleSelectEnumSchema" => rewrite::<PrimitiveSchema>,
        "CallToolRequest" => rewrite::<Call<CallToolRequestParams>>,
        "CallToolRequestParams" => rewrite::<CallToolRequestParams>,
        "CallToolResult" => rewrite::<CallToolResult>,
        "CallToolResultResponse" => rewrite::<Answer<Outcome<CallToolResult>>>,
        "CancelledNotification" => rewrite::<Call<CancelledNotificationParams>>,
        "CancelledNotificationParams" => rewrite::<CancelledNotificationParams>,
        "ClientCapabilities" => rewrite::<ClientCapabilities>,
        "CompleteRequest" => rewrite::<Call<CompleteRequestParams>>,
        "CompleteRequestParams" => rewrite::<CompleteRequestParams>,
        "CompleteResult" => rewrite::<CompleteResult>,
        "CompleteResultResponse" => rewrite::<Answer<CompleteResult>>,
        "CreateMessageRequest" => rewrite::<CreateMessageInput>,
        "CreateMessageRequestParams" => rewrite::<CreateMessageRequestParams>,
        "CreateMessageResult" => rewrite::<CreateMessageResult>,
        "DiscoverRequest" => rewrite::<Call<RequestParams>>,
        "DiscoverResult" => rewrite::<DiscoverResult>,
        "DiscoverResultResponse" => rewrite::<Answer<DiscoverResult>>,
        "ElicitRequest" => rewrite::<ElicitInput>,
        "ElicitRequestFormParams" => rewrite::<ElicitFormParams>,
        "ElicitRequestURLParams" => rewrite::<ElicitUrlParams>,
        "ElicitResult" => rewrite::<ElicitResult>,
        "EmbeddedResource" => rewrite::<EmbeddedResource>,
        "GetPromptRequest" => rewrite::<Call<GetPromptRequestParams>>,
        "GetPromptRequestParams" => rewrite::<GetPromptRequestParams>,
        "GetPromptResult" => rewrite::<GetPromptResult>,
        "GetPromptResultResponse" => rewrite::<Answer<Outcome<GetPromptResult>>>,
        "HeaderMismatchError"
        | "MissingRequiredClientCapabilityError"
        | "UnsupportedProtocolVersionError" => rewrite::<Answer<RawJson>>,
        "ImageContent" => rewrite::<ImageContent>,
        "InputRequests" => rewrite::<Entries<InputRequest>>,
        "InputRequiredResult" => rewrite::<InputRequiredResult>,
        "InputResponses" => rewrite::<Entries<RawJson>>,
        "InternalError" | "InvalidParamsError" | "MethodNotFoundError" | "ParseError" => {
            rewrite::<ErrorObject>
        }
        "ListPromptsRequest"
        | "ListResourceTemplatesRequest"
        | "ListResourcesRequest"
        | "ListToolsRequest" => rewrite::<Call<PaginatedRequestParams>>,
        "ListPromptsResult" => rewrite::<ListPromptsResult>,
        "ListPromptsResultResponse" => rewrite::<Answer<ListPromptsResult>>,
        "ListResourceTemplatesResult" => rewrite::<ListResourceTemplatesResult>,
        "ListResourceTemplatesResultResponse" => rewrite::<Answer<ListResourceTemplatesResult>>,
        "ListResourcesResult" => rewrite::<ListResourcesResult>,
        "ListResourcesResultResponse" => rewrite::<Answer<ListResourcesResult>>,
        "ListRootsRequest" => rewrite::<ListRootsInput>,
        "ListRootsResult" => rewrite::<ListRootsResult>,
        "ListToolsResult" => rewrite::<ListToolsResult>,
        "ListToolsResultResponse" => rewrite::<Answer<ListToolsResult>>,
        "LoggingMessageNotification" => rewrite::<Call<LoggingMessageNotificationParams>>,
        "LoggingMessageNotificationParams" => rewrite::<LoggingMessageNotificationParams>,
        "ModelPreferences" => rewrite::<ModelPreferences>,
        "PaginatedRequestParams" => rewrite::<PaginatedRequestParams>,
        "ProgressNotification" => rewrite::<Call<ProgressNotificationParams>>,
        "ProgressNotificationParams" => rewrite::<ProgressNotificationParams>,
        "PromptListChangedNotification"
        | "ResourceListChangedNotification"
        | "ToolListChangedNotification" => rewrite::<Call<super::base::NotificationParams>>,
        "ReadResourceRequest" => rewrite::<Call<ReadResourceRequestParams>>,
        "ReadResourceResult" => rewrite::<ReadResourceResult>,
        "ReadResourceResultResponse" => rewrite::<Answer<Outcome<ReadResourceResult>>>,
        "Resource" => rewrite::<Resource>,
        "ResourceLink" => rewrite::<ResourceLink>,
        "ResourceUpdatedNotification" => rewrite::<Call<ResourceUpdatedNotificationParams>>,
        "ResourceUpdatedNotificationParams" => rewrite::<ResourceUpdatedNotificationParams>,
        "Root" => rewrite::<Root>,
        "SamplingMessage" => rewrite::<SamplingMessage>,
        "ServerCapabilities" => rewrite::<ServerCapabilities>,
        "SubscriptionsAcknowledgedNotification" => {
            rewrite::<Call<SubscriptionsAcknowledgedNotificationParams>>
        }
        "SubscriptionsListenRequest" => rewrite::<Call<SubscriptionsListenRequestParams>>,
        "SubscriptionsListenResult" => rewrite::<SubscriptionsListenResult>,
        "SubscriptionsListenResultResponse" => rewrite::<Answer<SubscriptionsListenResult>>,
        "TextContent" => rewrite::<TextContent>,
        "TextResourceContents" => rewrite::<TextResourceContents>,
        "Tool" => rewrite::<Tool>,
        "ToolResultContent" => rewrite::<ToolResultContent>,
        "ToolUseContent" => rewrite::<ToolUseContent>,
        unknown => panic!("no type for the examples of {unknown}"),
    }
}

fn parse(text: &str) -> Document {
    Document::parse(text, &Limits::DEFAULT).unwrap()
}

/// The same tree, with the same digits; the order of members does not count.
fn same(one: Value<'_>, other: Value<'_>) -> bool {
    one.kind() == other.kind()
        && one.len() == other.len()
        && match one.kind() {
            Kind::Null | Kind::Boolean | Kind::Number => one.raw() == other.raw(),
            Kind::String => one.as_str() == other.as_str(),
            Kind::Array => one.items().zip(other.items()).all(|(one, other)| same(one, other)),
            Kind::Object => one.members().all(|(name, member)| {
                other.get(&name.as_str().unwrap()).is_some_and(|theirs| same(member, theirs))
            }),
        }
}

fn examples() -> Vec<(String, PathBuf)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/mcp/2026-07-28/examples");
    let mut found = Vec::new();
    for definition in fs::read_dir(root).unwrap() {
        let definition = definition.unwrap();
        for example in fs::read_dir(definition.path()).unwrap() {
            found.push((definition.file_name().into_string().unwrap(), example.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn every_example_of_the_specification_is_read_and_written_back_digit_for_digit() {
    let examples = examples();
    assert_eq!(examples.len(), 129);
    for (definition, path) in examples {
        let text = fs::read_to_string(&path).unwrap();
        let written =
            rewriter(&definition)(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(same(parse(&text).root(), parse(&written).root()), "{}: {written}", path.display());
        assert!(!written.contains('\n'), "{}", path.display());
    }
}

#[test]
fn unknown_members_survive_everywhere_in_every_example() {
    for (definition, path) in examples() {
        let text = fs::read_to_string(&path).unwrap();
        let extra = r#"{"x-future":{"a":[1.0,9007199254740993,1e400]},"#;
        let trimmed = text.trim_start();
        let separator = if parse(&text).root().is_empty() { extra.trim_end_matches(',') } else { extra };
        let extended = trimmed.replacen('{', separator, 1);
        if ["InputRequests"].contains(&&*definition) {
            // Each member is an input request there, and one without a method is none.
            continue;
        }
        let written =
            rewriter(&definition)(&extended).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(same(parse(&extended).root(), parse(&written).root()), "{}: {written}", path.display());
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_its_place_and_without_its_text() {
    for (text, message) in [
        (r#"{"tools":{}}"#, "expected an array at /tools"),
        (
            r#"{"tools":[{"name":"a"}]}"#,
            "expected a value, for the member is required at /tools/0/inputSchema",
        ),
        (
            r#"{"tools":[{"name":"secret","inputSchema":{},"icons":[{"src":7}]}]}"#,
            "expected a string at /tools/0/icons/0/src",
        ),
        ("[]", "expected an object at the value"),
        ("{", "expected JSON text at the value"),
    ] {
        assert_eq!(ListToolsResult::from_json(text).unwrap_err().to_string(), message);
    }
}

/// Requirements: BASE-09, BASE-10, BASE-11.
#[test]
fn an_absent_result_type_is_complete_and_an_unknown_one_is_refused() {
    type Read = Outcome<CallToolResult>;
    assert!(matches!(Read::from_json(r#"{"content":[]}"#), Ok(Outcome::Complete(_))));
    assert!(matches!(Read::from_json(r#"{"content":[],"resultType":"complete"}"#), Ok(Outcome::Complete(_))));
    assert!(matches!(
        Read::from_json(r#"{"resultType":"input_required","requestState":"x"}"#),
        Ok(Outcome::InputRequired(_))
    ));
    assert!(Read::from_json(r#"{"content":[],"resultType":"deferred"}"#).is_err());
}

#[test]
fn blocks_of_an_unknown_kind_are_kept_in_order() {
    let text = r#"[{"type":"text","text":"a"},{"type":"hologram","x":1.50},{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}]"#;
    let blocks = Vec::<ContentBlock>::from_json(text).unwrap();
    assert!(matches!(
        &blocks[..],
        [ContentBlock::Text(_), ContentBlock::Other(_), ContentBlock::Resource(_)]
    ));
    assert!(
        matches!(&blocks[2], ContentBlock::Resource(block) if matches!(block.resource, ResourceContents::Blob(_)))
    );
    assert!(same(parse(text).root(), parse(&blocks.to_json()).root()));
}

#[test]
fn null_is_a_structured_result_and_elsewhere_the_absence_of_one() {
    let result =
        CallToolResult::from_json(r#"{"content":[],"structuredContent":null,"isError":null}"#).unwrap();
    assert_eq!(result.structured_content.as_ref().map(RawJson::as_str), Some("null"));
    assert_eq!(result.is_error, None);
    assert_eq!(result.to_json(), r#"{"content":[],"structuredContent":null}"#);
    let absent = CallToolResult::from_json(r#"{"content":[]}"#).unwrap();
    assert_eq!(absent.structured_content, None);
}

/// Requirements: PAGE-06.
#[test]
fn an_empty_cursor_is_a_cursor_and_null_is_none() {
    let page = |text: &str| ListToolsResult::from_json(text).unwrap().next_cursor;
    assert_eq!(page(r#"{"tools":[],"nextCursor":""}"#).as_deref(), Some(""));
    assert_eq!(page(r#"{"tools":[],"nextCursor":null}"#), None);
    assert_eq!(page(r#"{"tools":[]}"#), None);
}

/// Requirements: STDIO-02.
#[test]
fn raw_text_is_written_on_one_line() {
    let raw = RawJson::from_value(parse("{\n\t\"a\" : \"x\\n\",\r\n\"b\":1 }").root());
    assert_eq!(raw.as_str(), "{ \t\"a\" : \"x\\n\",  \"b\":1 }");
    assert!(same(raw.document().root(), parse(r#"{"a":"x\n","b":1}"#).root()));
}

#[test]
fn legacy_handshakes_are_read_and_written_back() {
    let request = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"tasks":{"list":{}}},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert_eq!(
        rewrite::<Call<InitializeRequestParams>>(request)
            .map(|text| same(parse(&text).root(), parse(request).root())),
        Ok(true)
    );
    let result = r#"{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"prompts":{"listChanged":false}},"serverInfo":{"name":"s","version":"2"},"instructions":"i"}"#;
    assert_eq!(
        rewrite::<InitializeResult>(result).map(|text| same(parse(&text).root(), parse(result).root())),
        Ok(true)
    );
    let legacy_enum = r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#;
    assert!(matches!(PrimitiveSchema::from_json(legacy_enum), Ok(PrimitiveSchema::LegacyTitledEnum(_))));
    let url = r#"{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"e"}"#;
    assert!(
        matches!(ElicitRequestParams::from_json(url), Ok(ElicitRequestParams::Url(params)) if params.elicitation_id.is_some())
    );
    assert!(matches!(
        ElicitRequestParams::from_json(r#"{"mode":"telepathy"}"#),
        Ok(ElicitRequestParams::Other(_))
    ));
}

#[test]
fn an_older_peer_gets_nothing_that_its_revision_lacks() {
    let result = r#"{"resultType":"complete","content":[{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"a:b","name":"n","icons":[]},{"type":"text","text":"[1]","_meta":{},"annotations":{"lastModified":"x","priority":0.5}}],"structuredContent":[1]}"#;
    let project = |revision| {
        let mut result = CallToolResult::from_json(result).unwrap();
        result.project(revision);
        result.to_json()
    };
    let modern = project(Revision::V2026_07_28);
    assert!(same(parse(&modern).root(), parse(result).root()));
    assert_eq!(
        project(Revision::V2025_11_25),
        r#"{"content":[{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"a:b","name":"n","icons":[]},{"type":"text","text":"[1]","annotations":{"priority":0.5,"lastModified":"x"},"_meta":{}}]}"#
    );
    assert_eq!(
        project(Revision::V2024_11_05),
        r#"{"content":[{"type":"text","text":"[audio of type audio/wav that this client cannot receive]"},{"type":"text","text":"[resource n: a:b]"},{"type":"text","text":"[1]","annotations":{"priority":0.5}}]}"#
    );
    let mut tool = Tool::from_json(r#"{"name":"t","inputSchema":{"type":"object"},"title":"T","annotations":{},"icons":[],"outputSchema":{"type":"array"}}"#).unwrap();
    tool.project(Revision::V2025_11_25);
    assert_eq!(
        tool.to_json(),
        r#"{"name":"t","inputSchema":{"type":"object"},"title":"T","icons":[],"annotations":{}}"#
    );
    tool.project(Revision::V2024_11_05);
    assert_eq!(tool.to_json(), r#"{"name":"t","inputSchema":{"type":"object"}}"#);
}

#[test]
fn written_metadata_is_what_the_decoder_reads() {
    let mut meta = RequestMetaObject::new("2026-07-28", ClientCapabilities::new());
    meta.client_info = Some(Implementation::new("c", "1"));
    meta.progress_token = Some(crate::id::Id::number(4));
    let mut params = RequestParams::new();
    params.meta = Some(RawJson::of(&meta));
    let document = parse(&params.to_json());
    let read = crate::meta::RequestMeta::read(Some(document.root())).unwrap();
    assert_eq!(read.revision(), Ok(Revision::V2026_07_28));
    assert_eq!(read.progress_token.unwrap().as_json(), "4");
    let data = UnsupportedVersionData::new(vec!["2026-07-28".to_owned()], "1");
    assert_eq!(data.to_json(), r#"{"supported":["2026-07-28"],"requested":"1"}"#);
}

/// Requirements: MRTR-03, MRTR-05.
#[test]
fn keys_of_input_requests_are_unique() {
    let mut requests: Entries<RawJson> = Entries::new();
    requests.insert("a", RawJson::empty_object());
    requests.insert("b", RawJson::empty_object());
    requests.insert("a", RawJson::parse("[]").unwrap());
    assert_eq!(requests.to_json(), r#"{"a":[],"b":{}}"#);
    let repeated = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}}}"#;
    assert!(InputRequiredResult::from_json(repeated).is_err());
}

#[test]
fn numbers_keep_their_digits() {
    assert_eq!(Number::from(5_u64).as_str(), "5");
    assert_eq!(Number::parse("5.0").unwrap().as_i64(), Some(5));
    assert_eq!(Number::from_f64(0.25).unwrap().as_str(), "0.25");
    assert!(Number::from_f64(f64::INFINITY).is_none() && Number::parse("x").is_none());
    assert!(Number::from_json("\"5\"").is_err());
}
