//! Processes that are killed around the commit of a list of statements: the row beside the data tells what became of it.

use super::*;

const TOOL: &str = r#"
[tool.ticket_create]
description = "Creates a support ticket. It does not change others. Returns its id."
effect = "append"
source = "support"
idempotency = { key = "argument", argument = "key" }
statements = [
  { sql = "insert into ticket (id, tenant_id) values (:key, :tenant) returning id" },
]

[tool.ticket_create.input]
key = { type = "string", maxLength = 40, description = "The same in each try", required = true }

[tool.ticket_create.output]
id = { type = "string", description = "The id", required = true }
"#;

fn with_source(project: &Path, source: &str) {
    let file = project.join("callgate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        format!("{text}\n[source.support]\ntenant_scoped = true\nwrites = true\n{source}\n{TOOL}"),
    )
    .unwrap();
    assert_eq!(Place::of(&file).unwrap().migrate_sources().unwrap(), ["support"]);
}

fn create(server: &mut Server, key: &str) -> Told {
    server.send_to("ticket_create", 2, &format!(r#"{{"key":"{key}"}}"#));
    told(&server.answer(PATIENCE).unwrap_or_else(|| panic!("{key}: no answer")))
}

#[expect(clippy::print_stdout, reason = "`cargo xtask crash` shows the counts")]
fn kill(name: &str, project: &Path, runs: u64, count: impl Fn(&str) -> i64) {
    let mut server = Server::start(project);
    create(&mut server, "warm");
    let (mut acknowledged, mut before) = (0, 0);
    for run in 0..runs {
        let key = format!("ticket-{run}");
        server.send_to("ticket_create", 1, &format!(r#"{{"key":"{key}"}}"#));
        let first = server.answer(Duration::from_micros((run * 1700) % 17_000)).map(|answer| told(&answer));
        server.kill();
        before += count(&key);
        server = Server::start(project);
        let again = create(&mut server, &key);
        assert!(matches!(again, Told::Committed { .. }), "{key}: the row tells what became of it: {again:?}");
        if first.is_some() {
            acknowledged += 1;
            assert_eq!(again, Told::Committed { replayed: true }, "{key}: an acknowledged effect was lost");
        }
        assert_eq!(count(&key), 1, "{key}");
    }
    println!(
        "crash statements {name}: {runs} kills, {acknowledged} acknowledged before, {before} committed before, 0 doubled, 0 lost"
    );
}

#[test]
fn statements_of_a_process_that_is_killed_come_through_once_on_sqlite() {
    let project = project("kind = \"sqlite\"\npath = \"store.db\"");
    let path = project.path().join("support.db");
    let tables = "pragma journal_mode = wal; create table ticket (id text, tenant_id text) strict";
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    with_source(project.path(), "kind = \"sqlite\"\npath = \"support.db\"");
    kill("sqlite", project.path(), runs(12), |key| {
        let sql = "select count(*) from ticket where id = ?1";
        rusqlite::Connection::open(&path).unwrap().query_row(sql, [key], |row| row.get(0)).unwrap()
    });
}

#[test]
fn statements_of_a_process_that_is_killed_come_through_once_on_postgres() {
    let project = postgres_project();
    let url = std::fs::read_to_string(project.path().join("url")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("create table ticket (id text, tenant_id text)").await.unwrap();
        client
    });
    with_source(project.path(), "kind = \"postgres\"\nurl = \"file:url\"");
    kill("postgres", project.path(), runs(8), |key| {
        let sql = "select count(*) from ticket where id = $1";
        runtime.block_on(async { client.query_one(sql, &[&key]).await.unwrap().get(0) })
    });
}
