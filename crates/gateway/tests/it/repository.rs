//! Tools on directories of source code, as a client uses them, and every error of their configuration.

use callgate_core::contract::Contract;
use callgate_core::contract::digest::Digest;
use callgate_core::port::{Answer, Decision, Policy, Question};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use serde_json::{Value, json};

use crate::served::{Files, Served};

const HEAD: &str = r#"
[server]
name = "code"

[auth.local]
principal = "dana"
tenant = "tenant-a"

[source.code]
kind = "repository"
exclude = ["*.pem"]

[source.code.projects]
billing = "billing"
website = "website"
"#;

const TOOLS: &str = r#"
[tool.code_search]
effect = "read"
source = "code"
operation = "search"
max_rows = 2

[tool.code_read]
effect = "read"
source = "code"
operation = "read"
max_rows = 3
"#;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn with(tools: &str) -> Files {
    let files = Files::new(&format!("{HEAD}{tools}"));
    for (path, text) in [
        ("billing/src/main.rs", "fn main() {\n    charge(7);\n}\n\nfn charge(amount: u64) {}\n"),
        ("billing/src/charge.rs", "// charge\n"),
        ("billing/.env", "charge CANARY\n"),
        ("billing/.gitignore", "/target/\n"),
        ("billing/target/out.rs", "charge CANARY\n"),
        ("billing/key.pem", "charge CANARY\n"),
        ("billing/.git/HEAD", "ref: refs/heads/main\n"),
        ("billing/.git/refs/heads/main", COMMIT),
        ("website/index.html", "<a>charge</a>\n"),
        ("secret.txt", "charge CANARY\n"),
    ] {
        std::fs::create_dir_all(files.at(path).parent().unwrap()).unwrap();
        files.write(path, text);
    }
    files
}

#[tokio::test]
async fn the_list_shows_the_contract_of_the_operations() {
    let list =
        with(TOOLS).serve().await.list().await.replace("},", "},\n").replace("{\"type\"", "\n{\"type\"");
    insta::assert_snapshot!("repository_list", list);
}

#[test]
fn tools_that_say_nothing_but_their_operation_have_no_finding() {
    assert_eq!(with(TOOLS).report(), "");
    let narrowed = TOOLS.replace(
        "operation = \"read\"",
        "operation = \"read\"\nprojects = [\"website\"]\nlist_projects = false\ntitle = \"Site\"\nlabels = [\"public\"]",
    );
    assert_eq!(with(&narrowed).report(), "");
}

#[test]
fn every_error_of_a_repository_is_found_at_once() {
    let files = with("");
    files.write("callgate.toml", include_str!("../files/bad_repository.toml"));
    std::fs::create_dir(files.at("other")).unwrap();
    insta::assert_snapshot!("bad_repository", files.report());
}

