//! Policies over real HTTP: who sees what, who may call what, and what a refused caller can find out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use callgate_core::contract::Contract;
use callgate_core::port::{Answer, Audit, Authenticate, Authorization, Credentials, Record};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_server::{Context, Effect, NoInput, Tool, ToolError};
use serde_json::{Value, json};

use crate::served::{Files, HEAD, Served};

/// Two tools of the file: one that staff may use, and one that nobody but the auditors may see.
const TOOLS: &str = r#"
[policy]
files = ["policies/*.cedar"]

[tool.invoice_list]
description = "List the invoices of one status."
effect = "read"
source = "billing"
sql = "select reference from invoices where tenant_id = :tenant and status = :status order by reference"
input = { status = { type = "string", required = true } }
output = { reference = { type = "string" } }
labels = ["finance"]

[tool.ledger_dump]
description = "List all references."
effect = "read"
source = "billing"
sql = "select reference from invoices where tenant_id = :tenant order by reference"
output = { reference = { type = "string" } }
labels = ["audit"]
"#;

const POLICIES: &str = r#"
@id("staff")
permit(principal in Group::"staff", action, resource) unless { resource.labels.contains("audit") };

@id("auditors")
permit(principal in Group::"auditors", action, resource);

@id("no-drafts")
forbid(principal, action == Action::"call:invoice_list", resource)
when { context.arguments.status == "draft" };
"#;

/// Takes the token for the name of the caller and its groups: `dana staff`.
struct Tokens;

impl Authenticate for Tokens {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        Answer::now(match credentials.authorization {
            Authorization::One(value) => {
                let mut words = value.strip_prefix("Bearer ").unwrap_or(value).split('.');
                let principal = Principal::new(words.next().unwrap_or_default()).with_tenant("tenant-a");
                Ok(Arc::new(principal.with_groups(words)))
            }
            _ => Err(Refusal::new(Code::Unauthenticated, "no credential was sent")),
        })
    }
}

/// The code and the detail of a record, and who decided.
type Entry = (String, String, Vec<String>);

/// Keeps something of each record.
#[derive(Clone, Default)]
struct Trail(Arc<Mutex<Vec<Entry>>>);

impl Audit for Trail {
    fn ready(&self, _contract: &Contract) -> Result<(), Refusal> {
        Ok(())
    }

    fn record<'a>(&'a self, record: &Record<'_>) -> Answer<'a, Result<(), Refusal>> {
        let code = record.code.map_or("answered", Code::as_str).to_owned();
        let policies = record.decision.map(|decision| decision.policies().to_vec()).unwrap_or_default();
        self.0.lock().unwrap().push((code, record.detail.unwrap_or_default().to_owned(), policies));
        Answer::now(Ok(()))
    }
}

impl Trail {
    fn last(&self) -> Entry {
        self.0.lock().unwrap().last().cloned().unwrap()
    }
}

fn files() -> Files {
    let files = Files::new(&format!("{HEAD}{TOOLS}"));
    std::fs::create_dir(files.at("policies")).unwrap();
    files.write("policies/main.cedar", POLICIES);
    files
}

async fn serve(files: &Files, trail: &Trail) -> Served {
    let trail = trail.clone();
    let gate = files.gate().customize(move |builder| builder.authenticate(Tokens).audit(trail.clone()));
    let (server, reloader) = gate.build().unwrap();
    Served::start(&server, Some(reloader)).await
}

