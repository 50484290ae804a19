//! Explanations: which policies decided, and what would change that.

use callgate_core::port::Decision;
use callgate_core::principal::Principal;
use callgate_protocol::json::{Document, Limits};

use super::{catalogue, dana, policy};
use crate::cedar::{Explanation, PolicyCase, PolicyChange, PolicyState};
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
    let catalogue = catalogue();
    let arguments = Document::parse(arguments, &Limits::DEFAULT).unwrap();
    let contract = catalogue.find(tool).unwrap().contract();
    let mut case = PolicyCase::new(principal, contract, arguments.root());
    case.at = Some(parse_rfc3339(at).unwrap());
    policy(TEXT).explain(case).unwrap()
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
    let permit = Decision::Permit { policies: vec!["staff".into()] };
    assert_eq!(found.changes, [(PolicyChange::Approval, permit)]);
    assert_eq!(&TEXT[found.call[0].span.clone()], TEXT.lines().nth(1).unwrap());
}

#[test]
fn what_would_change_a_denial_is_found() {
    let found = explain(&Principal::new("eve"), "weather", "{}", "2026-06-01T00:00:00Z");
    assert!(!found.visible && matches!(found.decision, Decision::Deny { .. }));
    assert_eq!(states(&found.list)[0], ("staff", true, &PolicyState::OtherCallers));
    let changes: Vec<_> = found.changes.into_iter().map(|(change, _)| change).collect();
    assert_eq!(changes, [PolicyChange::Group("staff".into()), PolicyChange::Scope("weather:read".into())]);
    let found = explain(&dana(), "weather", "{}", "2027-06-01T00:00:00Z");
    let changes: Vec<_> = found.changes.into_iter().map(|(change, _)| change).collect();
    assert_eq!(changes, [PolicyChange::Without(vec!["late".into()])]);
}
