//! The trail of a file: what is said about it at load, at reload, and in its records.

use callgate_adapters::audit::{Column, Filter, Reader as _, SqliteReader};

use crate::served::{Files, HEAD};

const TOOL: &str = r#"
[tool.invoice_count]
description = "Counts the invoices of the caller's company with a status. It does not list them; there is another tool."
effect = "read"
source = "billing"
sql = "select count(*) as n from invoices where tenant_id = :tenant and status = :status"
recorded = ["status"]
input = { status = { type = "string", maxLength = 9, description = "Which", required = true } }
output = { n = { type = "integer" } }
"#;

fn file(audit: &str) -> String {
    format!("{HEAD}{TOOL}\n{audit}")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_has_a_record_with_the_arguments_that_its_tool_names() {
    let files = Files::new(&file("[audit]\npath = \"audit.db\"\n"));
    let served = files.serve().await;
    served.structured("invoice_count", r#"{"status":"open"}"#).await;
    let path = files.at("audit.db");
    let rows = SqliteReader::open(path).unwrap().after(0, &Filter::default(), 10).unwrap();
    assert_eq!(rows.len(), 1);
    let text = |column| rows[0].body.text(column);
    assert_eq!(text(Column::Arguments), Some(r#"{"status":"open"}"#));
    assert_eq!(text(Column::Tool), Some("invoice_count"));
    assert_eq!(text(Column::Decision), Some("permit"));
    assert!(text(Column::Policies).unwrap().starts_with('['));
    assert!(!rows[0].body.get(Column::Input).is_null() && !rows[0].body.get(Column::Policy).is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_keeps_the_trail_and_says_that_its_table_has_changed() {
    let files = Files::new(&file("[audit]\npath = \"audit.db\"\n"));
    let served = files.serve().await;
    let reloader = served.reloader.as_ref().unwrap();
    assert!(reloader.reload().unwrap().findings().is_empty());
    for changed in
        ["[audit]\npath = \"other.db\"\n", "[audit]\npath = \"audit.db\"\nretention_days = 9\n", ""]
    {
        files.write("callgate.toml", &file(changed));
        let report = reloader.reload().unwrap().to_string();
        assert!(report.contains("takes effect when the server is started again"), "{changed}: {report}");
    }
    served.structured("invoice_count", r#"{"status":"open"}"#).await;
    assert!(!files.at("other.db").exists());
    let rows = SqliteReader::open(files.at("audit.db")).unwrap().after(0, &Filter::default(), 10).unwrap();
    assert_eq!(rows.len(), 1);
}

#[test]
fn every_mistake_about_the_trail_is_found_at_load() {
    for (audit, code, words) in [
        ("[audit]\n", "audit_place", "does not say where"),
        ("[audit]\npath = \"a.db\"\nurl = \"env:X\"\n", "audit_place", "both"),
        ("[audit]\npath = \"a.db\"\non_failure = \"ignore\"\n", "unknown_value", "refuse"),
        ("[audit]\npath = \"a.db\"\ndurabilty = \"full\"\n", "unknown_key", "durability"),
        ("[audit]\npath = \"a.db\"\nretention_days = 0\n", "out_of_range", "36500"),
        ("[audit]\nurl = \"postgres://u:hunter2@h/d\"\n", "secret_in_file", "environment"),
    ] {
        let report = Files::new(&file(audit)).report();
        assert!(report.contains(code) && report.contains(words), "{audit}: {report}");
        assert!(!report.contains("hunter2"), "{report}");
    }
    let unknown = file("").replace("[\"status\"]", "[\"state\"]");
    let report = Files::new(&unknown).report();
    assert!(report.contains("recorded-unknown") && report.contains("use one of `status`"), "{report}");
    assert!(report.contains("recorded = [\"state\"]"), "the place is the name: {report}");
}