#[tokio::test]
async fn a_search_gives_places_with_their_source_page_by_page() {
    let files = with(TOOLS);
    let served = files.serve().await;
    let first =
        served.structured("code_search", r#"{"project":"billing","query":"charge","context":1}"#).await;
    let found: Vec<String> = first["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| format!("{}:{}:{}", found["path"].as_str().unwrap(), found["line"], found["column"]))
        .collect();
    assert_eq!(found, ["src/charge.rs:1:4", "src/main.rs:2:5"]);
    assert_eq!(
        (&first["project"], &first["revision"], &first["truncated"], &first["truncatedBy"]),
        (&json!("billing"), &json!(COMMIT), &json!(true), &json!("matches"))
    );
    assert_eq!(first["matches"][1]["before"], json!(["fn main() {"]));
    assert!(first["searchedAt"].as_str().unwrap().ends_with('Z'));
    let cursor = first["nextCursor"].as_str().unwrap();
    let next = json!({"project": "billing", "query": "charge", "context": 1, "cursor": cursor});
    let second = served.structured("code_search", &next.to_string()).await;
    assert_eq!((&second["matches"][0]["line"], &second["truncated"]), (&json!(5), &json!(false)));
    assert!(second.get("nextCursor").is_none() && second["matches"].as_array().unwrap().len() == 1);
    // A cursor goes on with its own question only.
    for other in [
        json!({"project": "website", "query": "charge", "context": 1, "cursor": cursor}),
        json!({"project": "billing", "query": "main", "context": 1, "cursor": cursor}),
        json!({"project": "billing", "query": "charge", "context": 1, "cursor": "x"}),
    ] {
        let text = served.error("code_search", &other.to_string()).await;
        assert!(text.contains("invalid_cursor"), "{text}");
    }
}

#[tokio::test]
async fn every_option_of_a_search_reaches_it() {
    let files = with(&TOOLS.replace("max_rows = 2", "max_rows = 50"));
    let served = files.serve().await;
    for (arguments, count) in [
        (json!({"query": "CHARGE"}), 0),
        (json!({"query": "CHARGE", "case": "insensitive"}), 3),
        (json!({"query": "charge", "case": "smart"}), 3),
        (json!({"query": r"^fn \w+\("}), 0),
        (json!({"query": r"^fn \w+\(", "regex": true}), 2),
        (json!({"query": "charge", "path": "src/main.rs"}), 2),
        (json!({"query": "charge", "path": "!main.rs"}), 1),
        (json!({"query": "charge", "path": "nowhere"}), 0),
        (json!({"query": "charge", "path": "../website"}), 0),
    ] {
        let mut arguments = arguments;
        arguments["project"] = json!("billing");
        let found = served.structured("code_search", &arguments.to_string()).await;
        assert_eq!(found["matches"].as_array().unwrap().len(), count, "{arguments}");
        assert!(!found.to_string().contains("CANARY"));
    }
    for (arguments, part) in [
        (r#"{"project":"billing","query":"(","regex":true}"#, "look-around"),
        (r#"{"project":"billing","query":"a\nb"}"#, "line break"),
        (r#"{"project":"billing","query":"a","path":"[z-a"}"#, "src/**/*.rs"),
        (r#"{"project":"billing","query":""}"#, "/query"),
        (r#"{"project":"billing","query":"a","context":6}"#, "/context"),
        (r#"{"query":"a"}"#, "project"),
        (r#"{"project":"billing","query":"a","root":"/etc"}"#, "/root"),
    ] {
        let text = served.error("code_search", arguments).await;
        assert!(text.contains("invalid_arguments") && text.contains(part), "{arguments}: {text}");
    }
}

#[tokio::test]
async fn a_file_is_read_in_parts_with_the_digest_of_the_whole() {
    let files = with(TOOLS);
    let served = files.serve().await;
    let part = served.structured("code_read", r#"{"project":"billing","path":"src/main.rs"}"#).await;
    let whole = std::fs::read(files.at("billing/src/main.rs")).unwrap();
    let digest = Digest::of_bytes(&whole).to_string();
    assert_eq!(
        (&part["text"], &part["endLine"], &part["totalLines"], &part["truncatedBy"], &part["revision"]),
        (&json!("fn main() {\n    charge(7);\n}\n"), &json!(3), &json!(5), &json!("lines"), &json!(COMMIT))
    );
    assert_eq!((&part["digest"], &part["size"]), (&json!(digest), &json!(whole.len())));
    let rest = served
        .structured("code_read", r#"{"project":"billing","path":"src/main.rs","start_line":4.0}"#)
        .await;
    assert_eq!(
        (&rest["startLine"], &rest["endLine"], &rest["truncated"]),
        (&json!(4), &json!(5), &json!(false))
    );
    for (arguments, part) in [
        (r#""start_line":6"#, "5 lines"),
        (r#""start_line":3,"end_line":2"#, "end_line"),
        (r#""start_line":0"#, "/start_line"),
    ] {
        let arguments = format!(r#"{{"project":"billing","path":"src/main.rs",{arguments}}}"#);
        let text = served.error("code_read", &arguments).await;
        assert!(text.contains("invalid_arguments") && text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn a_file_that_is_missing_a_folder_ignored_hidden_excluded_or_outside_gets_one_answer() {
    let files = with(TOOLS);
    std::os::unix::fs::symlink(files.at("secret.txt"), files.at("billing/link.txt")).unwrap();
    let served = files.serve().await;
    let absolute = files.at("secret.txt").display().to_string();
    let mut answers = Vec::new();
    for path in [
        "missing.rs",
        "src",
        "target/out.rs",
        ".env",
        ".git/HEAD",
        "key.pem",
        "link.txt",
        "../secret.txt",
        "src/../src/main.rs",
        "./src/main.rs",
        "src/main.rs/",
        "billing/src/main.rs",
        "src\\main.rs",
        &absolute,
        "/etc/passwd",
        "src/\u{0}",
    ] {
        let arguments = json!({"project": "billing", "path": path});
        answers.push(served.error("code_read", &arguments.to_string()).await);
    }
    assert!(answers[0].contains("names no file that can be read"), "{}", answers[0]);
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    // What is there and cannot be shown says why.
    std::fs::write(files.at("billing/logo.png"), [0x89, 0, 1]).unwrap();
    let text = served.error("code_read", r#"{"project":"billing","path":"logo.png"}"#).await;
    assert!(text.contains("binary"), "{text}");
}

/// Permits what names a project of the caller, as a policy file would.
#[derive(Debug)]
struct OnlyWebsite;

impl Policy for OnlyWebsite {
    fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
        true
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> Answer<'a, Result<Decision, Refusal>> {
        let permitted = question.arguments.get("project").is_some_and(|project| project.is_str("website"));
        let policies = vec!["only-website".to_owned()];
        Answer::now(Ok(match permitted {
            true => Decision::Permit { policies },
            false => Decision::Deny { policies: Vec::new(), errors: Vec::new() },
        }))
    }
}

#[tokio::test]
async fn a_project_that_policy_does_not_permit_and_one_that_does_not_exist_look_the_same() {
    let hidden = TOOLS.replace("operation =", "list_projects = false\noperation =");
    let files = with(&hidden);
    let (server, _reloader) = files
        .gate()
        .customize(|builder| builder.policy(OnlyWebsite, Digest::of_bytes(b"only website")))
        .build()
        .unwrap();
    let served = Served::start(&server, None).await;
    assert!(!served.list().await.contains("billing"));
    for tool in ["code_search", "code_read"] {
        let answer = |project: &str| {
            let arguments = json!({"project": project, "query": "charge", "path": "index.html"}).to_string();
            let arguments = match tool {
                "code_read" => arguments.replace("\"query\":\"charge\"", "\"start_line\":1"),
                _ => arguments,
            };
            let served = &served;
            async move { served.answer(tool, &arguments).await }
        };
        let permitted = answer("website").await;
        assert!(permitted.contains("charge"), "{permitted}");
        let (denied, unknown) = (answer("billing").await, answer("nothing").await);
        assert_eq!(denied, unknown);
        assert!(denied.contains("forbidden"), "{denied}");
    }
}

#[tokio::test]
async fn a_project_that_the_tool_does_not_have_is_answered_in_the_words_of_the_policy() {
    let tools = TOOLS.replace("operation =", "projects = [\"website\"]\nlist_projects = false\noperation =");
    let served = with(&tools).serve().await;
    for project in ["billing", "nothing"] {
        let arguments = json!({"project": project, "query": "charge"}).to_string();
        let text = served.error("code_search", &arguments).await;
        assert!(
            text.contains("forbidden") && text.contains("the policy of this server does not permit the call"),
            "{text}"
        );
    }
    let text = served.error("code_search", r#"{"project":"web","query":"x"}"#).await;
    assert!(!text.contains("website"), "{text}");
}

#[tokio::test]
async fn a_reload_puts_projects_and_bounds_in_force() {
    let files = with(TOOLS);
    let served = files.serve().await;
    let search = r#"{"project":"website","query":"charge"}"#;
    assert_eq!(served.structured("code_search", search).await["matches"].as_array().unwrap().len(), 1);
    let reloader = served.reloader.as_ref().unwrap();
    files.write("callgate.toml", &format!("{HEAD}{TOOLS}").replace("website = \"website\"\n", ""));
    reloader.reload().unwrap();
    let text = served.error("code_search", search).await;
    assert!(text.contains("/project"), "{text}");
    files.write("callgate.toml", &format!("{HEAD}{TOOLS}").replace("\"website\"\n", "\"gone\"\n"));
    assert!(reloader.reload().unwrap_err().to_string().contains("root_missing"));
    // The old one stays in force.
    let kept: Value = served.structured("code_search", r#"{"project":"billing","query":"main"}"#).await;
    assert_eq!(kept["matches"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_root_that_goes_away_is_an_error_without_its_path() {
    let files = with(TOOLS);
    let served = files.serve().await;
    std::fs::remove_dir_all(files.at("website")).unwrap();
    let text = served.error("code_search", r#"{"project":"website","query":"charge"}"#).await;
    assert!(text.contains("source_unavailable") && !text.contains(files.path().to_str().unwrap()), "{text}");
}

#[tokio::test]
async fn a_search_whose_time_is_over_is_marked_and_has_a_cursor() {
    let tools = TOOLS.replace("max_rows = 2", "max_rows = 50\ntimeout_ms = 2000");
    let files = with(&tools);
    for number in 0..200 {
        files.write(
            &format!("website/f{number}"),
            &"some text that takes a while to look at\n".repeat(20_000),
        );
    }
    let served = files.serve().await;
    let search = r#"{"project":"website","query":"(?:[a-z]+ ){3}(?:[a-z]* ){2,6}[0-9]","regex":true}"#;
    let found = served.structured("code_search", search).await;
    assert_eq!((&found["truncated"], &found["truncatedBy"]), (&json!(true), &json!("time")));
    // A client that leaves takes its search along; four of them would use up every place.
    for _ in 0..6 {
        let left =
            tokio::time::timeout(std::time::Duration::from_millis(30), served.answer("code_search", search));
        assert!(left.await.is_err());
    }
    let found = served.structured("code_search", r#"{"project":"billing","query":"main"}"#).await;
    assert_eq!(found["truncated"], false);
}

#[tokio::test]
async fn a_policy_file_decides_by_project_for_each_request() {
    let head = HEAD.replace("tenant = \"tenant-a\"", "tenant = \"tenant-a\"\ngroups = [\"web\"]");
    let files = with("");
    files.write("callgate.toml", &format!("{head}{TOOLS}[policy]\nfiles = [\"main.cedar\"]\n"));
    let rule = |group: &str, project: &str| {
        format!(
            "permit(principal in Group::\"{group}\", action in [Action::\"call:code_search\", Action::\"call:code_read\"], resource)\n\
             when {{ context.arguments.project == \"{project}\" }};\n"
        )
    };
    let see = "permit(principal, action == Action::\"list\", resource);\n";
    files.write("main.cedar", &format!("{see}{}{}", rule("web", "website"), rule("billing", "billing")));
    let served = files.serve().await;
    assert_eq!(served.tools().await.len(), 2);
    let found = served.structured("code_search", r#"{"project":"website","query":"charge"}"#).await;
    assert_eq!(found["matches"][0]["path"], "index.html");
    for (tool, rest) in [("code_search", r#""query":"charge""#), ("code_read", r#""path":"src/main.rs""#)] {
        let text = served.error(tool, &format!(r#"{{"project":"billing",{rest}}}"#)).await;
        assert!(text.contains("forbidden") && !text.contains("charge("), "{text}");
    }
    files.write("main.cedar", &format!("{see}{}", rule("web", "billing")));
    served.reloader.as_ref().unwrap().reload().unwrap();
    let read = served.structured("code_read", r#"{"project":"billing","path":"src/charge.rs"}"#).await;
    assert_eq!(read["text"], "// charge\n");
    let text = served.error("code_search", r#"{"project":"website","query":"charge"}"#).await;
    assert!(text.contains("forbidden"), "{text}");
}
