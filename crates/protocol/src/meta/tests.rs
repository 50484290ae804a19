use super::{
    Capability, CapabilitySet, Era, Expectation, MetaError, ProgressToken, RequestMeta, classify, is_baggage,
    is_trace_parent, is_trace_state, push_required_capabilities,
};
use crate::error::ErrorCode;
use crate::json::{Document, Limits};
use crate::logging::LogLevel;
use crate::revision::Revision;

fn document(meta: &str) -> Document {
    Document::parse(format!("{{\"_meta\":{meta}}}"), &Limits::DEFAULT).unwrap()
}

fn read(meta: &str) -> Result<Revision, MetaError> {
    let document = document(meta);
    RequestMeta::read(Some(document.root())).and_then(|meta| meta.revision())
}

const VERSION: &str = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"";
const CAPABILITIES: &str = "\"io.modelcontextprotocol/clientCapabilities\"";

/// Requirements: BASE-49, BASE-51.
#[test]
fn a_request_needs_its_version_and_capabilities_and_nothing_else() {
    assert_eq!(read(&format!("{{{VERSION},{CAPABILITIES}:{{}}}}")), Ok(Revision::V2026_07_28));
    assert!(matches!(read(&format!("{{{VERSION}}}")), Err(MetaError::Missing(super::CLIENT_CAPABILITIES))));
    assert!(matches!(
        read(&format!("{{{CAPABILITIES}:{{}}}}")),
        Err(MetaError::Missing(super::PROTOCOL_VERSION))
    ));
    assert!(matches!(read("{}"), Err(MetaError::Missing(_))));
    let none = RequestMeta::read(None).unwrap_err();
    assert_eq!(none.code(), ErrorCode::InvalidParams);
    let text = none.to_string();
    assert!(text.starts_with("Invalid params: `params._meta` is required"), "{text}");
    assert!(text.contains(super::PROTOCOL_VERSION) && text.contains(super::CLIENT_CAPABILITIES), "{text}");
    for meta in [
        format!("{{\"io.modelcontextprotocol/protocolVersion\":1,{CAPABILITIES}:{{}}}}"),
        format!("{{{VERSION},{CAPABILITIES}:[]}}"),
        format!("{{{VERSION},{CAPABILITIES}:{{\"elicitation\":true}}}}"),
        format!("{{{VERSION},{CAPABILITIES}:{{}},\"io.modelcontextprotocol/clientInfo\":\"x\"}}"),
        format!("{{{VERSION},{CAPABILITIES}:{{}},\"progressToken\":1.5}}"),
        format!("{{{VERSION},{CAPABILITIES}:{{}},\"io.modelcontextprotocol/logLevel\":\"loud\"}}"),
        "[]".to_owned(),
    ] {
        let error = read(&meta).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidParams, "{meta}");
    }
}

