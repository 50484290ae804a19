//! Masked columns: what leaves, and what is wrong with a mask at load.

use crate::served::{Files, HEAD};

fn tool(output: &str) -> String {
    format!(
        r#"{HEAD}
[tool.invoice_find]
description = "Finds open invoices of the caller's company. Use it to look one up. Not for payments."
effect = "read"
source = "billing"
sql = "select id, reference, note from invoices where tenant_id = :tenant and status = 'open' order by id"
{output}
"#
    )
}

const TABLE: &str = r#"
[tool.invoice_find.output]
reference = { type = "string", mask = { keep_last = 1 } }
note = { type = ["string", "null"], mask = true }
"#;

#[tokio::test]
async fn a_masked_column_leaves_as_a_mark_in_every_part_of_the_answer() {
    let files = Files::new(&tool(TABLE));
    let served = files.serve().await;
    let answer = served.answer("invoice_find", "{}").await;
    assert!(answer.contains(r#"{"reference":"•••• 2","note":null}"#), "{answer}");
    assert!(answer.contains(r#""note":"••••"}"#), "{answer}");
    for hidden in ["A-1", "A-2", "Zoë", "drop table"] {
        assert!(!answer.contains(hidden), "{hidden}: {answer}");
    }
    assert!(!served.list().await.contains("mask"), "a model has no use for the keyword");
}

#[tokio::test]
async fn a_mask_in_a_schema_file_counts_as_much() {
    let files = Files::new(&tool("output = \"row.json\""));
    files.write(
        "row.json",
        r#"{ "type": "object", "properties": { "note": { "mask": true, "type": ["string", "null"] } } }"#,
    );
    let answer = files.serve().await.answer("invoice_find", "{}").await;
    assert!(answer.contains(r#"{"note":"••••"}"#) && !answer.contains("Zoë"), "{answer}");
}

#[test]
fn a_mask_that_cannot_hold_is_a_load_error_at_its_place() {
    for (line, expected) in [
        ("id = { type = \"integer\", mask = true }", "a masked field must be a string"),
        ("note = { type = \"string\", pattern = \"^[A-Z]+$\", mask = true }", "does not fit this `pattern`"),
        ("note = { type = \"string\", mask = 4 }", "`mask` is true, or says"),
        ("note = { type = \"string\", mask = { keep_last = 40 } }", "keep at most 8"),
        ("note = { anyOf = [{ type = \"string\", mask = true }] }", "cannot be followed"),
    ] {
        let report = Files::new(&tool(&format!("[tool.invoice_find.output]\n{line}"))).report();
        assert!(report.contains(expected) && report.contains(line), "{line}: {report}");
    }
    let input =
        "input = { a = { type = \"string\", mask = true } }\noutput = { id = { type = \"integer\" } }";
    let report = Files::new(&tool(input)).report();
    assert!(report.contains("an input cannot be masked"), "{report}");
}
