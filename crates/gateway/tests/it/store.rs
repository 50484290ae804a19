//! The store of a file: what is said about it at load and at reload, and effects that outlive a gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_gateway::Gate;
use callgate_gateway::store::Place;
use callgate_server::{Context, Effect, Idempotency, KeySource, NoInput, Resolution, Tool, ToolError};

use crate::served::{Files, HEAD, Served};

const TOOL: &str = r#"
[tool.invoice_count]
description = "Counts the invoices of the caller's company. It does not list them; there is another tool for that."
effect = "read"
source = "billing"
sql = "select count(*) as n from invoices where tenant_id = :tenant"
output = { n = { type = "integer" } }

[policy]
files = ["policy/*.cedar"]
"#;

const STORE: &str = "[store]\nkind = \"sqlite\"\npath = \"store.db\"\n";

fn files(store: &str) -> Files {
    let files = Files::new(&format!("{HEAD}{TOOL}{store}"));
    std::fs::create_dir(files.at("policy")).unwrap();
    files.write("policy/all.cedar", "permit (principal, action, resource);\n");
    files
}

fn counting(runs: &Arc<AtomicUsize>) -> Tool {
    let runs = Arc::clone(runs);
    let run = move |_: Context<'_>, _: NoInput| {
        let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
        async move { Ok::<_, ToolError>(run) }
    };
    Tool::new("note_add", Effect::Append, run)
        .description("Adds a note.")
        .idempotency(Idempotency::new(KeySource::Input))
        .resolution(Resolution::Person)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_is_not_repeated_by_the_next_gate_on_the_same_store() {
    let files = files(STORE);
    let place = Place::of(&files.at("callgate.toml")).unwrap();
    let error = Gate::from_file(files.at("callgate.toml")).unwrap_err().to_string();
    assert!(error.contains("callgate migrate"), "{error}");
    assert!(files.report().contains("callgate migrate"));
    // Waiting for the store is for threads that may wait.
    tokio::task::spawn_blocking(move || assert_eq!(place.migrate().unwrap().first(), Some(&"ledger")))
        .await
        .unwrap();
    assert!(!files.report().contains("store"), "{}", files.report());
    let runs = Arc::new(AtomicUsize::new(0));
    let mut receipts = Vec::new();
    for _ in 0..2 {
        let (server, reloader) = files.gate().tool(counting(&runs)).build().unwrap();
        let served = Served::start(&server, Some(reloader)).await;
        for _ in 0..2 {
            let result = served.call("note_add", "{}").await;
            assert_eq!(result["structuredContent"], 1, "{result}");
            receipts.push(result["_meta"]["dev.callgate/receipt"].clone());
        }
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(receipts[0]["replayed"], false);
    for receipt in &receipts[1..] {
        assert_eq!((&receipt["effect"], &receipt["replayed"]), (&"committed".into(), &true.into()));
        assert_eq!(receipt["firstCall"], receipts[0]["call"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_changes_something_is_not_built_without_a_store() {
    let files = files("");
    let error = files.gate().tool(counting(&Arc::default())).build().unwrap_err().to_string();
    assert!(error.contains("note_add") && error.contains("ledger"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_keeps_the_store_and_says_that_its_table_has_changed() {
    let files = files(STORE);
    let path = files.at("callgate.toml");
    tokio::task::spawn_blocking(move || Place::of(&path).unwrap().migrate().unwrap()).await.unwrap();
    let served = files.serve().await;
    let reloader = served.reloader.as_ref().unwrap();
    assert!(reloader.reload().unwrap().findings().is_empty());
    for changed in [STORE.replace("store.db", "other.db"), format!("{STORE}max_effects = 9\n"), String::new()]
    {
        files.write("callgate.toml", &format!("{HEAD}{TOOL}{changed}"));
        let report = reloader.reload().unwrap().to_string();
        assert!(report.contains("[store] has changed"), "{changed}: {report}");
    }
    assert!(!files.at("other.db").exists());
}

#[test]
fn every_mistake_about_the_store_is_found_at_load() {
    for (store, code, words) in [
        ("[store]\n", "missing_key", "kind"),
        ("[store]\nkind = \"sqlte\"\npath = \"a.db\"\n", "unknown_value", "sqlite"),
        ("[store]\nkind = \"sqlite\"\n", "missing_key", "path"),
        ("[store]\nkind = \"sqlite\"\npath = \"a.db\"\nurl = \"env:X\"\n", "store_place", "`path`"),
        ("[store]\nkind = \"postgres\"\npath = \"a.db\"\nurl = \"env:X\"\n", "store_place", "`url`"),
        ("[store]\nkind = \"sqlite\"\npath = \"a.db\"\nlost_after_ms = 10\n", "out_of_range", "1000"),
        ("[store]\nkind = \"sqlite\"\npath = \"a.db\"\nmax_efects = 10\n", "unknown_key", "max_effects"),
        (
            "[store]\nkind = \"postgres\"\nurl = \"postgres://u:hunter2@h/d\"\n",
            "secret_in_file",
            "environment",
        ),
        ("[store]\nkind = \"sqlite\"\npath = \"billing.db\"\n", "store_unusable", "something else"),
        ("[store]\nkind = \"sqlite\"\npath = \"absent.db\"\n", "store_unusable", "callgate migrate"),
    ] {
        let files = files(store);
        let report = files.report();
        assert!(report.contains(code) && report.contains(words), "{store}: {report}");
        assert!(!report.contains("hunter2"), "{report}");
        assert!(!files.at("absent.db").exists());
    }
}
