//! Rates of the file: what a caller is told, and what survives a reload.

use crate::served::{Files, HEAD};

fn file(limits: &str) -> String {
    format!(
        r#"{HEAD}
[tool.invoice_count]
description = "Counts the invoices of the caller's company. Use it for an overview. Not for single invoices."
effect = "read"
source = "billing"
sql = "select count(*) as n from invoices where tenant_id = :tenant"
output = {{ n = {{ type = "integer" }} }}

{limits}
"#
    )
}

#[tokio::test]
async fn a_rate_of_the_file_is_enforced_survives_a_reload_and_changes_with_one() {
    for table in ["[limits.principal]", "[limits.tenant]", "[tool.invoice_count.limits]"] {
        let limit = |burst| file(&format!("{table}\ncalls_per_minute = 1\nburst = {burst}"));
        let files = Files::new(&limit(2));
        let served = files.serve().await;
        for _ in 0..2 {
            served.structured("invoice_count", "{}").await;
        }
        let refused = served.call("invoice_count", "{}").await;
        let refusal = &refused["_meta"]["dev.callgate/refusal"];
        assert_eq!(refusal["code"], "rate_limited", "{table}: {refused}");
        let wait = refusal["retryAfterMs"].as_u64().unwrap();
        assert!((1..=60_000).contains(&wait), "{table}: {wait}");

        files.replace("callgate.toml", &format!("# saved again\n{}", limit(2)));
        served.reloader.as_ref().unwrap().reload().unwrap();
        assert!(served.error("invoice_count", "{}").await.starts_with("rate_limited"), "{table}");
        files.replace("callgate.toml", &limit(3));
        served.reloader.as_ref().unwrap().reload().unwrap();
        served.structured("invoice_count", "{}").await;
        assert!(served.error("invoice_count", "{}").await.starts_with("rate_limited"), "{table}");
    }
}

#[test]
fn limits_that_say_nothing_or_contradict_each_other_are_load_errors() {
    for (limits, line, expected) in [
        ("[limits.principal]\nburst = 5", "burst = 5", "burst_without_rate"),
        ("[limits.address]\nburst = 5", "burst = 5", "burst_without_rate"),
        ("[limits.tenant]\ncalls_per_minute = 0", "calls_per_minute = 0", "out_of_range"),
        (
            "[limits.tenant]\ncalls_per_minuet = 60",
            "calls_per_minuet = 60",
            "did you mean `calls_per_minute`?",
        ),
        ("[limits]\ncalls_in_flight = 8\nprincipal = { concurrency = 9 }", "concurrency = 9", "out_of_range"),
        ("[tool.invoice_count.limits]\nconcurrency = 2000", "concurrency = 2000", "out_of_range"),
        (
            "[tool.invoice_count.limits]\ncalls_per_minute = 6\nprincipal = { calls_per_minute = 7 }",
            "calls_per_minute = 7",
            "all callers of the tool together",
        ),
        ("[limits.address]\nuncounted = [\"10.0.0.0/8\"]", "uncounted", "invalid_address"),
        (
            "[limits.address]\nrequests_per_minute = 600\n[http]\ntls = \"proxy\"",
            "requests_per_minute = 600",
            "address_of_proxy",
        ),
        ("[limits.address]\nconcurrency = 4", "concurrency = 4", "unknown_key"),
    ] {
        let report = Files::new(&file(limits)).report();
        assert!(report.contains(expected) && report.contains(line), "{limits}: {report}");
    }
    let good = "[limits]\ncalls_in_flight = 64\n[limits.principal]\ncalls_per_minute = 60\nconcurrency = 64\n\
                [limits.tenant]\ncalls_per_minute = 600\nburst = 100\n[limits.address]\nrequests_per_minute = 600\n\
                uncounted = [\"10.0.0.7\", \"2001:db8::7\"]\n[tool.invoice_count.limits]\ncalls_per_minute = 30\n\
                concurrency = 4\nprincipal = { calls_per_minute = 10, concurrency = 1 }";
    assert_eq!(Files::new(&file(good)).report(), "");
}
