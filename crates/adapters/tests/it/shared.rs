//! What both stores do alike.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::port::{Bind, Cut, Form, NullForm, QueryError, Rows, Statement};
use callgate_protocol::json::{self, Document};
use tokio::time::Instant;

use crate::store::{Kind, Store, number, query, store, text};

const TABLES: &str = "
    create table item (id bigint, tenant text, name text, rank bigint);
    insert into item values (9007199254740993, 'a', 'Zoë Ünal', 1), (2, 'a', null, null),
        (3, 'b', 'it''s; drop table item; --', 2), (4, 'a', '💡 日本', 1), (-9223372036854775808, 'a', '', null);
";

/// A query that never ends by itself, on both stores.
const ENDLESS: &str =
    "with recursive n(i) as (select 1 union all select i + 1 from n where i > 0) select count(*) as c from n";

/// Queries that never end by themselves.
async fn endless(
    store: &Store,
    count: usize,
) -> Vec<impl Future<Output = Result<Rows, QueryError>> + Send + use<>> {
    let statement = store.statement(ENDLESS, &[]).await;
    let one = || {
        let (source, query) = (Arc::clone(&store.source), query(statement.clone(), &[]));
        async move { source.query(query).await }
    };
    std::iter::repeat_with(one).take(count).collect()
}

macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($store:ident: Store) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn test($store: Store) $body

            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                test(store(Kind::Sqlite, TABLES).await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgres() {
                test(store(Kind::Postgres, TABLES).await).await;
            }
        }
    )*};
}

