//! Finding records again, also among a million.

use std::time::Instant;

use super::{Body, Column, Filter, Options, Reader, SqliteReader, SqliteStore, Store as _, Value, options};

/// Records of many principals and tools, one in a thousand denied.
fn body(number: i64) -> Body {
    let mut body = Body::new("call", 1_700_000_000_000_000 + number * 50_000);
    let word = |text: String| Value::Text(text);
    body.set(Column::Tool, word(format!("tool_{}", number % 40)));
    body.set(Column::Principal, word(format!("person-{}@example.com", number % 5000)));
    body.set(Column::Tenant, word(format!("tenant-{}", number % 50)));
    let denied = number % 1000 == 7;
    body.set(Column::Decision, Value::Word(if denied { "deny" } else { "permit" }));
    body.set(Column::Result, Value::Word(if denied { "refused" } else { "complete" }));
    body.set(Column::Code, if denied { Value::Word("forbidden") } else { Value::Null });
    body.set(Column::Detail, if denied { word("denied by: no-eu-data".to_owned()) } else { Value::Null });
    body
}

fn fill(path: &std::path::Path, count: i64, options: &Options) {
    let mut store = SqliteStore::new(path);
    for start in (0..count).step_by(20_000) {
        let bodies: Vec<Body> = (start..count.min(start + 20_000)).map(body).collect();
        store.append(&bodies.iter().collect::<Vec<_>>(), options).unwrap();
    }
}

fn filters() -> Vec<(&'static str, Filter, usize)> {
    let of = |change: &dyn Fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        filter
    };
    let text = |text: &str| Some(text.to_owned());
    vec![
        ("everything", Filter::default(), 50),
        (
            "time",
            of(&|f| (f.since_us, f.until_us) = (Some(1_700_000_000_000_000), Some(1_700_000_001_000_000))),
            20,
        ),
        ("principal", of(&|f| f.principal = text("person-3@example.com")), 50),
        ("tenant and decision", of(&|f| (f.tenant, f.decision) = (text("tenant-7"), text("deny"))), 50),
        ("tool", of(&|f| f.tool = text("tool_3")), 50),
        ("decision", of(&|f| f.decision = text("deny")), 50),
        ("outcome", of(&|f| f.outcome = text("refused")), 50),
        ("code", of(&|f| f.code = text("forbidden")), 50),
        ("nobody", of(&|f| f.principal = text("nobody")), 0),
        (
            "all at once",
            of(&|f| {
                (f.principal, f.tool, f.decision) =
                    (text("person-8@example.com"), text("tool_8"), text("permit"));
            }),
            50,
        ),
    ]
}

#[test]
fn every_filter_finds_what_is_meant_the_newest_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    fill(&path, 60_000, &options());
    let mut reader = SqliteReader::open(&path).unwrap();
    let everything = reader.after(0, &Filter::default(), 100_000).unwrap();
    for (name, filter, _) in filters() {
        let matches = |row: &&callgate_adapters::audit::Row| {
            let is = |column, wanted: &Option<String>| {
                wanted.as_deref().is_none_or(|wanted| row.body.text(column) == Some(wanted))
            };
            let time = row.body.get(Column::Time).integer().unwrap();
            is(Column::Principal, &filter.principal)
                && is(Column::Tenant, &filter.tenant)
                && is(Column::Tool, &filter.tool)
                && is(Column::Decision, &filter.decision)
                && is(Column::Result, &filter.outcome)
                && is(Column::Code, &filter.code)
                && filter.since_us.is_none_or(|since| time >= since)
                && filter.until_us.is_none_or(|until| time < until)
        };
        let expected: Vec<i64> =
            everything.iter().rev().filter(matches).take(50).map(|row| row.seq).collect();
        let found: Vec<i64> = reader.newest(&filter, 50).unwrap().iter().map(|row| row.seq).collect();
        assert_eq!(found, expected, "{name}");
    }
    let mut text = Filter::default();
    text.text = Some("NO-EU-DATA".to_owned());
    assert_eq!(reader.newest(&text, 5).unwrap().len(), 5);
    text.text = Some("no_eu_data".to_owned());
    assert_eq!(reader.newest(&text, 5).unwrap().len(), 0, "a wildcard in the text is a character");
}

#[test]
fn a_million_records_are_searched_in_well_under_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    fill(&path, 1, &options());
    // Written by SQL, because a search looks at no hash and hashing takes longer than everything else here.
    let copies = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 999999)
        insert into callgate_audit (seq, kind, time_us, call, server, server_version, transport, principal, tenant,
            tool, contract, input, decision, policies, policy, approved, result, code, detail, effect, latency_us, previous, hash)
        select i + 1, 'call', 1700000000000000 + i * 50000, printf('0199f2a0-%012d', i), 'billing', '1.0.0', 'remote',
            'person-' || (i % 5000) || '@example.com', 'tenant-' || (i % 50), 'tool_' || (i % 40), zeroblob(32), zeroblob(32),
            iif(i % 1000 = 7, 'deny', 'permit'), '[\"figures\"]', zeroblob(32), 0, iif(i % 1000 = 7, 'refused', 'complete'),
            iif(i % 1000 = 7, 'forbidden', null), iif(i % 1000 = 7, 'denied by: no-eu-data', null), 'none', 250, zeroblob(32), zeroblob(32)
        from n";
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(&format!("pragma synchronous = off; {copies}")).unwrap();
    drop(connection);
    let mut reader = SqliteReader::open(&path).unwrap();
    assert_eq!(reader.after(999_999, &Filter::default(), 2).unwrap().len(), 1);
    for (name, filter, count) in filters() {
        let start = Instant::now();
        let found = reader.newest(&filter, 50).unwrap();
        let elapsed = start.elapsed();
        println!("{name}: {} records in {:.1} ms", found.len(), elapsed.as_secs_f64() * 1000.0);
        assert_eq!(found.len(), count, "{name}");
        assert!(elapsed.as_millis() < 900, "{name} took {elapsed:?}");
    }
}
