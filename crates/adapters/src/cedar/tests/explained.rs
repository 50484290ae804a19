//! Explanations: which policies decided, and what would change that.

use callgate_core::port::Decision;
use callgate_core::principal::Principal;
use callgate_protocol::json::{Document, Limits};

use super::{catalogue, dana, policy};
use crate::cedar::{Changed, Explanation, PolicyCase, PolicyChange, PolicyState};
use crate::parse_rfc3339;

const TEXT: &str = "
@id(\"staff\") permit(principal in Group::\"staff\", action, resource);
@id(\"late\") forbid(principal, action in Action::\"call\", resource)
    when { context.time >= datetime(\"2027-01-01\") };
@id(\"limit\") forbid(principal, action == Action::\"call:invoice_pay\", resource)
    when { context.arguments has amount && context.arguments.amount > 100 && !context.approved };
@id(\"readers\") permit(principal, action, resource == Tool::\"weather\")
    when { principal.scopes.contains(\"weather:read\") };
";

fn explain(principal: &Principal, tool: &str, arguments: &str, at: &str) -> Explanation {
    explain_by(TEXT, principal, tool, arguments, at)
}

fn explain_by(text: &str, principal: &Principal, tool: &str, arguments: &str, at: &str) -> Explanation {
    let catalogue = catalogue();
    let arguments = Document::parse(arguments, &Limits::DEFAULT).unwrap();
    let contract = catalogue.find(tool).unwrap().contract();
    let mut case = PolicyCase::new(principal, contract, arguments.root());
    case.at = Some(parse_rfc3339(at).unwrap());
    policy(text).explain(case).unwrap()
}

fn outcomes(found: &Explanation) -> Vec<(PolicyChange, bool, &'static str)> {
    let outcome = |changed: &Changed| (changed.change.clone(), changed.visible, changed.decision.as_str());
    found.changes.iter().map(outcome).collect()
}

fn states(policies: &[crate::cedar::ExplainedPolicy]) -> Vec<(&str, bool, &PolicyState)> {
    policies.iter().map(|policy| (policy.id.as_str(), policy.permits, &policy.state)).collect()
}

#[test]
fn the_policies_and_their_states_are_named() {
    let found = explain(&dana(), "invoice_pay", r#"{"amount":500,"rate":0.5}"#, "2026-06-01T00:00:00Z");
    assert_eq!(
        states(&found.call),
        [
            ("staff", true, &PolicyState::Holds),
            ("late", false, &PolicyState::ConditionFalse),
            ("limit", false, &PolicyState::Holds)
        ]
    );
    assert!(found.visible && matches!(found.decision, Decision::NeedsApproval { .. }));
    assert_eq!(found.inexpressible, ["rate"]);
    assert_eq!(outcomes(&found), [(PolicyChange::Approval, true, "permit")]);
    assert_eq!(&TEXT[found.call[0].span.clone()], TEXT.lines().nth(1).unwrap());
}

#[test]
fn what_would_change_a_denial_is_found() {
    let found = explain(&Principal::new("eve"), "weather", "{}", "2026-06-01T00:00:00Z");
    assert!(!found.visible && matches!(found.decision, Decision::Deny { .. }));
    assert_eq!(states(&found.list)[0], ("staff", true, &PolicyState::OtherCallers));
    assert_eq!(
        outcomes(&found),
        [
            (PolicyChange::Group("staff".into()), true, "permit"),
            (PolicyChange::Scope("weather:read".into()), true, "permit")
        ]
    );
    let found = explain(&dana(), "weather", "{}", "2027-06-01T00:00:00Z");
    assert_eq!(outcomes(&found), [(PolicyChange::Without(vec!["late".into()]), true, "permit")]);
}

/// What is hidden by a prohibition is shown by taking that prohibition away, and the call may then still be denied.
#[test]
fn what_would_show_a_hidden_tool_is_found_and_what_is_then_decided_of_the_call() {
    let at = "2026-06-01T00:00:00Z";
    let changes = |text: &str, principal: &Principal, tool: &str| {
        let found = explain_by(text, principal, tool, "{\"amount\":5}", at);
        assert!(!found.visible, "{text}");
        outcomes(&found)
    };
    let without = |policies: &[&str]| {
        PolicyChange::Without(policies.iter().map(|policy| (*policy).to_owned()).collect())
    };
    let staff = "@id(\"staff\") permit(principal in Group::\"staff\", action, resource);";
    let hides = "@id(\"secret\") forbid(principal, action == Action::\"list\", resource);";
    let both = format!("{staff}{hides}");
    assert_eq!(changes(&both, &dana(), "weather"), [(without(&["secret"]), true, "permit")]);
    // Nothing permits the caller: taking the prohibition away would show nothing.
    assert_eq!(changes(&both, &Principal::new("eve"), "weather"), []);
    let calls = "@id(\"never\") forbid(principal, action in Action::\"call\", resource);";
    assert_eq!(
        changes(&format!("{both}{calls}"), &dana(), "weather"),
        [(without(&["secret"]), true, "deny"), (without(&["never", "secret"]), true, "permit")]
    );
    let asks = "@id(\"asks\") forbid(principal, action == Action::\"call:weather\", resource)
        when { !context.approved };";
    assert_eq!(
        changes(&format!("{both}{asks}"), &dana(), "weather"),
        [(without(&["secret"]), true, "needs_approval")]
    );
    // One prohibition of everything.
    let all = "@id(\"all\") forbid(principal, action, resource);";
    assert_eq!(changes(&format!("{staff}{all}"), &dana(), "weather"), [(without(&["all"]), true, "permit")]);
    // Both prohibitions stand in the way of being seen.
    assert_eq!(
        changes(&format!("{both}{all}"), &dana(), "weather"),
        [(without(&["all", "secret"]), true, "permit")]
    );
    // A group that shows the tool and does not permit the call.
    let shows =
        "@id(\"shows\") permit(principal in Group::\"readers\", action == Action::\"list\", resource);";
    assert_eq!(
        changes(shows, &Principal::new("eve"), "weather"),
        [(PolicyChange::Group("readers".into()), true, "deny")]
    );
}
