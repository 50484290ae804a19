//! No row of another tenant ever leaves, whoever asks, whatever they ask for and whatever policy says.
//!
//! Every row, policy and tenant of a case carries a mark of its tenant. Random callers send random
//! requests, cursors of others and guesses at rows of others; each answer is searched for marks that are
//! not the caller's and compared with what a model of the rows expects. SQLite and PostgreSQL alike.

use std::sync::Arc;

use callgate_core::port::{Answer, Authenticate, Authorization, Credentials};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_server::{Completing, Context, Messages, Prompt, ToolError};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::served::{Files, Got, Served};

/// The tenants. Their names are the marks, and stand in no other text: they are long enough that no cursor or
/// digest spells one by chance.
const TENANTS: [&str; 3] = ["zqalpha", "zqbravo", "zqcharlie"];
const ROWS: usize = 7;
const STATUS: [&str; 3] = ["open", "overdue", "paid"];

/// A row of the model: its reference, its status, its amount.
fn row(tenant: usize, number: usize) -> (String, &'static str, i64) {
    let amount = i64::try_from(tenant * 100_000_000 + 7_100_000 + number).unwrap();
    (format!("{}-{number}", TENANTS[tenant]), STATUS[number % 3], amount)
}

fn inserts() -> String {
    let mut sql =
        "create table orders (tenant_id text not null, reference text not null, status text not null,
                   amount bigint not null);"
            .to_owned();
    for (tenant, name) in TENANTS.iter().enumerate() {
        for number in 0..ROWS {
            let (reference, status, amount) = row(tenant, number);
            sql.push_str(&format!(
                "insert into orders values ('{name}', '{reference}', '{status}', {amount});"
            ));
        }
    }
    sql
}

const HEAD: &str = "
[server]
name = \"orders\"
page_size = 1

