//! `cargo xtask arrows`: crates depend on each other only along the arrows of the architecture.
//!
//! It reads `cargo metadata`, so it sees what cargo sees. Development dependencies follow the same arrows, and may
//! also name the test kit. The heavy libraries that a crate promises not to know are checked here as well.

use serde_json::Value;

use crate::failure::Failure;
use crate::tree;

/// Each crate with the crates it may depend on. A crate that is not listed is a mistake until it is.
const ARROWS: &[(&str, &[&str])] = &[
    ("callgate-protocol", &[]),
    ("callgate-core", &["callgate-protocol"]),
    ("callgate-adapters", &["callgate-core", "callgate-protocol"]),
    ("callgate-server", &["callgate-core", "callgate-protocol"]),
    ("callgate-client", &["callgate-protocol"]),
    (
        "callgate-gateway",
        &["callgate-server", "callgate-client", "callgate-adapters", "callgate-core", "callgate-protocol"],
    ),
    (
        "callgate",
        &["callgate-gateway", "callgate-server", "callgate-adapters", "callgate-core", "callgate-protocol"],
    ),
    (TESTKIT, &["callgate-core", "callgate-protocol"]),
    ("xtask", &[]),
];

/// Only ever a development dependency.
const TESTKIT: &str = "callgate-testkit";

/// Libraries that a crate must not depend on, because of what it promises in the architecture.
const STRANGERS: &[(&str, &[&str])] = &[
    ("callgate-protocol", &["tokio", "tokio-util", "hyper", "hyper-util", "rusqlite", "tokio-postgres"]),
    (
        "callgate-core",
        &["hyper", "hyper-util", "rusqlite", "tokio-postgres", "deadpool-postgres", "cedar-policy"],
    ),
    ("callgate-server", &["rusqlite", "tokio-postgres", "deadpool-postgres", "cedar-policy"]),
];

/// Checks every dependency of every crate.
pub(crate) fn check() -> Result<(), Failure> {
    let faults = faults(&tree::metadata()?);
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::new(format!("{} arrows are wrong", faults.len()))) }
}

fn faults(metadata: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let packages = metadata.get("packages").and_then(Value::as_array);
    for package in packages.into_iter().flatten() {
        let name = text(package, "name");
        let Some((_, allowed)) = ARROWS.iter().find(|(listed, _)| *listed == name) else {
            faults.push(format!(
                "{name} is not in the table of arrows in crates/dev/xtask/src/arrows.rs: add it"
            ));
            continue;
        };
        for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            let to = text(dependency, "name");
            let development = text(dependency, "kind") == "dev";
            let ours = ARROWS.iter().any(|(listed, _)| *listed == to);
            let fits = allowed.contains(&to) || (development && to == TESTKIT) || to == name;
            if ours && !fits {
                let kind = if development { " (development)" } else { "" };
                faults.push(format!("{name} -> {to}{kind}: allowed are {}", list(allowed)));
            }
            let strange =
                STRANGERS.iter().any(|(listed, strangers)| *listed == name && strangers.contains(&to));
            if strange && !development {
                faults.push(format!("{name} -> {to}: the architecture keeps this library out of {name}"));
            }
        }
    }
    faults
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::faults;

    fn one(name: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        faults(&json!({"packages": [{"name": name, "dependencies": [{"name": to, "kind": kind}]}]}))
    }

    #[test]
    fn an_arrow_against_the_architecture_is_named() {
        assert!(
            one("callgate-core", "callgate-server", None)[0].starts_with("callgate-core -> callgate-server")
        );
        assert!(one("callgate-core", "callgate-protocol", None).is_empty());
    }

    #[test]
    fn the_test_kit_is_allowed_only_for_development() {
        assert!(one("callgate-server", "callgate-testkit", Some("dev")).is_empty());
        assert_eq!(one("callgate-server", "callgate-testkit", None).len(), 1);
    }

    #[test]
    fn sockets_and_sql_stay_out_of_the_core() {
        assert_eq!(one("callgate-core", "rusqlite", None).len(), 1);
        assert!(one("callgate-core", "serde", None).is_empty());
    }

    #[test]
    fn an_unknown_crate_must_be_entered_in_the_table() {
        assert_eq!(one("callgate-new", "serde", None).len(), 1);
    }
}
