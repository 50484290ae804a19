//! Pages with sealed cursors.

use serde_json::Value;

use crate::served::{Files, HEAD, Served};

const LIST: &str = r#"
[tool.invoice_list]
description = "Lists invoices of the caller's company. Use it to look invoices up. Do not use it to pay."
effect = "read"
source = "billing"
sql = """
select reference as invoice_reference, due_on from invoices
where tenant_id = :tenant and (:status is null or status = :status) order by due_on desc, reference"""
page = { size = 1, key = ["due_on", "invoice_reference"] }
[tool.invoice_list.input]
status = { type = "string", enum = ["open", "overdue"], description = "Which invoices" }
[tool.invoice_list.output]
invoice_reference = { type = "string" }

[tool.other_list]
description = "Lists invoices in another way."
effect = "read"
source = "billing"
sql = "select reference as invoice_reference from invoices where tenant_id = :tenant"
page = { size = 2, key = ["invoice_reference desc"] }
[tool.other_list.output]
invoice_reference = { type = "string" }
"#;

async fn served() -> (Files, Served) {
    let files = Files::new(&format!("{HEAD}{LIST}"));
    let served = files.serve().await;
    (files, served)
}

async fn all(served: &Served, tool: &str, arguments: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let mut given: Value = serde_json::from_str(arguments).unwrap();
        if !cursor.is_empty() {
            given["cursor"] = cursor.clone().into();
        }
        let page = served.structured(tool, &given.to_string()).await;
        let rows = page["rows"].as_array().unwrap();
        pages.push(rows.iter().map(|row| row["invoice_reference"].as_str().unwrap().to_owned()).collect());
        assert_eq!(page["truncated"], false);
        match page.get("nextCursor") {
            Some(next) => next.as_str().unwrap().clone_into(&mut cursor),
            None => return pages,
        }
        assert!(pages.len() < 20);
    }
}

