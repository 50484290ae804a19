//! What a decision costs: `cargo run --release -p callgate-adapters --example policy_cost`.
//!
//! It prints the time of one question of each kind, over a catalogue of 50 tools and 12 policies. It
//! decides nothing; `docs/performance.md` quotes it.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "it is a measurement, run by hand")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use callgate_adapters::cedar::{CedarPolicy, PolicyLimits, PolicyText, load};
use callgate_core::contract::{Contract, Definition, Effect};
use callgate_core::invocation::Invocation;
use callgate_core::port::{Answer, Execute, Execution, Policy as _, Question, SystemClock};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_core::snapshot::{Catalogue, Tool};
use callgate_protocol::json::{Document, Limits};

const ROUNDS: u32 = 20_000;

const POLICIES: &str = "
permit(principal in Group::\"staff\", action, resource) unless { resource.labels.contains(\"l9\") };
forbid(principal, action == Action::\"call:tool_7\", resource) when { context.arguments.amount > 10000 };
permit(principal in Group::\"approvers\", action == Action::\"call:tool_8\", resource) when { context.approved };
permit(principal in Group::\"approvers\", action == Action::\"list\", resource);
";

struct Never;

impl Execute for Never {
    fn execute<'a>(&'a self, _: &'a Invocation<'a>) -> Answer<'a, Execution> {
        Answer::now(Execution::Failed(Refusal::new(Code::ToolFailed, "nothing is executed")))
    }
}

fn catalogue() -> Catalogue {
    let schema = r#"{"type":"object","properties":{"amount":{"type":"integer"},"note":{"type":"string"}},"required":["amount"]}"#;
    let tool = |number: usize| {
        let mut definition = Definition::new(format!("tool_{number}"), Effect::Read, schema);
        definition.labels = vec![format!("l{}", number % 10)];
        Arc::new(Tool::new(Contract::new(&definition, &Default::default()).unwrap(), Never))
    };
    Catalogue::new((0..50).map(tool)).unwrap()
}

fn time(what: &str, mut work: impl FnMut(u32)) {
    (0..ROUNDS / 10).for_each(&mut work);
    let start = Instant::now();
    (0..ROUNDS).for_each(&mut work);
    println!("{what}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
}

fn main() {
    let catalogue = catalogue();
    let mut text = POLICIES.to_owned();
    for number in 20..28 {
        text.push_str(&format!(
            "permit(principal in Group::\"g{number}\", action, resource == Tool::\"tool_{number}\");"
        ));
    }
    let texts = [PolicyText::new("cost", text)];
    let start = Instant::now();
    let loaded = load(&texts, "cost", &catalogue, Arc::new(SystemClock), PolicyLimits::default());
    println!("loading: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let policy: CedarPolicy = loaded.policy.unwrap();
    let staff =
        Principal::new("dana").with_tenant("t").with_groups(["staff", "a", "b"]).with_scopes(["x", "y"]);
    let approver = Principal::new("eve").with_tenant("t").with_groups(["approvers"]);
    let arguments = Document::parse(r#"{"amount":500,"note":"hello"}"#, &Limits::DEFAULT).unwrap();
    let contract = |name: &str| catalogue.find(name).unwrap().contract();
    let decide = |principal: &Principal, name: &str| {
        if let Answer::Now(decision) =
            policy.decide(Question::new(principal, contract(name), arguments.root()))
        {
            black_box(decision).unwrap().unwrap();
        }
    };
    time("a permit without a look at arguments", |_| decide(&staff, "tool_3"));
    time("a permit with a look at an argument", |_| decide(&staff, "tool_7"));
    time("a call that needs an approval", |_| decide(&approver, "tool_8"));
    time("whether one tool is visible", |_| {
        black_box(policy.is_visible(&staff, contract("tool_3")));
    });
    time("the visible set of a caller that is known", |_| {
        black_box(policy.visible(&staff, &catalogue));
    });
    time("the visible set of a caller that is new", |round| {
        black_box(
            policy.visible(&Principal::new(format!("caller-{round}")).with_groups(["staff"]), &catalogue),
        );
    });
}
