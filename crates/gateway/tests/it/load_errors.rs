//! Every error of a file that needs its sources, its schemas or other files to be found.

use crate::served::{Files, HEAD};

/// Checks a file with one tool that differs from a good one in the given lines.
fn check(tool: &str) -> String {
    Files::new(&format!("{HEAD}{tool}")).report()
}

#[test]
fn a_good_file_has_no_error() {
    let report = check(include_str!("../files/good_tools.toml"));
    assert_eq!(report, "");
}

#[test]
fn every_error_of_every_tool_is_found_at_once() {
    let files = Files::new(&format!("{HEAD}{}", include_str!("../files/bad_tools.toml")));
    files.write("not_json.json", "{\n  \"type\": \"object\",\n  \"properties\": { \"a\": tru }\n}\n");
    files.write("no_object.json", "{\n  \"type\": \"string\"\n}\n");
    files.write(
        "bad_schema.json",
        "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"reference\": {\n      \"type\": \"strnig\"\n    }\n  }\n}\n",
    );
    insta::assert_snapshot!("bad_tools", files.report());
}

#[test]
fn every_error_of_the_sources_is_found_at_once() {
    let files = Files::new(include_str!("../files/bad_sources.toml"));
    files.write("text.db", &"this is text and no database. ".repeat(50));
    insta::assert_snapshot!("bad_sources", files.report());
}

#[test]
fn a_file_that_is_not_there_or_too_long_or_no_text_says_so() {
    let files = Files::new("");
    std::fs::remove_file(files.at("callgate.toml")).unwrap();
    let missing = files.report();
    assert!(missing.contains("error[unreadable_file]") && missing.contains("callgate init"), "{missing}");
    files.write("callgate.toml", &"#".repeat(2 << 20));
    assert!(files.report().contains("more than 1048576 bytes"));
    std::fs::write(files.at("callgate.toml"), [0xff, 0xfe]).unwrap();
    assert!(files.report().contains("not UTF-8"));
}

mod postgres {
    //! The same on PostgreSQL, where types are known at load.

    use super::*;

    async fn tables(schema: &str) -> String {
        let url = std::env::var("CALLGATE_TEST_POSTGRES").expect(
            "this test needs a PostgreSQL server: run it with `cargo xtask test`, or set CALLGATE_TEST_POSTGRES to \
             the URL of a superuser of a server that may be filled with test data",
        );
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let setup = format!(
            "drop schema if exists {schema} cascade; create schema {schema}; set search_path = {schema};
             create table invoices (id bigint primary key, tenant_id text not null, reference text, amount numeric(30, 4),
                due_on date, paid_at timestamptz, local_time timestamp, ref uuid, extra jsonb, scan bytea);
             insert into invoices values (9007199254740993, 'tenant-a', 'A-1', 12345678901234567890.5000, '2026-11-01',
                '2026-11-30 20:20:21+02', null, '6d7f3c9e-6a06-4b0f-9d1e-0c7c7f0a1b2c', '{{\"n\": 1.50}}', '\\x00ff'),
                (2, 'tenant-b', 'B-1', 1, null, null, null, null, null, null)"
        );
        client.batch_execute(&setup).await.unwrap();
        let mark = if url.contains('?') { '&' } else { '?' };
        format!("{url}{mark}options=-csearch_path%3D{schema}")
    }

    fn head() -> String {
        HEAD.replace("kind = \"sqlite\"\npath = \"billing.db\"", "kind = \"postgres\"\nurl = \"file:url\"")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_error_of_every_tool_is_found_at_once() {
        let url = tables("gateway_bad").await;
        let files = Files::new(&format!("{}{}", head(), include_str!("../files/bad_postgres.toml")));
        files.write("url", &url);
        insta::assert_snapshot!("bad_postgres", files.report());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_good_tool_is_served_with_exact_values() {
        let url = tables("gateway_good").await;
        let files = Files::new(&format!("{}{}", head(), include_str!("../files/good_postgres.toml")));
        files.write("url", &url);
        let served = files.serve().await;
        let answer = served.answer("invoice_list", r#"{"due_before":"2026-12-01"}"#).await;
        let expected = r#""structuredContent":{"rows":[{"id":9007199254740993,"reference":"A-1","amount":"12345678901234567890.5000","exact":12345678901234567890.5000,"due_on":"2026-11-01","paid_at":"2026-11-30T18:20:21Z","ref":"6d7f3c9e-6a06-4b0f-9d1e-0c7c7f0a1b2c","extra":{"n": 1.50},"scan":"AP8="}],"truncated":false}"#;
        assert!(answer.contains(expected), "{answer}");
        let text = served.error("invoice_list", r#"{"due_before":"next friday"}"#).await;
        assert!(text.contains("invalid_arguments") && !text.contains("friday"), "{text}");
    }
}