[policy]
files = [\"main.cedar\"]

[source.orders]
tenant_scoped = true
";

const TOOLS: &str = r#"
[tool.list]
description = "List orders."
effect = "read"
source = "orders"
sql = "select reference, amount from orders where tenant_id = :tenant and coalesce(:status, status) = status"
page = { size = 2, key = ["reference"] }
input = { status = { type = "string" } }
output = { reference = { type = "string" }, amount = { type = "integer" } }

[tool.find]
description = "Find one order."
effect = "read"
source = "orders"
sql = "select reference, amount from orders where tenant_id = :tenant and reference = :reference"
input = { reference = { type = "string", required = true } }
output = { reference = { type = "string" }, amount = { type = "integer" } }

[tool.total]
description = "Count and sum up orders."
effect = "read"
source = "orders"
sql = """
select count(*) as n, cast(coalesce(sum(amount), 0) as bigint) as amount from orders
where tenant_id = :tenant and status = :status"""
input = { status = { type = "string", required = true } }
output = { n = { type = "integer" }, amount = { type = "integer" } }

[tool.ratio]
description = "Divide by a difference, which fails on a store that refuses to divide by zero."
effect = "read"
source = "orders"
sql = "select reference, 100 / (amount - :amount) as ratio from orders where tenant_id = :tenant"
input = { amount = { type = "integer", required = true } }
output = { reference = { type = "string" }, ratio = { type = "integer" } }
"#;

const POLICIES: [&str; 7] = [
    "permit(principal, action, resource);",
    "permit(principal in Group::\"g1\", action, resource);",
    "permit(principal in Tenant::\"zqbravo\", action, resource);",
    "permit(principal, action, resource) when { context has tenant && context.tenant == \"zqcharlie\" };",
    "@id(\"zqalpha-rule\") forbid(principal, action == Action::\"call:total\", resource) \
     when { context.arguments.status == \"paid\" };",
    "forbid(principal in Group::\"g2\", action == Action::\"list\", resource == Tool::\"find\");",
    "@id(\"zqbravo-rule\") forbid(principal, action == Action::\"call:ratio\", resource) \
     when { context.arguments.amount + 1 > 9000000000 };",
];

/// Takes a token of the form `subject.tenant.group...`; the tenant `-` is none.
struct Tokens;

impl Authenticate for Tokens {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<Principal>, Refusal>> {
        let Authorization::One(value) = credentials.authorization else {
            return Answer::now(Err(Refusal::new(Code::Unauthenticated, "no credential was sent")));
        };
        let mut words = value.trim_start_matches("Bearer ").split('.');
        let mut principal = Principal::new(words.next().unwrap_or_default());
        if let Some(tenant) = words.next().filter(|tenant| *tenant != "-") {
            principal = principal.with_tenant(tenant);
        }
        Answer::now(Ok(Arc::new(principal.with_groups(words))))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Letter {
    reference: String,
}

async fn letter(context: Context<'_>, Letter { reference }: Letter) -> Result<Messages, ToolError> {
    let own = context.tenant().is_some_and(|tenant| reference.starts_with(tenant));
    Ok(Messages::new().user(if own { &reference } else { "there is no such order" }))
}

/// References of the caller's tenant alone, which is where a completer gets them from.
async fn references(context: Context<'_>, typed: Completing) -> Result<Vec<String>, ToolError> {
    let own = TENANTS.iter().position(|tenant| context.tenant() == Some(tenant));
    let all = own.into_iter().flat_map(|tenant| (0..ROWS).map(move |number| row(tenant, number).0));
    Ok(all.filter(|reference| reference.starts_with(&typed.value)).collect())
}

/// A caller by what decides about it.
#[derive(Clone, Copy, Debug)]
struct Who {
    subject: u8,
    /// Beyond the tenants: none.
    tenant: usize,
    groups: u8,
}

impl Who {
    fn token(self) -> String {
        let mut token = format!("p{}.{}", self.subject, TENANTS.get(self.tenant).unwrap_or(&"-"));
        for group in 1..=self.groups {
            token.push_str(&format!(".g{group}"));
        }
        token
    }
}

#[derive(Clone, Debug)]
enum Ask {
    /// The list of tools, with the cursor that an earlier list gave somebody.
    Tools { cursor: usize },
    /// A tool, by its place.
    Call { tool: usize, number: usize, of: usize },
    /// The next page, with the cursor that an earlier page gave somebody: by that caller, or by another.
    Page { cursor: usize, own: bool },
    /// A row of that tenant and one that nobody has: the answers must not differ.
    Guess { of: usize, number: usize },
    /// A completion.
    Complete { of: usize, length: usize },
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        2 => (0..6_usize).prop_map(|cursor| Ask::Tools { cursor }),
        6 => (0..4_usize, 0..9_usize, 0..3_usize).prop_map(|(tool, number, of)| Ask::Call { tool, number, of }),
        3 => (0..6_usize, any::<bool>()).prop_map(|(cursor, own)| Ask::Page { cursor, own }),
        2 => (0..3_usize, 0..ROWS).prop_map(|(of, number)| Ask::Guess { of, number }),
        2 => (0..3_usize, 0..11_usize).prop_map(|(of, length)| Ask::Complete { of, length }),
    ]
}

type Case = (Vec<bool>, Vec<((u8, usize, u8), Ask)>);

fn case() -> impl Strategy<Value = Case> {
    let asks = prop::collection::vec(((0..3_u8, 0..4_usize, 0..3_u8), ask()), 10..30);
    (prop::collection::vec(any::<bool>(), POLICIES.len()), asks)
}

/// What a page of `list` said of the next one.
#[derive(Clone)]
struct Page {
    /// Who asked for it.
    who: Who,
    arguments: Value,
    cursor: String,
    /// The rows that stand before the next page.
    before: usize,
}

/// The rows of `list` that a tenant has.
fn listed(tenant: usize, arguments: &Value) -> Vec<Value> {
    let rows = (0..ROWS).filter(|_| tenant < TENANTS.len()).map(|number| row(tenant, number));
    let rows = rows.filter(|row| arguments["status"].as_str().is_none_or(|status| row.1 == status));
    rows.map(|(reference, _, amount)| json!({"reference": reference, "amount": amount})).collect()
}

/// What a case has seen so far.
struct Run<'s> {
    served: &'s Served,
    /// Which of the policies are in force.
    chosen: Vec<bool>,
    /// Cursors of the list of tools.
    lists: Vec<String>,
    /// Cursors of pages.
    pages: Vec<Page>,
    count: Count,
}

/// What was really tested. Without it a gate that refused everybody would pass.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Calls of callers with a tenant.
    calls: usize,
    /// Those that were answered as calls with rows are, by tenant; some have none that fit.
    answered: [usize; TENANTS.len()],
    /// Those that were answered with at least one row, by tenant.
    with_rows: [usize; TENANTS.len()],
    /// Next pages that were given to those they are for.
    pages: usize,
    /// Rows of others that were asked for by their exact reference.
    guesses: usize,
    /// Completions that gave references.
    completions: usize,
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        for tenant in 0..TENANTS.len() {
            self.answered[tenant] += other.answered[tenant];
            self.with_rows[tenant] += other.with_rows[tenant];
        }
        self.pages += other.pages;
        self.guesses += other.guesses;
        self.completions += other.completions;
    }

    /// That enough of everything happened. Policies are drawn, so that a part of the calls is refused; a third is
    /// well below what is answered.
    fn check(&self) {
        let answered: usize = self.answered.iter().sum();
        let all = format!(
            "{} calls, answered {:?}, with rows {:?}, {} pages, {} guesses, {} completions",
            self.calls, self.answered, self.with_rows, self.pages, self.guesses, self.completions
        );
        assert!(answered * SHARE >= self.calls, "too few calls were answered: {all}");
        assert!(self.with_rows.iter().all(|rows| *rows > 0), "a tenant never got a row: {all}");
        assert!(self.guesses > 0, "nobody ever asked for a row of another tenant: {all}");
        assert!(self.pages > 0 && self.completions > 0, "no page or completion was ever given: {all}");
    }
}

