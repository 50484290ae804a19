//! Results that leave as a link: files of rows, and results that overflow.

use std::time::Duration;

use callgate_gateway::store::Place;
use callgate_server::{Content, Context, Effect, HandleScope, Tool, ToolError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::served::{Files, HEAD, Served};

const CSV: &str = r#"
[tool.invoice_export]
description = "Exports all invoices of the company of the caller as a CSV file. Do not use it to look one up."
effect = "read"
source = "billing"
deliver = "csv"
sql = "select id, reference, amount_minor, due_on, note, secret from invoices where tenant_id = :tenant order by id"

[tool.invoice_export.output]
id = { type = "integer" }
reference = { type = "string" }
amount_minor = { type = "integer" }
due_on = { type = ["string", "null"], format = "date" }
note = { type = "string" }
"#;

/// Rows as many as `n` says.
const MANY: &str = r#"
[tool.many]
description = "Gives numbered rows, as many as asked for. Do not use it for anything but a test."
effect = "read"
source = "numbers"
DELIVER
sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < :n) select i, 'row ' || i as name from n"

[tool.many.input]
n = { type = "integer", description = "How many rows", required = true }

[tool.many.output]
i = { type = "integer", maximum = 200000 }
name = { type = "string" }

[source.numbers]
kind = "sqlite"
path = "billing.db"
"#;

fn many(deliver: &str, more: &str) -> Files {
    Files::new(&format!("{HEAD}{}{more}", MANY.replace("DELIVER", deliver)))
}

fn link(result: &Value) -> (String, Value) {
    assert!(result.get("isError").is_none(), "{result}");
    let block = &result["content"][1];
    assert_eq!(block["type"], "resource_link", "{result}");
    let artifact = result["structuredContent"]["artifact"].clone();
    assert_eq!((&block["uri"], &block["size"]), (&artifact["uri"], &artifact["bytes"]));
    (block["uri"].as_str().unwrap().to_owned(), artifact)
}

