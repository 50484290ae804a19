//! Calls of file tools, as a client makes them.

use crate::served::{Files, HEAD};

const LOOKUP: &str = r#"
[tool.invoice_get]
title = "One invoice"
description = "Returns one invoice of the caller's company. Use it when the reference is known. Not for lists."
effect = "read"
source = "billing"
items = "invoices"
sql = """
select id, reference, currency, amount_minor, due_on, note, secret from invoices
where tenant_id = :tenant and reference = :reference and (:currency is null or currency = :currency) -- end"""

[tool.invoice_get.input]
reference = { type = "string", maxLength = 200, description = "As printed on the invoice", required = true }
currency = { type = ["string", "null"], maxLength = 3, description = "ISO 4217 code" }

[tool.invoice_get.output]
id = { type = "integer" }
reference = { type = "string" }
currency = { type = "string" }
amount_minor = { type = "string" }
due_on = { type = ["string", "null"], format = "date" }
note = { type = "string" }
"#;

fn with(tools: &str) -> Files {
    Files::new(&format!("{HEAD}{tools}"))
}

#[tokio::test]
async fn the_list_shows_the_contract_that_the_file_describes() {
    let files = with(LOOKUP);
    // The text itself: what a parser makes of the order of its members depends on what else is linked.
    let list = files.serve().await.list().await.replace("},", "},\n").replace("{\"type\"", "\n{\"type\"");
    insta::assert_snapshot!("list", list);
}

