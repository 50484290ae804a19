//! Tools of Rust and tools of the file in one catalogue.

use callgate_core::principal::Principal;
use callgate_server::{Context, Effect, Tool, ToolError};

use crate::served::{Files, HEAD, Served};

const FILE_TOOL: &str = r#"
[tool.count]
description = "Counts invoices."
effect = "read"
source = "billing"
sql = "select count(*) as n from invoices where tenant_id = :tenant"
output = { n = { type = "integer" } }
"#;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sum {
    a: i64,
    b: i64,
}

async fn add(_: Context<'_>, Sum { a, b }: Sum) -> Result<i64, ToolError> {
    a.checked_add(b).ok_or_else(|| ToolError::new("the sum is too large"))
}

fn sum(name: &str) -> Tool {
    Tool::new(name, Effect::Read, add).description("Adds two integers.")
}

#[tokio::test]
async fn tools_of_rust_stand_beside_those_of_the_file_and_survive_a_reload() {
    let files = Files::new(&format!("{HEAD}{FILE_TOOL}"));
    let (server, reloader) = files.gate().tool(sum("add")).build().unwrap();
    let served = Served::start(&server, Some(reloader)).await;
    for _ in 0..2 {
        let names: Vec<_> =
            served.tools().await.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["add", "count"]);
        assert_eq!(served.structured("add", r#"{"a":1,"b":2}"#).await, 3);
        assert_eq!(served.structured("count", "{}").await["rows"][0]["n"], 4);
        served.reloader.as_ref().unwrap().reload().unwrap();
    }
}

#[tokio::test]
async fn a_name_that_two_tools_share_is_refused_at_build_and_at_reload() {
    let files = Files::new(&format!("{HEAD}{FILE_TOOL}"));
    let error = files.gate().tool(sum("count")).build().unwrap_err();
    assert!(error.to_string().contains("`count`"), "{error}");
    let (server, reloader) = files.gate().tool(sum("add")).build().unwrap();
    let served = Served::start(&server, Some(reloader)).await;
    files.write("callgate.toml", &format!("{HEAD}{}", FILE_TOOL.replace("tool.count", "tool.add")));
    let error = served.reloader.as_ref().unwrap().reload().unwrap_err();
    assert!(error.to_string().contains("`add`"), "{error}");
    assert_eq!(served.structured("count", "{}").await["rows"][0]["n"], 4, "the old snapshot is in force");
}

#[tokio::test]
async fn every_port_can_be_replaced_by_the_authors_own() {
    let files = Files::new(&format!("{HEAD}{FILE_TOOL}"));
    let other = || Principal::new("eve").with_tenant("tenant-b");
    let (server, reloader) =
        files.gate().customize(move |builder| builder.local_principal(other())).build().unwrap();
    let served = Served::start(&server, Some(reloader)).await;
    assert_eq!(served.structured("count", "{}").await["rows"][0]["n"], 1);
    served.reloader.as_ref().unwrap().reload().unwrap();
    assert_eq!(served.structured("count", "{}").await["rows"][0]["n"], 1);
}

#[tokio::test]
async fn a_caller_without_a_tenant_is_refused_before_the_query() {
    let files = Files::new(&format!("{HEAD}{FILE_TOOL}"));
    let gate = files.gate().customize(|builder| builder.local_principal(Principal::new("nobody")));
    let (server, _) = gate.build().unwrap();
    let text = Served::start(&server, None).await.answer("count", "{}").await;
    assert!(text.contains("forbidden"), "{text}");
}
