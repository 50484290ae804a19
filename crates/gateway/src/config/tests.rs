//! Reading a configuration: what is accepted, and every error with its caret.

use std::fmt::Write as _;

use super::*;

const SKETCH: &str = include_str!("../../tests/files/sketch.toml");

fn read(text: &str) -> (Config, Report) {
    let (config, findings) = parse("callgate.toml", text, &Limits::default());
    (config, Report::new(findings))
}

fn query(tool: &Tool) -> &Query {
    let Work::Query(query) = &tool.work else { panic!("the tool is a query") };
    query
}

#[test]
fn the_sketch_of_the_design_is_read_without_a_finding() {
    let (config, report) = read(SKETCH);
    assert_eq!(report.to_string(), "");
    assert_eq!(config.tool.len(), 1);
    let tool = &config.tool[0];
    let Some(Shape::Inline(input)) = &query(tool).input else { panic!("input is inline") };
    assert_eq!(
        input.text,
        r#"{"type":"object","properties":{"status":{"type":"string","enum":["open","overdue"],"description":"Which invoices"}},"required":["status"],"additionalProperties":false}"#
    );
}

#[test]
fn a_place_inside_a_multi_line_string_is_exact() {
    let (config, _) = read(SKETCH);
    let sql = query(&config.tool[0]).sql.as_ref().unwrap();
    let at = sql.find(":tenant").unwrap();
    let place = sql.place_within(at..at + 7);
    assert_eq!(&SKETCH[place.span()], ":tenant");
}

#[test]
fn a_schema_keeps_every_digit() {
    let (config, report) = read(
        "[tool.a.input]\nid = { type = \"integer\", maximum = 9007199254740993, minimum = 0x10, multipleOf = 1.50 }\n",
    );
    let Some(Shape::Inline(input)) = &query(&config.tool[0]).input else { panic!("input is inline") };
    assert!(
        input.text.contains("\"maximum\":9007199254740993,\"minimum\":16,\"multipleOf\":1.50"),
        "{report}"
    );
}

#[test]
fn a_table_with_a_type_is_a_whole_schema() {
    let (config, _) = read(
        "[tool.a.input]\ntype = \"object\"\nrequired = [\"a\"]\n[tool.a.input.properties.a]\ntype = \"string\"\n",
    );
    let Some(Shape::Inline(input)) = &query(&config.tool[0]).input else { panic!("input is inline") };
    assert_eq!(input.properties.len(), 1);
    assert!(input.properties[0].required);
    assert!(input.text.starts_with("{\"type\":\"object\""));
}

#[test]
fn all_errors_are_reported_at_once_with_caret_and_remedy() {
    let (_, report) = read(include_str!("../../tests/files/broken.toml"));
    insta::assert_snapshot!("broken", report.to_string());
}

#[test]
fn syntax_errors_have_a_place_and_do_not_hide_other_errors() {
    let (_, report) = read("[server]\nname = billing\nversoin = \"1\"\n[tool.a\n");
    insta::assert_snapshot!("syntax", report.to_string());
}

#[test]
fn an_empty_file_says_what_to_write_first() {
    let (_, report) = read("");
    insta::assert_snapshot!("empty", report.to_string());
}

#[test]
fn a_file_with_too_many_tools_is_refused_at_the_first_one_too_many() {
    let limits = Limits { tools: 2, ..Limits::default() };
    let mut text = String::from("[server]\nname = \"a\"\n");
    for index in 0..3 {
        let _ = writeln!(
            text,
            "[tool.t{index}]\ndescription = \"d\"\neffect = \"read\"\nsource = \"s\"\nsql = \"select 1\"\noutput.a.type = \"string\""
        );
    }
    let (config, findings) = parse("callgate.toml", &text, &limits);
    assert_eq!(config.tool.len(), 2);
    assert_eq!(findings.len(), 1, "{}", Report::new(findings.clone()));
    assert_eq!(findings[0].code, "too_many");
    assert_eq!(findings[0].place.as_ref().unwrap().source_line(), "[tool.t2]");
    let limits = Limits { tools: 3, ..Limits::default() };
    assert!(parse("callgate.toml", &text, &limits).1.is_empty());
}

#[test]
fn a_password_is_never_shown() {
    let (_, report) = read(
        "[server]\nname = \"a\"\n[source.s]\nkind = \"postgres\"\nurl = \"postgres://u:hunter2@h/db\"\n",
    );
    let finding = &report.findings()[0];
    assert_eq!(finding.code, "secret_in_file", "{report}");
    assert_eq!(finding.place.as_ref().unwrap().line(), 5);
    assert!(!format!("{report} {report:?}").contains("hunter2"));
}

#[test]
fn the_committed_schema_of_the_file_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/callgate.schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == json_schema(), "docs/callgate.schema.json is stale: run `cargo xtask generate`");
}