/// Requirements: VER-01.
#[test]
fn an_unserved_version_is_named_before_anything_else_is_missed() {
    let error = read("{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\"}").unwrap_err();
    assert_eq!(error.code(), ErrorCode::UnsupportedProtocolVersion);
    let data = error.data(&[Revision::V2026_07_28, Revision::V2025_11_25]).unwrap();
    assert_eq!(data, r#"{"supported":["2026-07-28","2025-11-25"],"requested":"1900-01-01"}"#);
    let legacy = read("{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\"}").unwrap_err();
    assert_eq!(legacy.code(), ErrorCode::UnsupportedProtocolVersion);
}

/// Requirements: VER-11, BASE-27.
#[test]
fn the_era_follows_from_the_metadata_alone() {
    let modern = document(&format!("{{{VERSION},{CAPABILITIES}:{{}}}}"));
    assert!(matches!(classify(Some(modern.root()), Expectation::Any), Ok(Era::Modern(_))));
    let legacy = document("{\"progressToken\":1}");
    assert!(matches!(classify(Some(legacy.root()), Expectation::Any), Ok(Era::Legacy)));
    assert!(matches!(classify(None, Expectation::Any), Ok(Era::Legacy)));
    assert!(classify(None, Expectation::Modern).is_err());
    assert!(classify(Some(legacy.root()), Expectation::Modern).is_err());
    let half = document(&format!("{{{CAPABILITIES}:{{}}}}"));
    assert!(classify(Some(half.root()), Expectation::Any).is_err());
}

/// Requirements: BASE-53, MRTR-06, ELIC-07, ELIC-09.
#[test]
fn capabilities_are_those_that_were_declared_and_no_others() {
    use Capability::{ElicitationForm, ElicitationUrl, Roots, Sampling, SamplingContext, SamplingTools};
    let all = [ElicitationForm, ElicitationUrl, Sampling, SamplingTools, SamplingContext, Roots];
    for (declared, expected) in [
        ("{}", vec![]),
        ("{\"elicitation\":{}}", vec![ElicitationForm]),
        ("{\"elicitation\":{\"form\":{}}}", vec![ElicitationForm]),
        ("{\"elicitation\":{\"url\":{}}}", vec![ElicitationUrl]),
        ("{\"elicitation\":{\"form\":{},\"url\":{}}}", vec![ElicitationForm, ElicitationUrl]),
        ("{\"sampling\":{}}", vec![Sampling]),
        ("{\"sampling\":{\"tools\":{},\"context\":{}}}", vec![Sampling, SamplingTools, SamplingContext]),
        ("{\"roots\":{}}", vec![Roots]),
        ("{\"future\":7}", vec![]),
    ] {
        let document = Document::parse(declared, &Limits::DEFAULT).unwrap();
        let read = super::ClientCapabilities::read(document.root()).unwrap();
        for capability in all {
            assert_eq!(
                read.contains(capability),
                expected.contains(&capability),
                "{declared} {capability:?}"
            );
        }
    }
    let extensions = r#"{"extensions":{"dev.x/y":{"mimeTypes":["a"]}}}"#;
    let document = Document::parse(extensions, &Limits::DEFAULT).unwrap();
    let read = super::ClientCapabilities::read(document.root()).unwrap();
    assert_eq!(read.extension("dev.x/y").unwrap().raw(), r#"{"mimeTypes":["a"]}"#);
    assert!(read.extension("dev.x/z").is_none());
}

/// Requirements: BASE-54.
#[test]
fn missing_capabilities_are_named_as_a_client_would_declare_them() {
    let needed = CapabilitySet::EMPTY
        .with(Capability::ElicitationUrl)
        .with(Capability::Sampling)
        .with(Capability::Roots);
    let mut out = String::new();
    push_required_capabilities(&mut out, needed);
    assert_eq!(out, r#"{"requiredCapabilities":{"elicitation":{"url":{}},"sampling":{},"roots":{}}}"#);
}

/// Requirements: PROG-01.
#[test]
fn progress_tokens_and_levels_are_read_as_they_are() {
    let document = document(&format!(
        "{{{VERSION},{CAPABILITIES}:{{}},\"progressToken\":1.0,\"io.modelcontextprotocol/logLevel\":\"notice\"}}"
    ));
    let meta = RequestMeta::read(Some(document.root())).unwrap();
    assert_eq!(meta.progress_token.unwrap().as_json(), "1.0");
    assert_eq!(meta.log_level, Some(LogLevel::Notice));
    assert!(LogLevel::Debug < LogLevel::Emergency);
    assert_eq!(ProgressToken::of_params(Some(document.root())).unwrap().unwrap().as_json(), "1.0");
}

/// Requirements: BASE-59.
#[test]
fn trace_context_is_passed_on_only_when_it_is_well_formed() {
    assert!(is_trace_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert!(is_trace_parent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
    for bad in [
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    ] {
        assert!(!is_trace_parent(bad), "{bad}");
    }
    assert!(is_trace_state("congo=t61rcWkgMzE, rojo=00f067aa0ba902b7"));
    assert!(!is_trace_state("a=1,a=2") && !is_trace_state("a") && !is_trace_state("A=1"));
    assert!(is_baggage("userId=alice,server=DF%2028;region=eu;flag"));
    assert!(!is_baggage("") && !is_baggage("a") && !is_baggage("a=b c"));
    let document = document(&format!(
        "{{{VERSION},{CAPABILITIES}:{{}},\"traceparent\":\"broken\",\"tracestate\":\"a=1\",\"baggage\":7}}"
    ));
    let meta = RequestMeta::read(Some(document.root())).unwrap();
    assert!(meta.trace_parent.is_none() && meta.trace_state.is_none() && meta.baggage.is_none());
}

/// Requirements: BASE-45, BASE-46, BASE-47.
#[test]
fn keys_have_an_optional_prefix_of_labels_and_a_name() {
    for good in
        ["a", "", "traceparent", "dev.callgate/receipt", "com.example.api-v2/x_y.z-1", "a/", "a1.b2/3"]
    {
        assert!(super::is_key(good), "{good}");
    }
    for bad in [
        "/a", "1a/b", "a-/b", "a..b/c", ".a/b", "a./b", "-a/b", "a/b/c", "a/-b", "a/b-", "_a", "a b",
        "a_b/c", "\u{e9}",
    ] {
        assert!(!super::is_key(bad), "{bad}");
    }
    for key in [
        super::PROTOCOL_VERSION,
        super::CLIENT_CAPABILITIES,
        super::CLIENT_INFO,
        super::SERVER_INFO,
        super::LOG_LEVEL,
        super::SUBSCRIPTION_ID,
    ] {
        assert!(super::is_key(key) && super::is_reserved(key), "{key}");
    }
    assert!(super::is_reserved("io.mcp.x/y") && super::is_reserved("com.mcp/y"));
    assert!(
        !super::is_reserved("dev.callgate/receipt")
            && !super::is_reserved("mcp.dev/y")
            && !super::is_reserved("mcp")
    );
}

/// Requirements: VER-04.
#[test]
fn an_extension_id_always_has_a_prefix() {
    assert!(
        super::is_extension_id("io.modelcontextprotocol/tasks") && super::is_extension_id("com.example/x")
    );
    for bad in ["tasks", "com.example/", "/tasks", "1x/tasks", "com.example/-x"] {
        assert!(!super::is_extension_id(bad), "{bad}");
    }
}

/// Reserved keys that nobody here knows may hold anything.
///
/// Requirements: BASE-44.
#[test]
fn unknown_reserved_keys_are_neither_read_nor_refused() {
    for value in ["null", "7", "[]", "{\"io.modelcontextprotocol/protocolVersion\":7}", "\"x\""] {
        let meta = format!(
            "{{{VERSION},{CAPABILITIES}:{{}},\"io.modelcontextprotocol/future\":{value},\"com.mcp/x\":{value}}}"
        );
        assert_eq!(read(&meta), Ok(Revision::V2026_07_28), "{meta}");
    }
    // A reserved key alone does not make a request a modern one either.
    let document = document("{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t\"}}");
    assert!(matches!(classify(Some(document.root()), Expectation::Any), Ok(Era::Legacy)));
}
