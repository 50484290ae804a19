//! Tools on a service that is reached over HTTP, as a client uses them, against a service that misbehaves.

use callgate_testkit::service::{Behaviour, Service};
use serde_json::json;

use crate::served::{Files, Served};

mod caller;
mod effects;
mod errors;
mod failures;
mod requests;

/// A file with a service and the given tools.
fn files(service: &Service, source: &str, tools: &str) -> Files {
    let url = service.url();
    Files::new(&format!(
        r#"
[server]
name = "crm"

[auth.local]
principal = "dana"
tenant = "tenant-a"

[source.crm]
kind = "http"
url = "{url}"
private_hosts = ["127.0.0.1"]
{source}

{tools}
"#
    ))
}

/// A tool that reads one ticket.
const TICKET_GET: &str = r#"
[tool.ticket_get]
description = "Shows one support ticket of the caller's company by its reference. It does not change anything. Returns one ticket."
effect = "external_read"
source = "crm"
timeout_ms = 2000
request = { method = "GET", path = "/tickets/{reference}" }

[tool.ticket_get.input]
reference = { type = "string", description = "The reference of the ticket, as in T-1", maxLength = 100, required = true }

[tool.ticket_get.output]
subject = { type = "string", description = "The subject", required = true }
amount_minor = { type = "integer", description = "What it is about, in minor units" }
"#;

async fn served(service: &Service, source: &str, tools: &str) -> Served {
    files(service, source, tools).serve().await
}

#[tokio::test]
async fn a_tool_gives_what_it_declares_of_what_the_service_answers() {
    let service = Service::start().await;
    service.behave(
        "/tickets/T-1",
        Behaviour::json(r#"{"subject":"Printer","amount_minor":9007199254740993,"internal":"CANARY"}"#),
    );
    let files = files(&service, "", TICKET_GET);
    assert_eq!(files.report(), "");
    let served = files.serve().await;
    let answer = served.answer("ticket_get", r#"{"reference":"T-1"}"#).await;
    assert!(
        answer.contains(r#""structuredContent":{"subject":"Printer","amount_minor":9007199254740993}"#),
        "{answer}"
    );
    assert!(!answer.contains("CANARY"), "{answer}");
    let sent = service.last();
    assert!(sent.starts_with("GET /tickets/T-1 HTTP/1.1\r\n"), "{sent}");
}

#[tokio::test]
async fn rows_are_bounded_and_a_status_can_mean_that_there_are_none() {
    let service = Service::start().await;
    let tools = r#"
[tool.ticket_list]
description = "Lists the open support tickets of the caller's company. It does not change anything. Returns at most 2 tickets."
effect = "external_read"
source = "crm"
items = "tickets"
max_rows = 2
request = { method = "GET", path = "/tickets", query = { status = "{status}", tag = "{tags}", company = "{tenant}" } }
response = { rows = "/data/items", select = "/ticket", fields = { reference = "/id" }, nothing = [404] }

[tool.ticket_list.input]
status = { type = "string", description = "Only those in this state", enum = ["open", "closed"] }
tags = { type = "array", description = "Only those with all of these tags", items = { type = "string", maxLength = 20 }, maxItems = 5 }

[tool.ticket_list.output]
reference = { type = "string", description = "The reference", required = true }
"#;
    let files = files(&service, "tenant_scoped = true", tools);
    assert_eq!(files.report(), "");
    let served = files.serve().await;
    service.behave(
        "/tickets",
        Behaviour::json(r#"{"data":{"items":[{"ticket":{"id":"T-1"}},{"ticket":{"id":"T-2","x":1}},{"ticket":{"id":"T-3"}}]}}"#),
    );
    let found = served.structured("ticket_list", r#"{"status":"open","tags":["a b","c&d"]}"#).await;
    assert_eq!(found, json!({"tickets": [{"reference": "T-1"}, {"reference": "T-2"}], "truncated": true}));
    assert!(
        service
            .last()
            .starts_with("GET /tickets?status=open&tag=a%20b&tag=c%26d&company=tenant-a HTTP/1.1\r\n")
    );
    service.behave("/tickets", Behaviour::status(404));
    let found = served.structured("ticket_list", "{}").await;
    assert_eq!(found, json!({"tickets": [], "truncated": false}));
    assert!(service.last().starts_with("GET /tickets?company=tenant-a HTTP/1.1\r\n"), "{}", service.last());
}