#[test]
fn the_schema_of_the_file_names_exactly_the_keys_that_the_reader_takes() {
    // Every key of the generated schema, given a value of a type that no key takes, must be reported as
    // having the wrong type; a key that the reader does not take would be reported as unknown.
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    for (header, definitions, before) in [
        ("[server]", &["ServerTable"][..], ""),
        ("[http]", &["HttpTable"][..], ""),
        ("[auth.local]", &["LocalPrincipal"][..], ""),
        ("[limits]", &["LimitsTable"][..], ""),
        ("[limits.principal]", &["AllowanceTable"][..], ""),
        ("[limits.tenant]", &["AllowanceTable"][..], ""),
        ("[limits.address]", &["AddressTable"][..], ""),
        ("[tool.t.limits]", &["ToolLimitsTable"][..], ""),
        ("[tool.t.limits.principal]", &["AllowanceTable"][..], ""),
        ("[source.s]", &["SqliteSource"][..], "kind = \"sqlite\"\n"),
        ("[source.s]", &["PostgresSource"][..], "kind = \"postgres\"\n"),
        ("[source.s]", &["RepositorySource"][..], "kind = \"repository\"\n"),
        ("[tool.t]", &["Tool", "Query"], ""),
        ("[source.s]", &["HttpSource"][..], "kind = \"http\"\n"),
        ("[tool.t]", &["Tool", "Request"], "request = {}\n"),
        ("[tool.t]\nrequest = {}\n[tool.t.response]", &["ResponseTable"][..], ""),
        ("[tool.t]", &["Tool", "Operation"], "operation = \"search\"\n"),
        ("[tool.t]\nrequest = {}\n[tool.t.reconcile]", &["ReconcileTable"][..], ""),
        ("[tool.t]", &["Tool", "Write"], "statements = []\n"),
        ("[tool.t.idempotency]", &["IdempotencyTable"][..], ""),
        ("[tool.t.page]", &["Page"][..], ""),
    ] {
        let properties = |name: &&str| match &schema["$defs"][*name] {
            serde_json::Value::Null => schema["properties"]["server"]["properties"].as_object().unwrap(),
            definition => definition["properties"].as_object().unwrap(),
        };
        let mut keys: Vec<&str> =
            definitions.iter().map(properties).flat_map(|keys| keys.keys()).map(String::as_str).collect();
        // The keys that make a tool another kind of tool are not among those of its own.
        if definitions.contains(&"Query") {
            keys.extend(["operation", "request", "statements"]);
        } else if definitions.contains(&"Write") {
            keys.extend(["operation", "request"]);
        } else if definitions.contains(&"Request") {
            keys.push("operation");
        }
        for key in keys.iter().filter(|key| !before.contains(**key)) {
            let (_, report) = read(&format!("{header}\n{before}{key} = 1.5\n"));
            let wrong = report.findings().iter().any(|finding| finding.code == "wrong_type");
            assert!(wrong, "{header} {key}: {report}");
        }
        let (_, report) = read(&format!("{header}\n{before}zzzzzzzz = 1.5\n"));
        let unknown = report.findings().iter().find(|finding| finding.code == "unknown_key").unwrap();
        for key in &keys {
            assert!(unknown.remedy.contains(&format!("`{key}`")), "{header} {key}");
        }
        assert_eq!(unknown.remedy.matches('`').count() / 2, keys.len(), "{header}: {}", unknown.remedy);
    }
}

#[test]
fn a_name_that_is_given_twice_is_an_error_at_the_second_place() {
    let tool = "[tool.a]\ndescription = \"d\"\neffect = \"read\"\nsource = \"s\"\nsql = \"select 1\"\noutput.b.type = \"string\"\n";
    let (_, report) = read(&format!("[server]\nname = \"x\"\n{tool}{tool}"));
    let finding = report.findings().iter().find(|finding| finding.code == "bad_toml").unwrap();
    assert_eq!(finding.place.as_ref().unwrap().line(), 9, "{report}");
    let (_, report) = read("[server]\nname = \"x\"\nname = \"y\"\n");
    assert_eq!(report.findings()[0].place.as_ref().unwrap().line(), 3, "{report}");
}

#[test]
fn a_finding_is_a_diagnostic_with_code_help_source_and_label() {
    use miette::Diagnostic as _;

    let (_, report) = read("[server]\nnmae = \"x\"\n");
    let finding = report.findings().iter().find(|finding| finding.code == "unknown_key").unwrap();
    assert_eq!(finding.code().unwrap().to_string(), "unknown_key");
    assert!(finding.help().unwrap().to_string().contains("`name`"));
    let label = finding.labels().unwrap().next().unwrap();
    let contents = finding.source_code().unwrap().read_span(label.inner(), 0, 0).unwrap();
    assert_eq!(contents.name(), Some("callgate.toml"));
    assert_eq!((contents.line(), contents.data()), (1, &b"nmae"[..]));
}

#[test]
fn who_writes_an_unknown_effect_is_offered_all_of_them() {
    let (_, report) = read("[tool.a]\neffect = \"write\"\n");
    let finding = report.findings().iter().find(|finding| finding.code == "unknown_value").unwrap();
    for word in ["external_read", "preview", "append", "update", "destructive"] {
        assert!(finding.remedy.contains(word), "{}", finding.remedy);
    }
}