#[tokio::test]
async fn pages_follow_the_order_of_the_query_and_end_without_a_cursor() {
    let (_files, served) = served().await;
    // `due_on desc` is taken from the query; the row without a date comes last, as SQLite sorts.
    assert_eq!(all(&served, "invoice_list", "{}").await.concat(), ["A-1", "A-2", "A-3", "A-4"]);
    assert_eq!(all(&served, "invoice_list", r#"{"status":"open"}"#).await.concat(), ["A-1", "A-2", "A-4"]);
    assert_eq!(all(&served, "other_list", "{}").await, [["A-4", "A-3"], ["A-2", "A-1"]]);
}

#[tokio::test]
async fn a_cursor_is_good_for_the_question_that_it_was_given_for_and_for_no_other() {
    let (_files, served) = served().await;
    let first = served.structured("invoice_list", r#"{"status":"open"}"#).await;
    let cursor = first["nextCursor"].as_str().unwrap();
    let next =
        served.structured("invoice_list", &format!(r#"{{"cursor":"{cursor}","status":"open"}}"#)).await;
    assert_eq!(next["rows"][0]["invoice_reference"], "A-2");
    let mut changed = cursor.to_owned();
    changed.replace_range(40..41, if cursor.as_bytes()[40] == b'A' { "B" } else { "A" });
    let shortened = &cursor[..cursor.len() - 4];
    for (tool, arguments) in [
        ("invoice_list", format!(r#"{{"cursor":"{cursor}","status":"overdue"}}"#)),
        ("invoice_list", format!(r#"{{"cursor":"{cursor}"}}"#)),
        ("other_list", format!(r#"{{"cursor":"{cursor}"}}"#)),
        ("invoice_list", format!(r#"{{"cursor":"{changed}","status":"open"}}"#)),
        ("invoice_list", format!(r#"{{"cursor":"{shortened}","status":"open"}}"#)),
        ("invoice_list", r#"{"cursor":"","status":"open"}"#.to_owned()),
        ("invoice_list", r#"{"cursor":"MTIz","status":"open"}"#.to_owned()),
    ] {
        let text = served.error(tool, &arguments).await;
        assert!(text.contains("invalid_cursor"), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn a_cursor_shows_nothing_of_the_row_that_it_stands_for() {
    let (_files, served) = served().await;
    let first = served.structured("invoice_list", "{}").await;
    let cursor = first["nextCursor"].as_str().unwrap();
    assert!(!cursor.contains("A-1") && !cursor.contains("2026"));
    let again = served.structured("invoice_list", "{}").await;
    assert_ne!(again["nextCursor"].as_str().unwrap(), cursor, "two cursors for one place tell nothing");
}

#[tokio::test]
async fn another_callers_cursor_and_an_expired_one_are_refused() {
    let (files, served) = served().await;
    let first = served.structured("other_list", "{}").await;
    let arguments = format!(r#"{{"cursor":{}}}"#, first["nextCursor"]);
    let reload = |toml: &str| {
        files.write("callgate.toml", toml);
        served.reloader.as_ref().unwrap().reload().unwrap()
    };
    let toml = format!("{HEAD}{LIST}");
    for changed in [toml.replace("\"dana\"", "\"eve\""), toml.replace("\"tenant-a\"", "\"tenant-b\"")] {
        reload(&changed);
        assert!(served.error("other_list", &arguments).await.contains("invalid_cursor"));
    }
    reload(&toml);
    assert_eq!(served.structured("other_list", &arguments).await["rows"][0]["invoice_reference"], "A-2");
}

#[tokio::test]
async fn a_cursor_survives_a_reload_that_does_not_change_its_tool() {
    let (files, served) = served().await;
    let first = served.structured("other_list", "{}").await;
    let arguments = format!(r#"{{"cursor":{}}}"#, first["nextCursor"]);
    let reloader = served.reloader.as_ref().unwrap();
    files.write("callgate.toml", &format!("{HEAD}{}", LIST.replace("look invoices up", "find invoices")));
    reloader.reload().unwrap();
    assert_eq!(served.structured("other_list", &arguments).await["rows"][0]["invoice_reference"], "A-2");
    files.write("callgate.toml", &format!("{HEAD}{}", LIST.replace("in another way", "in some other way")));
    reloader.reload().unwrap();
    assert!(served.error("other_list", &arguments).await.contains("invalid_cursor"));
}

#[tokio::test]
async fn a_cursor_does_not_go_on_with_another_statement_or_order() {
    let (files, served) = served().await;
    let first = served.structured("other_list", "{}").await;
    let arguments = format!(r#"{{"cursor":{}}}"#, first["nextCursor"]);
    let other = LIST.find("[tool.other_list]").unwrap();
    let (before, tool) = LIST.split_at(other);
    for changed in [
        tool.replace(":tenant", ":tenant and 1 = 1"),
        tool.replace("invoice_reference desc", "invoice_reference asc"),
    ] {
        assert_ne!(changed, tool);
        files.write("callgate.toml", &format!("{HEAD}{before}{changed}"));
        served.reloader.as_ref().unwrap().reload().unwrap();
        assert!(served.error("other_list", &arguments).await.contains("invalid_cursor"));
    }
    files.write("callgate.toml", &format!("{HEAD}{LIST}"));
    served.reloader.as_ref().unwrap().reload().unwrap();
    assert_eq!(served.structured("other_list", &arguments).await["rows"][0]["invoice_reference"], "A-2");
}

#[tokio::test]
async fn a_page_that_would_lose_rows_is_refused() {
    let files = Files::new(&format!(
        "{HEAD}{}",
        LIST.replace("key = [\"due_on\", \"invoice_reference\"]", "key = [\"due_on\"]")
    ));
    let served = files.serve().await;
    let first = served.structured("invoice_list", "{}").await;
    let text = served.error("invoice_list", &format!(r#"{{"cursor":{}}}"#, first["nextCursor"])).await;
    assert!(text.contains("output_invalid"), "{text}");
}