/// One call in so many is answered, at least.
const SHARE: usize = 4;

impl Run<'_> {
    async fn ask(&mut self, who: Who, ask: &Ask) -> Result<(), TestCaseError> {
        match *ask {
            Ask::Tools { cursor } => {
                let mut params = json!({});
                if let Some(cursor) = self.lists.get(cursor) {
                    params["cursor"] = cursor.as_str().into();
                }
                let got = self.send(who, "tools/list", None, params).await?;
                self.lists.extend(got.body["result"]["nextCursor"].as_str().map(str::to_owned));
            }
            Ask::Call { tool, number, of } => self.call(who, tool, number, of).await?,
            Ask::Page { cursor, own } => {
                let at = cursor % self.pages.len().max(1);
                let Some(page) = self.pages.get(at).cloned() else { return Ok(()) };
                let who = if own { page.who } else { who };
                let mut arguments = page.arguments.clone();
                arguments["cursor"] = page.cursor.into();
                let got = self.tool(who, "list", arguments).await?;
                let rows = got.body["result"]["structuredContent"]["rows"].as_array();
                prop_assert!(rows.is_some() || !own, "{:?}", got);
                let Some(rows) = rows else { return Ok(()) };
                self.count.pages += 1;
                let next: Vec<_> =
                    listed(who.tenant, &page.arguments).into_iter().skip(page.before).take(2).collect();
                prop_assert_eq!(rows, &next, "{}", page.arguments);
                self.note_page(who, &got, page.arguments, page.before + 2);
            }
            Ask::Guess { of, number } => {
                let theirs = self.tool(who, "find", json!({"reference": row(of, number).0})).await?;
                if of == who.tenant {
                    return Ok(());
                }
                self.count.guesses +=
                    usize::from(theirs.body["result"]["structuredContent"]["rows"].is_array());
                let nobodys = self.tool(who, "find", json!({"reference": "nobody-0"})).await?;
                prop_assert_eq!((theirs.status, told(theirs.body)), (nobodys.status, told(nobodys.body)));
            }
            Ask::Complete { of, length } => {
                let typed: String = TENANTS[of].chars().take(length).collect();
                let params = json!({
                    "ref": {"type": "ref/prompt", "name": "letter"},
                    "argument": {"name": "reference", "value": typed},
                });
                let got = self.send(who, "completion/complete", None, params.clone()).await?;
                if !self.permits(who) {
                    let mut absent = params;
                    absent["ref"]["name"] = "absent".into();
                    let unknown = self.send(who, "completion/complete", None, absent).await?;
                    prop_assert_eq!((got.status, got.body), (unknown.status, unknown.body));
                    return Ok(());
                }
                let completion = &got.body["result"]["completion"];
                let own = TENANTS.get(who.tenant).is_some_and(|tenant| tenant.starts_with(&typed));
                prop_assert_eq!(&completion["total"], &json!(if own { ROWS } else { 0 }));
                self.count.completions += usize::from(own);
            }
        }
        Ok(())
    }

    /// Whether a policy permits this caller what no other one forbids: the prompt.
    fn permits(&self, who: Who) -> bool {
        let by = [true, who.groups >= 1, who.tenant == 1, who.tenant == 2];
        by.into_iter().zip(&self.chosen).any(|(concerns, is_chosen)| concerns && *is_chosen)
    }

    /// Calls a tool and compares its rows with those that the model expects.
    async fn call(&mut self, who: Who, tool: usize, number: usize, of: usize) -> Result<(), TestCaseError> {
        let status = STATUS[number % 3];
        let own: Vec<_> = match TENANTS.get(who.tenant) {
            Some(_) => (0..ROWS).map(|number| row(who.tenant, number)).collect(),
            None => Vec::new(),
        };
        let rows = |is: &dyn Fn(&(String, &str, i64)) -> bool| -> Vec<Value> {
            let rows = own.iter().filter(|row| is(row));
            rows.map(|(reference, _, amount)| json!({"reference": reference, "amount": amount})).collect()
        };
        let (name, arguments, expected) = match tool {
            0 if number < 3 => ("list", json!({"status": status}), Some(rows(&|row| row.1 == status))),
            0 => ("list", json!({}), Some(rows(&|_| true))),
            1 => {
                let reference = row(of, number % ROWS).0;
                let expected = rows(&|row| row.0 == reference);
                ("find", json!({"reference": reference}), Some(expected))
            }
            2 => {
                let rows: Vec<_> = own.iter().filter(|row| row.1 == status).collect();
                let amount: i64 = rows.iter().map(|row| row.2).sum();
                ("total", json!({"status": status}), Some(vec![json!({"n": rows.len(), "amount": amount})]))
            }
            // Sometimes the amount of a row of another tenant, and sometimes one beyond what Cedar holds.
            _ if number == 8 => ("ratio", json!({"amount": 9_223_372_036_854_775_808_u64}), None),
            _ => ("ratio", json!({"amount": row(of, number % ROWS).2}), None),
        };
        let got = self.tool(who, name, arguments.clone()).await?;
        self.count.calls += usize::from(who.tenant < TENANTS.len());
        let result = &got.body["result"];
        let Some(found) = result["structuredContent"]["rows"].as_array() else {
            // Refused: without rows, as an error of the tool or of the request.
            prop_assert!(result["isError"] == true || got.body["error"].is_object(), "{:?}", got);
            return Ok(());
        };
        prop_assert!(who.tenant < TENANTS.len(), "a caller without a tenant got rows: {:?}", got);
        self.count.answered[who.tenant] += 1;
        self.count.with_rows[who.tenant] += usize::from(!found.is_empty());
        if let Some(expected) = expected {
            let page = if name == "list" { &expected[..expected.len().min(2)] } else { &expected[..] };
            prop_assert_eq!(&found[..], page, "{} {}", name, arguments);
            let more = result["structuredContent"]["nextCursor"].is_string();
            prop_assert_eq!(more, page.len() < expected.len());
        }
        self.note_page(who, &got, arguments, 2);
        Ok(())
    }

    fn note_page(&mut self, who: Who, got: &Got, arguments: Value, before: usize) {
        let cursor = got.body["result"]["structuredContent"]["nextCursor"].as_str();
        let page = |cursor: &str| Page { who, arguments, cursor: cursor.to_owned(), before };
        self.pages.extend(cursor.map(page));
    }

    async fn tool(&self, who: Who, name: &str, arguments: Value) -> Result<Got, TestCaseError> {
        self.send(who, "tools/call", Some(name), json!({"name": name, "arguments": arguments})).await
    }

    /// Sends a request and searches the answer for marks of others.
    async fn send(
        &self,
        who: Who,
        method: &str,
        name: Option<&str>,
        params: Value,
    ) -> Result<Got, TestCaseError> {
        let got = self.served.send_as(Some(&who.token()), method, name, params.clone()).await;
        let text = format!("{:?} {}", got.headers, got.body);
        for (place, mark) in TENANTS.iter().enumerate() {
            let foreign = place != who.tenant && text.contains(mark);
            prop_assert!(!foreign, "{:?} {} {} gave {}", who, method, params, text);
        }
        Ok(got)
    }
}