async fn names(served: &Served, token: &str) -> Vec<String> {
    let list = served.list_as(token).await;
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Case 13: what is hidden from the list cannot be called, and what can be called is listed.
#[tokio::test]
async fn list_and_call_are_decided_by_the_same_policies() {
    let (files, trail) = (files(), Trail::default());
    let served = serve(&files, &trail).await;
    assert_eq!(names(&served, "dana.staff").await, ["invoice_list"]);
    assert_eq!(names(&served, "eve.auditors").await, ["invoice_list", "ledger_dump"]);
    assert!(names(&served, "mallory").await.is_empty());

    let answer = served.call_as("dana.staff", "invoice_list", json!({"status": "open"})).await;
    assert_eq!(answer.body["result"]["structuredContent"]["rows"][0]["reference"], "A-1");
    assert_eq!(trail.last(), ("answered".into(), String::new(), vec!["staff".into()]));
    let answer = served.call_as("eve.auditors", "ledger_dump", json!({})).await;
    assert_eq!(answer.body["result"]["structuredContent"]["rows"].as_array().unwrap().len(), 4);
}

/// How often the backend of [`danger`] was reached.
static DANGERS: AtomicUsize = AtomicUsize::new(0);

async fn danger(_: Context<'_>, _: NoInput) -> Result<String, ToolError> {
    DANGERS.fetch_add(1, Ordering::SeqCst);
    Ok("boom".to_owned())
}

/// Case 13: no spelling of a hidden tool reaches its backend, not with the name of its server or source in front.
#[tokio::test]
async fn a_hidden_tool_never_runs_under_any_spelling() {
    let (files, trail) = (files(), Trail::default());
    let hides = "@id(\"hides\") forbid(principal, action == Action::\"list\", resource == Tool::\"danger\")
        unless { principal in Group::\"auditors\" };";
    files.write("policies/danger.cedar", hides);
    let kept = trail.clone();
    let gate = files.gate().tool(Tool::new("danger", Effect::Read, danger).description("Counts its runs."));
    let gate = gate.customize(move |builder| builder.authenticate(Tokens).audit(kept.clone()));
    let (server, _reloader) = gate.build().unwrap();
    let served = Served::start(&server, None).await;
    assert_eq!(names(&served, "dana.staff").await, ["invoice_list"]);
    let unknown = served.call_as("dana.staff", "no_such_tool", json!({})).await;
    assert_eq!(unknown.body["error"]["code"], -32602);
    for spelling in
        ["danger", "billing_danger", "billing.danger", "billing__danger", "mcp__billing__danger", "DANGER"]
    {
        assert_eq!(served.call_as("dana.staff", spelling, json!({})).await, unknown, "{spelling}");
    }
    assert_eq!(DANGERS.load(Ordering::SeqCst), 0);
    let shown = served.call_as("eve.auditors", "danger", json!({})).await;
    assert_eq!(
        shown.body["result"]["structuredContent"]
            .as_str()
            .or(shown.body["result"]["content"][0]["text"].as_str()),
        Some("boom"),
        "{shown:?}"
    );
    assert_eq!(DANGERS.load(Ordering::SeqCst), 1, "what runs is counted");
}

/// "must hold" 4: from outside nothing tells a hidden tool from one that does not exist.
#[tokio::test]
async fn hidden_unknown_and_misspelled_tools_are_one_answer_and_three_reasons() {
    let (files, trail) = (files(), Trail::default());
    let served = serve(&files, &trail).await;
    let mut answers = Vec::new();
    for (name, detail) in [
        ("ledger_dump", "the policy hides this tool from the principal"),
        ("ledger_dumb", "no tool has this name"),
        ("something_else", "no tool has this name"),
    ] {
        answers.push(served.call_as("dana.staff", name, json!({})).await);
        let (code, found, _) = trail.last();
        assert_eq!((code.as_str(), found.as_str()), ("unknown_tool", detail));
    }
    let [hidden, misspelled, unknown] = answers.try_into().unwrap();
    assert_eq!(hidden, misspelled);
    assert_eq!(hidden, unknown);
    assert_eq!(hidden.body["error"]["code"], -32602, "{:?}", hidden);
}

#[tokio::test]
async fn what_policy_denies_for_these_arguments_says_that_and_not_why_others_may() {
    let (files, trail) = (files(), Trail::default());
    let served = serve(&files, &trail).await;
    let answer = served.call_as("dana.staff", "invoice_list", json!({"status": "draft"})).await;
    let text = answer.body["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(answer.body["result"]["isError"], true);
    assert!(text.contains("forbidden"), "{text}");
    for secret in ["no-drafts", "staff", "auditors", "draft"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert_eq!(trail.last(), ("forbidden".into(), "denied by: no-drafts".into(), vec!["no-drafts".into()]));
}

/// Case 21: lists of different callers never mix, whoever asked before.
#[tokio::test]
async fn a_list_that_depends_on_the_caller_is_private_and_never_crosses() {
    let (files, trail) = (files(), Trail::default());
    let served = serve(&files, &trail).await;
    for token in ["eve.auditors", "dana.staff", "mallory", "eve.auditors"] {
        let list = served.list_as(token).await;
        assert_eq!(list["result"]["cacheScope"], "private");
        let count = list["result"]["tools"].as_array().unwrap().len();
        assert_eq!(
            count,
            match token {
                "eve.auditors" => 2,
                "dana.staff" => 1,
                _ => 0,
            }
        );
    }
    let nobody = served.send_as(None, "tools/list", None, json!({})).await;
    assert_eq!(nobody.status, 401);
}

#[tokio::test]
async fn a_changed_policy_holds_from_the_next_request_on() {
    let (files, trail) = (files(), Trail::default());
    let served = serve(&files, &trail).await;
    assert_eq!(names(&served, "dana.staff").await, ["invoice_list"]);
    files.write("policies/main.cedar", &POLICIES.replace("Group::\"staff\"", "Group::\"crew\""));
    served.reloader.as_ref().unwrap().reload().unwrap();
    assert!(names(&served, "dana.staff").await.is_empty());
    let answer = served.call_as("dana.staff", "invoice_list", json!({"status": "open"})).await;
    assert_eq!(answer.body["error"]["code"], -32602);
    // One that does not fit the catalogue leaves the one in force.
    files.write("policies/main.cedar", &POLICIES.replace("status", "stauts"));
    let error = served.reloader.as_ref().unwrap().reload().unwrap_err().to_string();
    assert!(error.contains("policies/main.cedar:10:8") && error.contains("stauts"), "{error}");
    assert!(names(&served, "dana.staff").await.is_empty());
    assert_eq!(names(&served, "carol.crew").await, ["invoice_list"]);
}

/// A caller hears of a change exactly when the part of the list that it sees has changed.
#[tokio::test]
async fn only_those_whose_list_changed_hear_of_a_changed_policy() {
    let (files, trail) = (files(), Trail::default());
    let served = serve(&files, &trail).await;
    let mut staff = served.listen_as("dana.staff").await;
    let mut auditor = served.listen_as("eve.auditors").await;
    files.write("policies/main.cedar", &POLICIES.replace("Group::\"staff\"", "Group::\"crew\""));
    served.reloader.as_ref().unwrap().reload().unwrap();
    let wait = std::time::Duration::from_secs(10);
    let change = tokio::time::timeout(wait, staff.chunk()).await.unwrap().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&change).contains("notifications/tools/list_changed"), "{change:?}");
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(300), auditor.chunk()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

/// "must hold" 4: who may see a tool and lacks a scope is challenged for all of them at once, and who may not
/// see it is told of none.
#[tokio::test]
async fn a_missing_scope_is_challenged_and_a_hidden_tool_is_not() {
    let (files, trail) =
        (Files::new(&format!("{HEAD}{TOOLS}scopes = [\"ledger:read\", \"ledger:all\"]\n")), Trail::default());
    std::fs::create_dir(files.at("policies")).unwrap();
    files.write("policies/main.cedar", POLICIES);
    let served = serve(&files, &trail).await;
    let answer = served.call_as("eve.auditors", "ledger_dump", json!({})).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    let challenge = answer.headers.iter().find(|header| header.starts_with("www-authenticate"));
    let challenge = challenge.unwrap_or_else(|| panic!("{answer:?}"));
    assert!(challenge.contains("ledger:read ledger:all"), "{challenge}");
    let hidden = served.call_as("dana.staff", "ledger_dump", json!({})).await;
    assert_eq!(hidden, served.call_as("dana.staff", "ledger_dumb", json!({})).await);
    assert_eq!(hidden.status, 200);
}

#[tokio::test]
async fn a_new_file_of_policies_is_noticed() {
    let (files, trail) = (files(), Trail::default());
    let mut served = serve(&files, &trail).await;
    let _watching = served.reloader.take().unwrap().watch().unwrap();
    assert!(names(&served, "guest.guests").await.is_empty());
    files.write("policies/guests.cedar", "permit(principal in Group::\"guests\", action, resource);");
    let limit = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
    while names(&served, "guest.guests").await.is_empty() {
        assert!(tokio::time::Instant::now() < limit, "the new file was not noticed");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

async fn add(_: Context<'_>, Sum { a, b }: Sum) -> Result<i64, ToolError> {
    a.checked_add(b).ok_or_else(|| ToolError::new("the sum is too large"))
}

#[tokio::test]
async fn tools_of_rust_are_under_the_same_policies() {
    let files = files();
    let native = "@id(\"sums\") permit(principal, action in [Action::\"list\", Action::\"call:add\"], \
                  resource == Tool::\"add\") when { resource.name == \"add\" };
                  forbid(principal, action == Action::\"call:add\", resource) \
                  when { context.arguments.a > 100 };";
    files.write("policies/native.cedar", native);
    // Without the tool of Rust its name is one that no tool has.
    let report = files.report();
    assert!(report.contains("error[unknown_tool]: there is no tool `add`"), "{report}");
    let gate = files.gate().tool(Tool::new("add", Effect::Read, add).description("Adds two integers."));
    let gate = gate.customize(|builder| builder.authenticate(Tokens));
    let (server, _reloader) = gate.build().unwrap();
    let served = Served::start(&server, None).await;
    assert_eq!(names(&served, "mallory").await, ["add"]);
    let answer = served.call_as("mallory", "add", json!({"a": 1, "b": 2})).await;
    assert_eq!(answer.body["result"]["structuredContent"], 3);
    let answer = served.call_as("mallory", "add", json!({"a": 101, "b": 2})).await;
    assert_eq!(answer.body["result"]["isError"], true);
}

#[test]
fn faults_of_policies_are_findings_with_their_lines() {
    let files = files();
    files.write(
        "policies/main.cedar",
        "permit(principal, action, resource)\nwhen { resource.lables == [] };\n",
    );
    let report = files.report();
    assert!(report.contains("error[unknown_attribute]"), "{report}");
    assert!(report.contains("policies/main.cedar:2:8\n2 | when { resource.lables == [] };\n"), "{report}");
    files.write("policies/main.cedar", "permit(principal, action, resource);\npermitt;\n");
    assert!(files.report().contains("error[bad_policy]"), "{}", files.report());
    std::fs::remove_file(files.at("policies/main.cedar")).unwrap();
    assert!(files.report().contains("error[no_policy]"), "{}", files.report());
}

#[tokio::test]
async fn a_time_dependent_list_is_never_to_be_kept() {
    let files = files();
    let text = "permit(principal, action, resource) when { context.time > datetime(\"2020-01-01\") };";
    files.write("policies/main.cedar", text);
    let served = serve(&files, &Trail::default()).await;
    let list: Value = served.list_as("dana.staff").await;
    assert_eq!((&list["result"]["ttlMs"], &list["result"]["cacheScope"]), (&json!(0), &json!("private")));
    files.write("policies/main.cedar", "permit(principal, action, resource);");
    served.reloader.as_ref().unwrap().reload().unwrap();
    let list: Value = served.list_as("dana.staff").await;
    assert_eq!((&list["result"]["ttlMs"], &list["result"]["cacheScope"]), (&json!(60000), &json!("public")));
}