#[tokio::test]
async fn rows_leave_in_their_declared_form_and_digit_for_digit() {
    let files = with(LOOKUP);
    let served = files.serve().await;
    let answer = served.answer("invoice_get", r#"{"reference":"A-1"}"#).await;
    let expected = r#""structuredContent":{"invoices":[{"id":9007199254740993,"reference":"A-1","currency":"EUR","amount_minor":"9007199254740995","due_on":"2026-11-01","note":"Zoë's; drop table"}],"truncated":false}"#;
    assert!(answer.contains(expected), "{answer}");
    assert!(!answer.contains("secret"));
    let row = served.structured("invoice_get", r#"{"reference":"A-4"}"#).await;
    assert_eq!(row["invoices"][0]["due_on"], serde_json::Value::Null);
    let row = served.structured("invoice_get", r#"{"reference":"A-2"}"#).await;
    assert!(row["invoices"][0].get("note").is_none(), "NULL is left out where null is not declared: {row}");
}

#[tokio::test]
async fn the_tenant_comes_from_the_caller_and_never_from_the_arguments() {
    let files = with(LOOKUP);
    let served = files.serve().await;
    assert_eq!(
        served.structured("invoice_get", r#"{"reference":"B-1"}"#).await["invoices"],
        serde_json::json!([])
    );
    for forged in [r#""tenant":"tenant-b""#, r#""tenant_id":"tenant-b""#, r#"":tenant":"tenant-b""#] {
        let text = served.error("invoice_get", &format!(r#"{{"reference":"B-1",{forged}}}"#)).await;
        assert!(text.contains("invalid_arguments"), "{text}");
    }
}

#[tokio::test]
async fn hostile_strings_are_values() {
    let files = with(LOOKUP);
    let served = files.serve().await;
    for hostile in [
        "' or 1=1 --",
        "A-1'; drop table invoices; --",
        "\\\" or \\\"\\\"=\\\"",
        ":tenant",
        "?",
        "$1",
        "\\u0000",
        "🦀\\u202e",
        "%",
    ] {
        let found = served.structured("invoice_get", &format!(r#"{{"reference":"{hostile}"}}"#)).await;
        assert_eq!(found["invoices"], serde_json::json!([]), "{hostile}");
    }
    assert_eq!(
        served.structured("invoice_get", r#"{"reference":"A-1"}"#).await["invoices"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn an_optional_argument_may_be_absent_or_null_and_means_the_same() {
    let files = with(LOOKUP);
    let served = files.serve().await;
    let absent = served.structured("invoice_get", r#"{"reference":"A-1"}"#).await;
    let null = served.structured("invoice_get", r#"{"reference":"A-1","currency":null}"#).await;
    assert_eq!(absent, null);
    assert_eq!(absent["invoices"].as_array().unwrap().len(), 1);
    let other = served.structured("invoice_get", r#"{"reference":"A-1","currency":"JPY"}"#).await;
    assert_eq!(other["invoices"], serde_json::json!([]));
    // The text "null" is a text: three letters, and no currency of an invoice.
    let text = served.error("invoice_get", r#"{"reference":"A-1","currency":"null"}"#).await;
    assert!(text.contains("/currency"), "{text}");
    let text = served.error("invoice_get", r#"{"reference":null}"#).await;
    assert!(text.contains("/reference"), "{text}");
}

#[tokio::test]
async fn every_failing_argument_is_named_at_once_in_a_result_that_a_model_reads() {
    let files = with(LOOKUP);
    let text = files.serve().await.error("invoice_get", r#"{"currency":7,"extra":1}"#).await;
    for part in ["reference", "/currency", "/extra"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn what_is_cut_off_is_marked() {
    let tool = r#"
[tool.all]
description = "Everything."
effect = "read"
source = "billing"
sql = "select reference from invoices where tenant_id = :tenant order by reference"
max_rows = 3
[tool.all.output]
reference = { type = "string" }
"#;
    let files = with(tool);
    let served = files.serve().await;
    let cut = served.structured("all", "{}").await;
    assert_eq!((cut["rows"].as_array().unwrap().len(), &cut["truncated"]), (3, &true.into()));
    files.write("callgate.toml", &format!("{HEAD}{}", tool.replace("max_rows = 3", "max_rows = 4")));
    served.reloader.as_ref().unwrap().reload().unwrap();
    let whole = served.structured("all", "{}").await;
    assert_eq!((whole["rows"].as_array().unwrap().len(), &whole["truncated"]), (4, &false.into()));
}

#[tokio::test]
async fn a_stored_value_that_breaks_the_contract_never_leaves() {
    let files = with(&LOOKUP.replace("note = { type = \"string\" }", "note = { type = \"integer\" }"));
    let text = files.serve().await.error("invoice_get", r#"{"reference":"A-1"}"#).await;
    assert!(text.contains("output_invalid"), "{text}");
    assert!(!text.contains("Zo"), "{text}");
    // A value that has the form and breaks the schema is found by the check of the gate.
    let files =
        with(&LOOKUP.replace(
            "currency = { type = \"string\" }",
            "currency = { type = \"string\", enum = [\"JPY\"] }",
        ));
    let text = files.serve().await.error("invoice_get", r#"{"reference":"A-1"}"#).await;
    assert!(text.contains("output_invalid"), "{text}");
}

#[tokio::test]
async fn a_query_that_takes_too_long_is_an_error_with_advice_and_without_sql() {
    let files = with(
        r#"
[tool.slow]
description = "Counts for ever."
effect = "read"
source = "billing"
sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i > 0) select count(*) as c from n, invoices where tenant_id = :tenant"
timeout_ms = 100
[tool.slow.output]
c = { type = "integer" }
"#,
    );
    let text = files.serve().await.error("slow", "{}").await;
    assert!(text.contains("timeout"), "{text}");
    for hidden in ["select", "invoices", "billing.db", files.path().to_str().unwrap()] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

#[tokio::test]
async fn a_source_that_broke_is_an_error_without_its_path() {
    let files = with(LOOKUP);
    let served = files.serve().await;
    std::fs::write(
        files.at("billing.db"),
        "this is no database any more, whatever its name says".repeat(100),
    )
    .unwrap();
    let text = served.error("invoice_get", r#"{"reference":"A-1"}"#).await;
    assert!(text.contains("source_unavailable"), "{text}");
    assert!(!text.contains("billing") && !text.contains("/tmp"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_get_their_own_answers() {
    let files = with(LOOKUP);
    let served = std::sync::Arc::new(files.serve().await);
    let calls = (0..40).map(|call| {
        let served = std::sync::Arc::clone(&served);
        tokio::spawn(async move {
            let reference = format!("A-{}", call % 4 + 1);
            let rows = served.structured("invoice_get", &format!(r#"{{"reference":"{reference}"}}"#)).await;
            assert_eq!(rows["invoices"][0]["reference"], reference.as_str());
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_query_along() {
    let tools = r#"
[tool.slow]
description = "Counts for ever."
effect = "read"
source = "billing"
sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i > 0) select count(*) as c from n, invoices where tenant_id = :tenant"
timeout_ms = 600000
[tool.slow.output]
c = { type = "integer" }

[tool.quick]
description = "Counts once."
effect = "read"
source = "billing"
sql = "select count(*) as c from invoices where tenant_id = :tenant"
timeout_ms = 10000
[tool.quick.output]
c = { type = "integer" }
"#;
    let head = HEAD.replace("tenant_scoped", "connections = 1\ntenant_scoped");
    let files = Files::new(&format!("{head}{tools}"));
    let served = files.serve().await;
    for _ in 0..3 {
        let left =
            tokio::time::timeout(std::time::Duration::from_millis(100), served.answer("slow", "{}")).await;
        assert!(left.is_err());
        // There is one connection: if the slow query still had it, this one would not get an answer.
        assert_eq!(served.structured("quick", "{}").await["rows"][0]["c"], 4);
    }
}

#[tokio::test]
async fn a_default_is_a_note_to_the_reader_and_fills_nothing_in() {
    let files = with(
        r#"
[tool.echo]
description = "Shows what is bound."
effect = "read"
source = "billing"
sql = "select :given as given, :tenant as tenant"
[tool.echo.input]
given = { type = ["integer", "null"], default = 10, description = "Anything" }
[tool.echo.output]
given = { type = ["integer", "null"] }
tenant = { type = "string" }
"#,
    );
    let served = files.serve().await;
    for (arguments, bound) in
        [("{}", "null"), (r#"{"given":null}"#, "null"), (r#"{"given":9007199254740993}"#, "9007199254740993")]
    {
        let answer = served.answer("echo", arguments).await;
        assert!(answer.contains(&format!(r#"{{"given":{bound},"tenant":"tenant-a"}}"#)), "{answer}");
    }
    let text = served.error("echo", r#"{"given":"10"}"#).await;
    assert!(text.contains("/given"), "{text}");
    // An integer that the store cannot hold is refused, never rounded.
    let text = served.error("echo", r#"{"given":9223372036854775808}"#).await;
    assert!(text.contains("invalid_arguments") && text.contains("given") && !text.contains("9223"), "{text}");
}
