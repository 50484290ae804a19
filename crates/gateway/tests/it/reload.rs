//! Changing the file while it is served.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_gateway::Gate;

use crate::served::{Files, HEAD, Served};

fn toml(description: &str) -> String {
    format!(
        r#"{HEAD}
[tool.count]
description = "{description}"
effect = "read"
source = "billing"
sql = "select count(*) as n from invoices where tenant_id = :tenant"
output = "count.json"
"#
    )
}

const SCHEMA: &str = r#"{ "type": "object", "properties": { "n": { "type": "integer" } } }"#;

fn files() -> Files {
    let files = Files::new(&toml("first"));
    files.write("count.json", SCHEMA);
    files
}

async fn description(served: &Served) -> String {
    served.tools().await[0]["description"].as_str().unwrap().to_owned()
}

/// Asks until the answer is there: file events take their time.
async fn until(mut is: impl AsyncFnMut() -> bool) {
    let limit = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is().await {
        assert!(tokio::time::Instant::now() < limit, "the change was not noticed");
    }
}

#[tokio::test]
async fn a_changed_file_is_in_force_however_the_editor_writes_it() {
    let files = files();
    let mut served = files.serve().await;
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    files.write("callgate.toml", &toml("written in place"));
    until(async || description(&served).await == "written in place").await;
    files.replace("callgate.toml", &toml("renamed over it"));
    until(async || description(&served).await == "renamed over it").await;
    files.replace("callgate.toml", &toml("and once more"));
    until(async || description(&served).await == "and once more").await;
}

#[tokio::test]
async fn a_schema_file_is_watched_too() {
    let files = files();
    let mut served = files.serve().await;
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    files.replace("count.json", &SCHEMA.replace("\"integer\"", "\"integer\", \"minimum\": 0"));
    until(async || served.tools().await[0]["outputSchema"].to_string().contains("minimum")).await;
}

#[tokio::test]
async fn a_broken_file_leaves_the_old_one_in_force_until_it_is_mended() {
    let files = files();
    let mut served = files.serve().await;
    let reloader = served.reloader.as_ref().unwrap();
    files.write("callgate.toml", &toml("second").replace("n from", "m from").replace("effect", "efect"));
    let report = reloader.reload().unwrap_err().to_string();
    for code in ["unknown_key", "missing_key", "missing_column"] {
        assert!(report.contains(code), "all errors at once: {report}");
    }
    assert_eq!(description(&served).await, "first");
    assert_eq!(served.structured("count", "{}").await["rows"][0]["n"], 4);
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    files.write("callgate.toml", &toml("third"));
    until(async || description(&served).await == "third").await;
}

#[tokio::test]
async fn a_missing_file_is_noticed_when_it_comes_back() {
    let files = files();
    let mut served = files.serve().await;
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    std::fs::remove_file(files.at("callgate.toml")).unwrap();
    files.write("callgate.toml", &toml("back"));
    until(async || description(&served).await == "back").await;
}

#[tokio::test]
async fn clients_hear_of_a_change_only_if_the_list_has_changed() {
    let files = files();
    let served = files.serve().await;
    let reloader = served.reloader.as_ref().unwrap();
    let mut stream = served.listen().await;
    // Another query with the same contract, and the same file again: nothing that a client could see.
    files.write("callgate.toml", &toml("first").replace("count(*) as n", "count(*) + 1 as n"));
    reloader.reload().unwrap();
    assert_eq!(served.structured("count", "{}").await["rows"][0]["n"], 5);
    reloader.reload().unwrap();
    let quiet = tokio::time::timeout(Duration::from_millis(300), stream.chunk()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    files.write("callgate.toml", &toml("second"));
    reloader.reload().unwrap();
    let change =
        tokio::time::timeout(Duration::from_secs(10), stream.chunk()).await.unwrap().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&change).contains("notifications/tools/list_changed"), "{change:?}");
}

#[tokio::test]
async fn a_save_between_the_load_and_the_watch_is_noticed() {
    let files = files();
    let mut served = files.serve().await;
    files.write("callgate.toml", &toml("saved in between"));
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    until(async || description(&served).await == "saved in between").await;
}

#[tokio::test]
async fn a_save_during_a_reload_is_noticed() {
    let files = files();
    let snapshots = Arc::new(AtomicUsize::new(0));
    let (count, path) = (Arc::clone(&snapshots), files.at("callgate.toml"));
    // A snapshot is made after the file was read and before the reload has ended.
    let gate = files.gate().customize(move |builder| {
        if count.fetch_add(1, Ordering::SeqCst) == 1 {
            std::fs::write(&path, toml("saved during the reload")).unwrap();
        }
        builder
    });
    let (server, reloader) = gate.build().unwrap();
    let served = Served::start(&server, None).await;
    let _watching = reloader.watch().unwrap();
    files.write("callgate.toml", &toml("second"));
    until(async || description(&served).await == "saved during the reload").await;
}

#[tokio::test]
async fn a_schema_file_in_a_directory_that_does_not_exist_yet_is_noticed() {
    let files = files();
    let mut served = files.serve().await;
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    files.write("callgate.toml", &toml("moved").replace("count.json", "schemas/v1/count.json"));
    std::fs::create_dir_all(files.at("schemas/v1")).unwrap();
    files.write("schemas/v1/count.json", SCHEMA);
    until(async || description(&served).await == "moved").await;
    files.write("schemas/v1/count.json", &SCHEMA.replace("\"integer\"", "\"integer\", \"minimum\": 0"));
    until(async || served.tools().await[0]["outputSchema"].to_string().contains("minimum")).await;
}

#[tokio::test]
async fn a_directory_that_was_replaced_is_watched_again() {
    let files = files();
    let deploy = |description: &str| {
        std::fs::create_dir(files.at("app")).unwrap();
        std::fs::copy(files.at("billing.db"), files.at("app/billing.db")).unwrap();
        files.write("app/count.json", SCHEMA);
        files.write("app/callgate.toml", &toml(description));
    };
    deploy("first");
    let gate = Gate::from_file(files.at("app/callgate.toml")).unwrap_or_else(|report| panic!("{report}"));
    let (server, reloader) = gate.build().unwrap();
    let served = Served::start(&server, None).await;
    let _watching = reloader.watch().unwrap();
    std::fs::rename(files.at("app"), files.at("app.old")).unwrap();
    deploy("deployed anew");
    until(async || description(&served).await == "deployed anew").await;
    files.write("app/callgate.toml", &toml("edited"));
    until(async || description(&served).await == "edited").await;
}