both! {
    async fn parameters_and_columns_are_known_before_a_call(store: Store) {
        let prepared = store.prepared("select id, name as n from item where tenant = :t and name = :q or :t = 'x'").await;
        let names: Vec<_> = prepared.parameters.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["t", "q"]);
        let names: Vec<_> = prepared.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "n"]);
    }

    async fn a_value_never_becomes_part_of_the_statement(store: Store) {
        let sql = "select id from item where name = :q";
        let hostile = [
            "'; drop table item; --", "' or '1'='1", "\\' or 1=1 --", "\" or \"\"=\"", "$1", ":q", "?", "/*", "*/",
            "%", "NULL", "🦀\u{202e}\u{feff}", "a\nb\r\t", "\u{1}",
        ];
        for value in hostile {
            assert_eq!(store.json(sql, &[("q", text(value))]).await, "[]", "{value}");
        }
        let found = store.json(sql, &[("q", text("it's; drop table item; --"))]).await;
        assert_eq!(found, r#"[{"id":3}]"#);
        assert_eq!(store.json("select count(*) as n from item", &[]).await, r#"[{"n":5}]"#);
    }

    async fn a_text_comes_back_as_it_was_sent(store: Store) {
        for value in ["", " ", "'\"\\;--", "日本 💡 é", "\u{7f}\u{80}\u{2028}", "%s {} $1 :x"] {
            let json = store.json("select cast(:q as text) as q", &[("q", text(value))]).await;
            let document = Document::parse(json, &json::Limits::default()).unwrap();
            let back = document.root().items().next().and_then(|row| row.get("q")).and_then(|q| q.as_str()).unwrap();
            assert_eq!(back, value);
        }
    }

    async fn whole_numbers_beyond_two_to_the_53_are_exact_both_ways(store: Store) {
        let sql = "select id from item where id = :id";
        for id in ["9007199254740993", "-9223372036854775808"] {
            assert_eq!(store.json(sql, &[("id", number(id))]).await, format!("[{{\"id\":{id}}}]"));
        }
        assert_eq!(store.json(sql, &[("id", number("9007199254740992"))]).await, "[]");
        // JSON Schema calls these integers, too.
        assert_eq!(store.json(sql, &[("id", number("2.0"))]).await, r#"[{"id":2}]"#);
        assert_eq!(store.json(sql, &[("id", number("0.2e1"))]).await, r#"[{"id":2}]"#);
    }

    async fn a_number_that_no_column_can_hold_is_the_callers_mistake(store: Store) {
        for id in ["9223372036854775808", "99999999999999999999999999"] {
            let error = store.rows("select name from item where id = :id", &[("id", number(id))]).await.unwrap_err();
            assert!(matches!(error, QueryError::Value { .. }), "{error:?}");
            assert!(!error.to_string().contains(id));
        }
        assert_eq!(store.json("select count(*) as n from item", &[]).await, r#"[{"n":5}]"#);
    }

    async fn an_absent_parameter_is_null(store: Store) {
        let sql = "select id from item where tenant = :t and (:q is null or name = :q) order by id";
        let all = store.json(sql, &[("t", text("a"))]).await;
        assert_eq!(all, r#"[{"id":-9223372036854775808},{"id":2},{"id":4},{"id":9007199254740993}]"#);
        let null = store.json(sql, &[("t", text("a")), ("q", Bind::Null)]).await;
        assert_eq!(null, all);
        assert_eq!(store.json(sql, &[("t", text("a")), ("q", text(""))]).await, r#"[{"id":-9223372036854775808}]"#);
    }

    async fn null_is_left_out_shown_or_refused_as_declared(store: Store) {
        let mut statement = store.statement("select id, name from item where id = 2", &[]).await;
        for (null, expected) in
            [(NullForm::Omitted, Some(r#"[{"id":2}]"#)), (NullForm::Null, Some(r#"[{"id":2,"name":null}]"#)), (NullForm::Refused, None)]
        {
            statement.columns[1].null = null;
            let rows = store.source.query(query(statement.clone(), &[])).await;
            assert_eq!(rows.ok().map(|rows| rows.json).as_deref(), expected);
        }
    }

    async fn a_column_that_is_not_declared_never_leaves(store: Store) {
        let mut statement = store.statement("select id, tenant, name from item where id = 4", &[]).await;
        statement.columns.remove(1);
        let rows = store.source.query(query(statement, &[])).await.unwrap();
        assert_eq!(rows.json, r#"[{"id":4,"name":"💡 日本"}]"#);
    }

    async fn a_value_without_its_declared_form_is_refused_without_showing_it(store: Store) {
        let mut statement = store.statement("select id, name from item where id = 4", &[]).await;
        statement.columns[1].form = Form::Integer;
        let error = store.source.query(query(statement, &[])).await.unwrap_err();
        assert_eq!(error.to_string(), "column name does not have its declared form: a whole number");
    }

    async fn bounds_on_rows_and_bytes_mark_what_they_cut(store: Store) {
        let statement = store.statement("select id, name from item order by id", &[]).await;
        let mut two = query(statement.clone(), &[]);
        two.max_rows = 2;
        let rows = store.source.query(two).await.unwrap();
        assert_eq!((rows.count, rows.cut), (2, Cut::Rows));
        let mut five = query(statement.clone(), &[]);
        five.max_rows = 5;
        assert_eq!(store.source.query(five).await.unwrap().cut, Cut::Whole);
        let mut bytes = query(statement.clone(), &[]);
        bytes.max_bytes = 40;
        let rows = store.source.query(bytes).await.unwrap();
        assert_eq!((rows.count, rows.cut), (1, Cut::Bytes));
        assert!(rows.json.len() <= 40);
        let mut one = query(statement, &[]);
        one.max_bytes = 20;
        assert_eq!(store.source.query(one).await.unwrap_err(), QueryError::RowTooLarge);
    }

    async fn a_huge_result_is_cut_without_being_read(store: Store) {
        let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000)
                   select i, 'some text to fill the row' as t from n";
        let mut some = query(store.statement(sql, &[]).await, &[]);
        some.max_rows = 10;
        let rows = store.source.query(some).await.unwrap();
        assert_eq!((rows.count, rows.cut), (10, Cut::Rows));
    }

    async fn a_stream_gives_what_a_query_gives_in_batches(store: Store) {
        let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
                   select i, 'Zoë' as t from n";
        let mut all = query(store.statement(sql, &[]).await, &[]);
        (all.max_rows, all.max_bytes) = (20_000, 10_000_000);
        let whole = store.source.query(all.clone()).await.unwrap();
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let take = async {
            let mut batches = Vec::new();
            while let Some(batch) = receiver.recv().await {
                batches.push(batch);
            }
            batches
        };
        let (rows, mut batches) = tokio::join!(store.source.stream(all.clone(), sender), take);
        let rows = rows.unwrap();
        assert_eq!((rows.count, rows.cut), (20_000, Cut::Whole));
        assert!(batches.len() > 5 && batches.iter().all(|batch| batch.len() < 70_000), "{}", batches.len());
        batches.push(rows.json);
        let joined: Vec<_> = batches.iter().map(|batch| batch.trim_matches(['[', ']'])).collect();
        assert!(format!("[{}]", joined.join(",")) == whole.json);

        // The bounds are those of a query.
        for (rows, bytes, cut) in [(19_999, 10_000_000, Cut::Rows), (20_000, 100_000, Cut::Bytes)] {
            let (sender, mut receiver) = tokio::sync::mpsc::channel(100);
            let mut some = all.clone();
            (some.max_rows, some.max_bytes) = (rows, bytes);
            let rows = store.source.stream(some, sender).await.unwrap();
            let mut size = rows.json.len();
            while let Some(batch) = receiver.recv().await {
                size += batch.len();
            }
            assert_eq!(rows.cut, cut);
            assert!(rows.count <= 19_999 && size <= bytes + 10, "{} {size}", rows.count);
        }
    }

    async fn a_stream_that_nobody_takes_stops_the_statement(store: Store) {
        let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i > 0)
                   select i, 'some text to fill the row' as t from n";
        let statement = store.statement(sql, &[]).await;
        for _ in 0..3 {
            let mut endless = query(statement.clone(), &[]);
            (endless.max_rows, endless.max_bytes) = (1 << 40, 1 << 40);
            let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
            let take = async move {
                receiver.recv().await.unwrap();
                receiver.recv().await.unwrap();
            };
            let (result, ()) = tokio::join!(store.source.stream(endless, sender), take);
            assert_eq!(result.unwrap_err(), QueryError::TimedOut);
        }
        // All connections are there again.
        assert_eq!(store.json("select count(*) as n from item", &[]).await, r#"[{"n":5}]"#);
    }

    async fn pages_give_each_row_once_in_order_with_mixed_directions_and_nulls(store: Store) {
        for key in [
            &[("rank", true), ("id", false)][..],
            &[("rank", false), ("id", true)],
            &[("name", true), ("rank", true), ("id", true)],
            &[("name", false), ("id", false)],
        ] {
            let statement = Arc::new(store.statement("select id from (select id, name, rank from item where tenant = :t) x -- end",
                &[]).await);
            let mut wide = Statement::clone(&statement);
            wide.sql = "select id, name, rank from item where tenant = :t -- end".to_owned();
            wide.key = key.iter().map(|(name, descending)| callgate_core::port::SortKey { column: (*name).to_owned(), descending: *descending }).collect();
            store.source.check(&wide).await.unwrap();
            let wide = Arc::new(wide);
            let mut first = query(Statement::clone(&wide), &[("t", text("a"))]);
            first.max_rows = 100;
            let whole = store.source.query(first.clone()).await.unwrap();
            assert_eq!(whole.count, 4);
            for size in 1..=4 {
                let mut pages = Vec::new();
                let mut after = None;
                loop {
                    let mut page = first.clone();
                    page.max_rows = size;
                    page.after = after;
                    let rows = store.source.query(page).await.unwrap();
                    pages.push(rows.json.trim_start_matches('[').trim_end_matches(']').to_owned());
                    assert_eq!(rows.last.is_some(), rows.cut == Cut::Rows);
                    after = rows.last;
                    if after.is_none() {
                        break;
                    }
                    assert!(pages.len() < 10, "{key:?} {size}");
                }
                assert_eq!(format!("[{}]", pages.join(",")), whole.json, "{key:?} {size}");
            }
        }
    }

    async fn a_page_key_that_is_not_unique_is_refused_instead_of_losing_rows(store: Store) {
        let statement = store.statement("select id, rank from item where rank = 1", &[("rank", false)]).await;
        let mut one = query(statement, &[]);
        one.max_rows = 1;
        assert_eq!(store.source.query(one).await.unwrap_err(), QueryError::KeyNotUnique);
    }

    async fn a_statement_that_writes_is_refused_with_its_place(store: Store) {
        for (sql, at) in [
            ("insert into item (id) values (1)", "insert"),
            ("update item set name = 'x'", "update"),
            ("delete from item", "delete"),
            ("drop table item", "drop"),
            ("create table x (a int)", "create"),
        ] {
            let fault = store.fault(sql).await;
            assert_eq!(fault.code, "sql_writes", "{sql}: {fault:?}");
            assert_eq!(fault.at.map(|at| &sql[at]), Some(at), "{sql}");
        }
        assert_eq!(store.json("select count(*) as n from item", &[]).await, r#"[{"n":5}]"#);
    }

    async fn a_second_statement_and_an_unknown_column_are_refused_with_their_place(store: Store) {
        let sql = "select id from item; delete from item";
        let fault = store.fault(sql).await;
        assert_eq!((fault.code, fault.at.map(|at| &sql[at])), ("sql_statements", Some("; delete")));
        let sql = "select id, 'é :x' as e,\n  nmae from item where tenant = :t";
        let fault = store.fault(sql).await;
        assert_eq!((fault.code, fault.at.map(|at| &sql[at])), ("sql_syntax", Some("nmae")), "{}", fault.message);
    }

    async fn a_query_past_its_deadline_is_stopped(store: Store) {
        let mut endless = query(store.statement(ENDLESS, &[]).await, &[]);
        endless.deadline = Instant::now() + Duration::from_millis(200);
        let begun = Instant::now();
        assert_eq!(store.source.query(endless).await.unwrap_err(), QueryError::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    async fn a_caller_who_leaves_frees_the_connection(store: Store) {
        // Twice as many endless queries as connections: if one stayed behind, the last query would wait.
        for _ in 0..4 {
            let endless = query(store.statement(ENDLESS, &[]).await, &[]);
            let source = Arc::clone(&store.source);
            let left = tokio::time::timeout(Duration::from_millis(100), source.query(endless)).await;
            assert!(left.is_err());
        }
        let mut last = query(store.statement("select count(*) as n from item", &[]).await, &[]);
        last.deadline = Instant::now() + Duration::from_secs(5);
        assert_eq!(store.source.query(last).await.unwrap().json, r#"[{"n":5}]"#);
    }

    async fn a_call_that_gets_no_connection_is_told_that_all_are_in_use(store: Store) {
        let slow: Vec<_> = endless(&store, 2).await;
        let quick = store.statement("select count(*) as n from item", &[]).await;
        let _slow: Vec<_> = slow.into_iter().map(tokio::spawn).collect();
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            assert!(Instant::now() < limit, "the connections never ran out");
            let mut query = query(quick.clone(), &[]);
            query.deadline = Instant::now() + Duration::from_millis(300);
            match store.source.query(query).await {
                Err(QueryError::Busy) => break,
                // The slow calls have not begun yet.
                Ok(_) | Err(QueryError::TimedOut) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn many_calls_at_once_share_few_connections(store: Store) {
        let sql = "select id from item where id = :id";
        let statement = store.statement(sql, &[]).await;
        let calls = (0..64).map(|call| {
            let source = Arc::clone(&store.source);
            let query = query(statement.clone(), &[("id", number(if call % 2 == 0 { "2" } else { "3" }))]);
            tokio::spawn(async move { (call, source.query(query).await.unwrap().json) })
        });
        for call in calls.collect::<Vec<_>>() {
            let (call, json) = call.await.unwrap();
            assert_eq!(json, if call % 2 == 0 { r#"[{"id":2}]"# } else { r#"[{"id":3}]"# });
        }
    }

    async fn a_json_array_is_one_parameter(store: Store) {
        let sql = match store.kind {
            Kind::Sqlite => "select id from item where id in (select value from json_each(:ids)) order by id",
            Kind::Postgres => "select id from item where id = any(cast(:ids as bigint[])) order by id",
        };
        let ids = Bind::Json("[2, 9007199254740993, 77]".to_owned());
        assert_eq!(store.json(sql, &[("ids", ids)]).await, r#"[{"id":2},{"id":9007199254740993}]"#);
    }
}