fn digest(text: &str) -> String {
    let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[tokio::test]
async fn a_report_leaves_as_a_csv_file_with_every_digit_and_only_of_the_tenant() {
    let files = Files::new(&format!("{HEAD}{CSV}"));
    let served = files.serve().await;
    let (uri, artifact) = link(&served.call("invoice_export", "{}").await);
    let expected = "id,reference,amount_minor,due_on,note\r\n\
                    2,A-2,0,2026-10-01,\r\n\
                    3,A-3,700,2026-10-01,💡\r\n\
                    4,A-4,-5,,\"\"\r\n\
                    9007199254740993,A-1,9007199254740995,2026-11-01,Zoë's; drop table\r\n";
    assert_eq!(served.artifact(&uri).await, expected);
    assert_eq!(artifact["digest"], digest(expected));
    assert_eq!((&artifact["name"], &artifact["rows"]), (&"invoice_export.csv".into(), &4.into()));
    assert_eq!(artifact["mediaType"], "text/csv");
    let part = served.read(&format!("{uri}?offset=40&length=60")).await;
    let part = &part["result"]["contents"][0];
    assert_eq!(
        part["text"],
        "2,A-2,0,2026-10-01,\r\n3,A-3,700,2026-10-01,💡\r\n".get(1..).unwrap_or_default()
    );
    assert_eq!(part["_meta"]["dev.callgate/artifact"]["digest"], digest(expected));
}

#[tokio::test]
async fn many_rows_are_written_while_they_come_and_read_in_parts() {
    let files = many("deliver = \"jsonl\"", "");
    let served = files.serve().await;
    let (uri, artifact) = link(&served.call("many", r#"{"n":40000}"#).await);
    let text = served.artifact(&uri).await;
    assert_eq!((text.lines().count(), artifact["rows"].as_u64()), (40_000, Some(40_000)));
    assert_eq!(text.lines().nth(39_999), Some(r#"{"i":40000,"name":"row 40000"}"#));
    assert_eq!(artifact["digest"], digest(&text));
    assert!(text.len() > 1 << 20, "more than one part: {}", text.len());
}

#[tokio::test]
async fn a_file_that_would_not_be_whole_or_does_not_fit_is_not_delivered_and_leaves_nothing() {
    let files = many(
        "deliver = \"csv\"\nmax_rows = 1000\nmax_bytes = 20000",
        "\n[artifacts]\nprincipal_count = 1\nmax_bytes = 8000\n",
    );
    let served = files.serve().await;
    for (n, code) in [
        (1001, "output_too_large"),
        (900, "output_too_large"),
        (700, "output_too_large"),
        (200_001, "output_too_large"),
    ] {
        let error = served.error("many", &format!(r#"{{"n":{n}}}"#)).await;
        assert!(error.starts_with(code), "{n}: {error}");
    }
    // There is room for one, so the others left nothing.
    link(&served.call("many", r#"{"n":500}"#).await);
    let error = served.error("many", r#"{"n":1}"#).await;
    assert!(error.starts_with("store_full"), "{error}");
    let files = many("deliver = \"csv\"\nmax_rows = 1000000", "");
    let served = files.serve().await;
    let error = served.error("many", r#"{"n":200001}"#).await;
    assert!(error.starts_with("output_invalid"), "a row outside its schema: {error}");
}

#[tokio::test]
async fn a_result_over_its_bound_becomes_a_link_and_one_within_is_a_message() {
    let files = many("deliver = \"overflow\"\nmax_rows = 100000\nmax_bytes = 100000", "");
    let served = files.serve().await;
    let small = served.structured("many", r#"{"n":10}"#).await;
    assert_eq!(small["rows"].as_array().unwrap().len(), 10);
    let (uri, _) = link(&served.call("many", r#"{"n":30000}"#).await);
    let whole: Value = serde_json::from_str(&served.artifact(&uri).await).unwrap();
    assert_eq!((whole["rows"].as_array().unwrap().len(), &whole["truncated"]), (30_000, &false.into()));
    // The list says that both may come.
    let schema = served.tools().await[0]["outputSchema"].clone();
    assert_eq!(schema["anyOf"].as_array().unwrap().len(), 2, "{schema}");
}

#[tokio::test]
async fn an_artifact_outlives_a_reload_and_no_list_names_it() {
    let files = Files::new(&format!("{HEAD}{CSV}"));
    let served = files.serve().await;
    let (uri, _) = link(&served.call("invoice_export", "{}").await);
    files.write("callgate.toml", &format!("{HEAD}{}", CSV.replace("\"csv\"", "\"jsonl\"")));
    served.reloader.as_ref().unwrap().reload().unwrap();
    assert!(served.artifact(&uri).await.starts_with("id,reference"));
    let unknown = served.read(&uri.replace(&uri[uri.len() - 4..], "0000")).await;
    assert_eq!(unknown["error"]["message"], "Resource not found", "{unknown}");
}

/// Gives out a handle, or says what one stands for.
async fn ticket(context: Context<'_>, Ticket { handle }: Ticket) -> Result<Content, ToolError> {
    let scope = HandleScope::tool();
    let text = match handle {
        None => context.handles().create(&scope, "window seat", Duration::from_secs(60)).await?,
        Some(handle) => {
            let payload = context.handles().check(&handle, &scope).await?;
            context.handles().revoke(&handle, &scope).await?;
            String::from_utf8_lossy(&payload).into_owned()
        }
    };
    Ok(Content::text(&text))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Ticket {
    handle: Option<String>,
}

async fn served(files: &Files) -> Served {
    let gate = files.gate().tool(Tool::new("ticket", Effect::Read, ticket).description("Gives out tickets."));
    let (server, reloader) = gate.build().unwrap();
    Served::start(&server, Some(reloader)).await
}

async fn what_is_kept_is_there_for_other_instances_and_the_next_gate(store: &str) {
    let files = Files::new(&format!("{HEAD}{CSV}{store}"));
    if let Ok(url) = std::env::var("CALLGATE_TEST_POSTGRES") {
        files.write("url", &url);
    }
    let place = Place::of(&files.at("callgate.toml")).unwrap();
    // Waiting for the store is for threads that may wait.
    tokio::task::spawn_blocking(move || place.migrate().unwrap()).await.unwrap();
    let (one, other) = (served(&files).await, served(&files).await);
    let (uri, _) = link(&one.call("invoice_export", "{}").await);
    let handle = one.call("ticket", "{}").await["content"][0]["text"].as_str().unwrap().to_owned();
    let whole = one.artifact(&uri).await;
    assert_eq!(other.artifact(&uri).await, whole);
    drop(one);
    let next = served(&files).await;
    assert_eq!(next.artifact(&uri).await, whole);
    let arguments = format!(r#"{{"handle":"{handle}"}}"#);
    assert_eq!(next.call("ticket", &arguments).await["content"][0]["text"], "window seat");
    // The other instance knows that it was revoked.
    assert!(other.error("ticket", &arguments).await.starts_with("invalid_handle"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_in_a_file_is_there_for_other_instances_and_the_next_gate() {
    let store = "\n[store]\nkind = \"sqlite\"\npath = \"store.db\"\n";
    what_is_kept_is_there_for_other_instances_and_the_next_gate(store).await;
}

#[test]
fn what_does_not_go_together_with_a_file_is_found() {
    let bad = CSV
        .replace(
            "deliver = \"csv\"",
            "deliver = \"jsonl\"\nformulas = \"keep\"\nitems = \"invoices\"\npage = { size = 10, key = [\"id\"] }",
        )
        .replace("note = { type = \"string\" }", "note = { type = \"string\", mask = true }");
    let inline = MANY.replace("DELIVER", "max_rows = 100001\nmax_bytes = 16777217");
    let artifacts = "\n[artifacts]\nmax_bytes = 2048\nprincipal_bytes = 1024\ntotal_bytes = 100\n";
    insta::assert_snapshot!("bad_artifacts", Files::new(&format!("{HEAD}{bad}{inline}{artifacts}")).report());
}

mod postgres {
    //! The same over PostgreSQL.

    use super::{Files, Served, link, what_is_kept_is_there_for_other_instances_and_the_next_gate};

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_kept_in_postgres_is_there_for_other_instances_and_the_next_gate() {
        let store = "\n[store]\nkind = \"postgres\"\nurl = \"file:url\"\n";
        what_is_kept_is_there_for_other_instances_and_the_next_gate(store).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_rows_of_postgres_become_a_file_with_every_digit() {
        let url = std::env::var("CALLGATE_TEST_POSTGRES").expect(
            "this test needs a PostgreSQL server: run it with `cargo xtask test`, or set CALLGATE_TEST_POSTGRES to \
             the URL of a superuser of a server that may be filled with test data",
        );
        let files = Files::new(
            r#"
[server]
name = "numbers"

[auth.local]
principal = "dana"
tenant = "tenant-a"

[source.numbers]
kind = "postgres"
url = "file:url"

[tool.many]
description = "Gives numbered rows with amounts. Do not use it for anything but a test."
effect = "read"
source = "numbers"
deliver = "csv"
sql = "select i, (i::numeric * 1000000000000000 + 0.10)::numeric(40, 2) as amount, nullif(i, 2)::text as name from generate_series(1, 30000) as i"

[tool.many.output]
i = { type = "integer" }
amount = { type = "number" }
name = { type = "string" }
"#,
        );
        files.write("url", &url);
        let served: Served = files.serve().await;
        let (uri, artifact) = link(&served.call("many", "{}").await);
        let text = served.artifact(&uri).await;
        assert_eq!(artifact["rows"], 30_000);
        let lines: Vec<_> = text.split("\r\n").collect();
        assert_eq!(lines[..3], ["i,amount,name", "1,1000000000000000.10,1", "2,2000000000000000.10,"]);
        assert_eq!(lines[30_000], "30000,30000000000000000000.10,30000");
    }
}
