//! Keys in the file: cursors that another instance opens, and rotation while the server runs.

use crate::served::{Files, HEAD, Served};

const KEYS: [(&str, &str); 3] = [
    ("00000001", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e01"),
    ("00000002", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e02"),
    ("00000003", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e03"),
];

const TOOL: &str = r#"
[tool.invoice_list]
description = "Lists the invoices of the company of the caller, one a page, for tests of cursors."
effect = "read"
source = "billing"
sql = "select id from invoices where tenant_id = :tenant order by id"
page = { size = 1, key = ["id"] }

[tool.invoice_list.output]
id = { type = "integer" }
"#;

/// A file whose keys have these ids, in this order.
fn toml(ids: &[usize]) -> String {
    let keys: Vec<_> = ids
        .iter()
        .map(|at| format!("{{ id = \"{0}\", secret = \"file:{0}.key\" }}", KEYS[at - 1].0))
        .collect();
    format!("{HEAD}\n[seal]\nkeys = [{}]\n{TOOL}", keys.join(", "))
}

fn files(ids: &[usize]) -> Files {
    let files = Files::new(&toml(ids));
    for (id, key) in KEYS {
        files.write(&format!("{id}.key"), &format!("{key}\n"));
    }
    files
}

async fn first_page(served: &Served) -> String {
    served.structured("invoice_list", "{}").await["nextCursor"].as_str().unwrap().to_owned()
}

async fn opens(served: &Served, cursor: &str) -> bool {
    let result = served.call("invoice_list", &format!(r#"{{"cursor":"{cursor}"}}"#)).await;
    match result["isError"].as_bool() {
        Some(true) => {
            assert!(result.to_string().contains("invalid_cursor"), "{result}");
            false
        }
        _ => true,
    }
}

#[tokio::test]
async fn instances_with_the_same_keys_open_each_others_cursors_and_others_do_not() {
    let directories = [files(&[1]), files(&[2, 1]), files(&[3])];
    let [one, other, stranger] = &directories;
    let (one, other, stranger) = (one.serve().await, other.serve().await, stranger.serve().await);
    let cursor = first_page(&one).await;
    assert!(opens(&one, &cursor).await && opens(&other, &cursor).await);
    assert!(!opens(&stranger, &cursor).await);
    assert!(!opens(&one, &first_page(&other).await).await, "a key that the first does not have yet");
}

#[tokio::test]
async fn a_reload_rotates_keys_and_what_the_old_ones_sealed_opens_until_they_go() {
    let files = files(&[1]);
    let served = files.serve().await;
    let reloader = served.reloader.as_ref().unwrap();
    let old = first_page(&served).await;
    for (ids, opens_old) in [(&[1, 2][..], true), (&[2, 1], true), (&[2], false), (&[1], true)] {
        files.write("callgate.toml", &toml(ids));
        reloader.reload().unwrap();
        assert_eq!(opens(&served, &old).await, opens_old, "{ids:?}");
    }
    // The contents of a file that is named are part of what is loaded.
    files.write("00000001.key", KEYS[1].1);
    reloader.reload().unwrap();
    assert!(!opens(&served, &old).await);
}

#[test]
fn every_error_of_the_keys_is_found_at_once_and_no_key_is_shown() {
    let nine: Vec<_> = (1..=9).map(|id| format!("{{ id = \"0000000{id}\", secret = \"file:x\" }}")).collect();
    let files = files(&[1]);
    files.write("short.key", "hunter2hunter2");
    files.write("zero.key", &"0".repeat(64));
    let report = |keys: &str| {
        files.write("callgate.toml", &format!("{HEAD}\n[seal]\n{keys}\n{TOOL}"));
        files.report()
    };
    insta::assert_snapshot!(
        "bad_keys",
        report(
            r#"keys = [
  { id = "00000001", secret = "file:00000001.key" },
  { id = "00000001", secret = "file:00000002.key" },
  { id = "00000003", secret = "file:00000001.key" },
  { id = "0x000004", secret = "hunter2-hunter2" },
  { id = "00000005", secret = "file:short.key" },
  { id = "00000006", secret = "file:zero.key" },
  { id = "00000007", secret = "file:missing.key" },
  { ID = "00000008" },
]"#
        )
    );
    assert!(report(&format!("keys = [{}]", nine.join(", "))).contains("more than 8 keys"));
    for (keys, expected) in
        [("keys = []", "is empty"), ("", "lacks the key `keys`"), ("keys = [1]", "a table")]
    {
        assert!(report(keys).contains(expected), "{keys}: {}", report(keys));
    }
}

#[test]
fn a_file_for_several_instances_without_keys_is_warned_about() {
    let toml = format!("{HEAD}\n[audit]\nurl = \"env:AUDIT\"\n{TOOL}");
    let files = Files::new(&toml);
    assert!(files.report().contains("warning[own_seal_key]"), "{}", files.report());
    assert!(!Files::new(&format!("{HEAD}{TOOL}")).report().contains("own_seal_key"));
}