/// What an answer tells, without what names this one call.
fn told(mut body: Value) -> Value {
    if let Some(result) = body["result"].as_object_mut() {
        result.remove("_meta");
    }
    body
}

/// Runs random cases over a store that `source` describes.
fn no_row_of_another_tenant_leaves(files: &Files, source: &str, cases: u32) {
    let head = HEAD.replace("[source.orders]\n", &format!("[source.orders]\n{source}\n"));
    files.write("callgate.toml", &format!("{head}{TOOLS}"));
    let runtime = Runtime::new().unwrap();
    let count = std::cell::Cell::new(Count::default());
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let result = runner.run(&case(), |(chosen, asks)| {
        let policies: Vec<_> = POLICIES
            .iter()
            .zip(&chosen)
            .filter(|(_, is_chosen)| **is_chosen)
            .map(|(text, _)| *text)
            .collect();
        // An empty file is one that denies everything.
        files.write("main.cedar", &policies.join("\n"));
        runtime.block_on(async {
            let gate = files.gate().customize(|builder| {
                builder
                    .authenticate(Tokens)
                    .prompt(Prompt::new("letter", letter).complete("reference", references))
            });
            let (server, _reloader) = gate.build().unwrap();
            let served = Served::start(&server, None).await;
            let (lists, pages) = (Vec::new(), Vec::new());
            let mut run =
                Run { served: &served, chosen: chosen.clone(), lists, pages, count: Count::default() };
            for ((subject, tenant, groups), ask) in &asks {
                run.ask(Who { subject: *subject, tenant: *tenant, groups: *groups }, ask).await?;
            }
            let mut all = count.get();
            all.add(&run.count);
            count.set(all);
            Ok(())
        })
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    count.get().check();
}

#[test]
fn no_row_of_another_tenant_leaves_over_sqlite() {
    let files = Files::new("");
    rusqlite::Connection::open(files.at("orders.db")).unwrap().execute_batch(&inserts()).unwrap();
    no_row_of_another_tenant_leaves(&files, "kind = \"sqlite\"\npath = \"orders.db\"", 40);
}

mod postgres {
    //! The same on PostgreSQL, which also fails where SQLite gives NULL.

    use super::{Files, Runtime, inserts, no_row_of_another_tenant_leaves};

    #[test]
    fn no_row_of_another_tenant_leaves_over_postgres() {
        let url = std::env::var("CALLGATE_TEST_POSTGRES").expect(
            "this test needs a PostgreSQL server: run it with `cargo xtask test`, or set CALLGATE_TEST_POSTGRES to \
             the URL of a superuser of a server that may be filled with test data",
        );
        let schema = "gateway_tenants";
        Runtime::new().unwrap().block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            let setup = format!(
                "drop schema if exists {schema} cascade; create schema {schema}; set search_path = {schema};"
            );
            client.batch_execute(&format!("{setup}{}", inserts())).await.unwrap();
        });
        let files = Files::new("");
        let mark = if url.contains('?') { '&' } else { '?' };
        files.write("url", &format!("{url}{mark}options=-csearch_path%3D{schema}"));
        no_row_of_another_tenant_leaves(&files, "kind = \"postgres\"\nurl = \"file:url\"", 15);
    }
}
