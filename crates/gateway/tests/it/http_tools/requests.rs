//! What a service is sent: values in their places, headers, bodies, the trace, and nothing else.

use callgate_testkit::service::{Behaviour, Service};
use serde_json::{Value, json};

use super::{TICKET_GET, files, served};

const QUOTE: &str = r#"
[tool.quote]
description = "Asks the service what a delivery would cost. It does not order anything. Returns the price in minor units."
effect = "external_read"
source = "crm"

[tool.quote.request]
method = "POST"
path = "/quotes/{region}"
query = { version = "2", note = "by {principal}" }
headers = { "X-Region" = "{region}", "X-Channel" = "mcp", "X-Api-Key" = "file:api_key" }
forward_mirrored = true

[tool.quote.request.body]
amount = "{amount}"
items = ["{first}", "fixed", 3]
company = { id = "{tenant}", note = "for {region}" }
optional = "{optional}"
rate = 1.50

[tool.quote.input]
region = { type = "string", description = "The region", maxLength = 40, required = true, x-mcp-header = "Region" }
amount = { type = "number", description = "How much, in kilograms", minimum = 0, maximum = 1e20, required = true }
first = { type = "object", description = "Free details", additionalProperties = true }
optional = { type = "string", description = "A remark", maxLength = 100 }

[tool.quote.output]
method = { type = "string", description = "The method" }
target = { type = "string", description = "The target" }
headers = { type = "array", description = "The headers", items = { type = "string" } }
body = { type = "string", description = "The body" }
"#;

async fn quote(arguments: &str, region: &str) -> Value {
    let service = Service::start().await;
    let files = files(&service, "headers = { \"X-Client\" = \"callgate\" }", QUOTE);
    files.write("api_key", "s3cret\n");
    assert_eq!(files.report(), "");
    for path in ["/quotes/eu-1", "/quotes/a%20b%3Fx%23y"] {
        service.behave(path, Behaviour::Echo);
    }
    let served = files.serve().await;
    served.structured_with("quote", arguments, &[("mcp-param-region", region)]).await
}

#[tokio::test]
async fn values_stand_where_the_file_puts_them_and_keep_every_digit() {
    let echo =
        quote(r#"{"region":"eu-1","amount":9007199254740993.10,"first":{"deep":[1e400,"é\u0000"]}}"#, "eu-1")
            .await;
    assert_eq!(echo["method"], "POST");
    assert_eq!(echo["target"], "/quotes/eu-1?version=2&note=by%20dana");
    assert_eq!(
        echo["body"],
        r#"{"amount":9007199254740993.10,"items":[{"deep":[1e400,"é\u0000"]},"fixed",3],"company":{"id":"tenant-a","note":"for eu-1"},"rate":1.50}"#
    );
    let mut headers: Vec<&str> =
        echo["headers"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    headers.retain(|line| !line.starts_with("host: ") && !line.starts_with("content-length: "));
    headers.sort_unstable();
    assert_eq!(
        headers,
        [
            "accept-encoding: gzip",
            "accept: application/json",
            "content-type: application/json",
            "mcp-param-region: eu-1",
            "user-agent: callgate",
            "x-api-key: s3cret",
            "x-channel: mcp",
            "x-client: callgate",
            "x-region: eu-1",
        ]
    );
}

#[tokio::test]
async fn a_value_that_looks_like_more_than_it_is_stays_one_segment() {
    let echo = quote(r#"{"region":"a b?x#y","amount":1}"#, "a b?x#y").await;
    assert_eq!(echo["target"], "/quotes/a%20b%3Fx%23y?version=2&note=by%20dana");
}

#[tokio::test]
async fn a_value_that_could_leave_its_segment_is_refused_before_anything_is_sent() {
    let service = Service::start().await;
    let served = served(&service, "", TICKET_GET).await;
    for bad in ["..", ".", "", "../admin", "a/b", "a\\\\b", "%2e%2e", "%2f", "a\\r\\nX: y", "\\u0000"] {
        let text = served.error("ticket_get", &format!(r#"{{"reference":"{bad}"}}"#)).await;
        assert!(text.contains("invalid_arguments") && text.contains("`reference`"), "{bad}: {text}");
    }
    assert_eq!(service.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn the_trace_of_a_call_travels_on_from_the_metadata_or_the_request() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-00";
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"x"}"#));
    let by_default = served(&service, "", TICKET_GET).await;
    let call = |headers: Vec<(&'static str, &'static str)>, meta: Value| {
        let (served, service) = (&by_default, &service);
        async move {
            served.call_with("ticket_get", json!({"reference": "T-1"}), meta, &headers).await;
            let sent = service.last();
            let lines = sent.lines().filter(|line| line.starts_with("trace"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        }
    };
    assert_eq!(call(Vec::new(), json!({})).await, Vec::<String>::new());
    let both = call(
        vec![("traceparent", OTHER), ("tracestate", "h=1")],
        json!({"traceparent": PARENT, "tracestate": "a=1"}),
    );
    assert_eq!(both.await, [format!("traceparent: {PARENT}"), "tracestate: a=1".to_owned()]);
    let header = call(vec![("traceparent", OTHER), ("tracestate", "h=1")], json!({}));
    assert_eq!(header.await, [format!("traceparent: {OTHER}"), "tracestate: h=1".to_owned()]);
    let bad = call(vec![("traceparent", "00-zz")], json!({"traceparent": "x"}));
    assert_eq!(bad.await, Vec::<String>::new());
    let silent = served(&service, "trace = false", TICKET_GET).await;
    silent.call_with("ticket_get", json!({"reference": "T-1"}), json!({"traceparent": PARENT}), &[]).await;
    assert!(!service.last().contains("traceparent"), "{}", service.last());
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"x"}"#));
    let served = served(&service, "", TICKET_GET).await;
    for _ in 0..5 {
        served.structured("ticket_get", r#"{"reference":"T-1"}"#).await;
    }
    assert_eq!((service.requests().len(), service.connections()), (5, 1));
}
