//! Tools that are lists of statements, from the file to the rows: one effect for one key, in the caller's tenant only.

use serde_json::{Value, json};

use crate::served::{Files, Served};

const TABLES: &str = "create table ticket (id text primary key, tenant_id text not null, title text not null,
    version integer not null default 1) strict;
    create table log (ticket text not null, who text not null) strict";

const FILE: &str = r#"
[server]
name = "support"

[auth.local]
principal = "dana"
tenant = "tenant-a"

[store]
kind = "sqlite"
path = "store.db"

[policy]
files = ["all.cedar"]

[source.support]
kind = "sqlite"
path = "support.db"
writes = true
tenant_scoped = true

[tool.ticket_create]
description = "Creates a support ticket. It does not change others. Returns its id and version."
effect = "append"
source = "support"
idempotency = { key = "request" }
statements = [
  { sql = "insert into log (ticket, who) select :id, :principal where :tenant is not null" },
  { sql = "insert into ticket (id, tenant_id, title) values (:id, :tenant, :title) returning id, version" },
]

[tool.ticket_create.input]
id = { type = "string", maxLength = 10, description = "The id", required = true }
title = { type = "string", maxLength = 100, description = "What it is about", required = true }

[tool.ticket_create.output]
id = { type = "string", description = "The id", required = true }
version = { type = "integer", description = "The version", required = true }

[tool.ticket_rename]
description = "Renames a support ticket. It does not create any. Returns how many were changed."
effect = "update"
source = "support"
idempotency = { key = "input" }
precondition = "version"
statements = [
  { sql = "update ticket set title = :title, version = version + 1 where id = :id and version = :version and tenant_id = :tenant" },
]

[tool.ticket_rename.input]
id = { type = "string", maxLength = 10, description = "The id", required = true }
title = { type = "string", maxLength = 100, description = "What it is about", required = true }
version = { type = "integer", minimum = 1, maximum = 1000000, description = "The version that was seen", required = true }
"#;

fn files() -> Files {
    let files = Files::new(FILE);
    files.write("all.cedar", "permit(principal, action, resource);\n");
    rusqlite::Connection::open(files.at("support.db")).unwrap().execute_batch(TABLES).unwrap();
    files
}

fn count(files: &Files, what: &str) -> i64 {
    let sql = format!("select count(*) from {what}");
    rusqlite::Connection::open(files.at("support.db")).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
}

async fn call(served: &Served, tool: &str, key: &str, arguments: Value) -> Value {
    let meta = json!({"dev.callgate/idempotencyKey": key});
    let mut answer = served.call_with(tool, arguments, meta, &[]).await;
    assert!(answer.get("result").is_some(), "{answer}");
    answer["result"].take()
}

fn effect(result: &Value) -> &str {
    result["_meta"]["dev.callgate/receipt"]["effect"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_writes_once_even_when_the_ledger_is_lost() {
    let files = files();
    let served = files.serve_with_store().await;
    assert_eq!(files.report(), "");
    let arguments = json!({"id": "t1", "title": "Printer"});
    let first = call(&served, "ticket_create", "k", arguments.clone()).await;
    assert_eq!(
        (effect(&first), &first["structuredContent"]),
        ("committed", &json!({"id": "t1", "version": 1}))
    );
    let second = call(&served, "ticket_create", "k", arguments.clone()).await;
    assert_eq!(second["structuredContent"], first["structuredContent"]);
    let other = call(&served, "ticket_create", "k", json!({"id": "t2", "title": "Printer"})).await;
    assert!(other.to_string().contains("idempotency_conflict"), "{other}");
    assert_eq!((count(&files, "ticket"), count(&files, "log")), (1, 1));
    // A new store knows nothing, and the row beside the data does.
    drop(served);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(files.at(name));
    }
    let served = files.serve_with_store().await;
    let third = call(&served, "ticket_create", "k", arguments).await;
    assert_eq!((effect(&third), &third["structuredContent"]), ("committed", &first["structuredContent"]));
    let other = call(&served, "ticket_create", "k2", json!({"id": "t1", "title": "Again"})).await;
    assert_eq!((effect(&other), &other["isError"]), ("failed", &json!(true)), "{other}");
    assert_eq!((count(&files, "ticket"), count(&files, "log")), (1, 1), "the log rolled back with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_not_the_present_one_changes_nothing_and_says_so() {
    let files = files();
    let served = files.serve_with_store().await;
    call(&served, "ticket_create", "k", json!({"id": "t1", "title": "Printer"})).await;
    let rename = |title: &str, version: i64| json!({"id": "t1", "title": title, "version": version});
    let late = call(&served, "ticket_rename", "", rename("Scanner", 7)).await;
    assert!(late.to_string().contains("precondition_failed"), "{late}");
    assert_eq!(effect(&late), "failed");
    let done = call(&served, "ticket_rename", "", rename("Scanner", 1)).await;
    assert_eq!((effect(&done), &done["structuredContent"]), ("committed", &json!({"changed": 1})));
    // The same call again is the same intention.
    let again = call(&served, "ticket_rename", "", rename("Scanner", 1)).await;
    assert_eq!((effect(&again), count(&files, "ticket where version = 2")), ("committed", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_writes_to_the_rows_of_another_tenant() {
    let files = files();
    let served = files.serve_with_store().await;
    let seed = "insert into ticket values ('theirs', 'tenant-b', 'Printer', 1)";
    rusqlite::Connection::open(files.at("support.db")).unwrap().execute_batch(seed).unwrap();
    let rename = json!({"id": "theirs", "title": "Mine", "version": 1});
    let result = call(&served, "ticket_rename", "", rename).await;
    assert!(result.to_string().contains("precondition_failed"), "{result}");
    assert_eq!(count(&files, "ticket where title = 'Mine'"), 0);
    call(&served, "ticket_create", "k", json!({"id": "t1", "title": "Printer"})).await;
    assert_eq!(count(&files, "ticket where id = 't1' and tenant_id = 'tenant-a'"), 1);
}

#[test]
fn a_source_without_the_table_is_refused_until_it_is_migrated() {
    let files = files();
    callgate_gateway::store::Place::of(&files.at("callgate.toml")).unwrap().migrate().unwrap();
    let report = files.report();
    assert!(report.contains("error[source_not_migrated]") && report.contains("callgate migrate"), "{report}");
    let place = callgate_gateway::store::Place::of(&files.at("callgate.toml")).unwrap();
    assert_eq!(place.plan_sources().unwrap().len(), 1);
    assert_eq!(place.migrate_sources().unwrap(), ["support"]);
    assert!(place.plan_sources().unwrap().is_empty());
    assert_eq!(files.report(), "");
}

#[test]
fn what_statements_may_not_do_or_do_not_say_is_an_error_that_says_why() {
    let files = files();
    files.write("callgate.toml", include_str!("../files/bad_writes.toml"));
    let place = callgate_gateway::store::Place::of(&files.at("callgate.toml")).unwrap();
    place.migrate().unwrap();
    place.migrate_sources().unwrap();
    insta::assert_snapshot!("bad_writes", files.report());
}
