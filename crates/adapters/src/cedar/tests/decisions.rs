//! What is permitted, what needs an approval and what is denied, and by which policy.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use callgate_core::port::{Approver, Decision, Policy as _};
use callgate_core::principal::Principal;

use super::{SetClock, catalogue, dana, decide, loaded, policy, sees};

fn permit(policies: &[&str]) -> Decision {
    Decision::Permit { policies: policies.iter().map(|id| (*id).to_owned()).collect() }
}

#[test]
fn nothing_is_permitted_that_no_policy_permits() {
    let policy = policy("");
    assert!(sees(&policy, &dana()).is_empty());
    let decision = decide(&policy, &catalogue(), &dana(), "weather", "{}", true);
    assert!(matches!(decision, Decision::Deny { policies, .. } if policies.is_empty()));
}

#[test]
fn a_call_needs_both_actions() {
    let only_call = policy("permit(principal, action in Action::\"call\", resource);");
    assert!(sees(&only_call, &dana()).is_empty());
    let decision = decide(&only_call, &catalogue(), &dana(), "weather", "{}", false);
    assert_eq!(decision.errors(), ["what may not be listed may not be called"]);

    let only_list = policy("permit(principal, action == Action::\"list\", resource);");
    assert_eq!(sees(&only_list, &dana()).len(), 3);
    let decision = decide(&only_list, &catalogue(), &dana(), "weather", "{}", false);
    assert!(
        matches!(&decision, Decision::Deny { policies, errors } if policies.is_empty() && errors.is_empty())
    );

    let both = policy("@id(\"all\") permit(principal, action, resource);");
    assert_eq!(decide(&both, &catalogue(), &dana(), "weather", "{}", false), permit(&["all"]));
}

#[test]
fn groups_tenants_servers_labels_effects_and_scopes_decide() {
    for (scope, condition, seen) in [
        ("principal in Group::\"staff\", action, resource", "", 3),
        ("principal in Group::\"guests\", action, resource", "", 0),
        ("principal in Tenant::\"tenant-a\", action, resource", "", 3),
        ("principal in Tenant::\"tenant-b\", action, resource", "", 0),
        ("principal == Principal::\"dana\", action, resource in Server::\"billing\"", "", 3),
        ("principal, action, resource == Tool::\"weather\"", "", 1),
        ("principal, action, resource", "when { resource.labels.contains(\"finance\") }", 2),
        ("principal, action, resource", "when { resource.effect == Effect::\"external_read\" }", 1),
        ("principal, action, resource", "unless { resource.changes }", 2),
        ("principal, action, resource", "when { principal.scopes.contains(\"invoices:read\") }", 3),
        ("principal, action, resource", "when { principal.scopes.contains(\"other\") }", 0),
        (
            "principal, action, resource",
            "when { principal has tenant && principal.tenant == Tenant::\"tenant-a\" }",
            3,
        ),
        ("principal, action, resource", "when { context has tenant && context.tenant == \"tenant-a\" }", 3),
        ("principal, action, resource", "when { context has purpose }", 0),
        ("principal, action, resource", "when { resource.name like \"invoice_*\" }", 2),
    ] {
        let policy = policy(&format!("permit({scope}) {condition};"));
        assert_eq!(sees(&policy, &dana()).len(), seen, "{scope} {condition}");
    }
}

#[test]
fn arguments_decide_and_the_policy_is_named() {
    let policy = policy(
        "permit(principal, action, resource);
         @id(\"limit\") forbid(principal, action == Action::\"call:invoice_pay\", resource)
         when { context.arguments has amount && context.arguments.amount > 100 };",
    );
    let pay = |arguments| decide(&policy, &catalogue(), &dana(), "invoice_pay", arguments, false);
    assert_eq!(pay(r#"{"amount":100}"#), permit(&["policy0"]));
    assert_eq!(pay(r#"{"amount":100.0}"#), permit(&["policy0"]));
    assert_eq!(pay("{}"), permit(&["policy0"]));
    for over in [r#"{"amount":101}"#, r#"{"amount":9223372036854775807}"#] {
        assert_eq!(pay(over), Decision::Deny { policies: vec!["limit".into()], errors: vec![] });
    }
}

#[test]
fn an_argument_beyond_cedar_denies_where_a_policy_looks_at_it() {
    let policy = policy(
        "permit(principal, action, resource);
         @id(\"limit\") forbid(principal, action == Action::\"call:invoice_pay\", resource)
         when { context.arguments has amount && context.arguments.amount > 100 };",
    );
    let catalogue = catalogue();
    // Without the rule `has` would be false and the prohibition would not match.
    let beyond = r#"{"amount":9223372036854775808}"#;
    let decision = decide(&policy, &catalogue, &dana(), "invoice_pay", beyond, false);
    let Decision::Deny { policies, errors } = decision else { panic!("{decision:?}") };
    assert_eq!(policies, ["limit"]);
    assert_eq!(errors, ["policy `limit` looks at the argument `amount`, which Cedar cannot hold exactly"]);
    // No policy looks at these.
    assert_eq!(
        decide(&policy, &catalogue, &dana(), "invoice_pay", r#"{"rate":1.5}"#, false),
        permit(&["policy0"])
    );
    let list = r#"{"n":9223372036854775808}"#;
    assert_eq!(decide(&policy, &catalogue, &dana(), "invoice_list", list, false), permit(&["policy0"]));
}

#[test]
fn a_policy_that_concerns_somebody_else_does_not_deny_for_what_it_looks_at() {
    let policy = policy(
        "permit(principal, action, resource);
         forbid(principal in Group::\"guests\", action == Action::\"call:invoice_pay\", resource)
         when { context.arguments has amount && context.arguments.amount > 100 };",
    );
    let beyond = r#"{"amount":9223372036854775808}"#;
    let of = |principal: &Principal| decide(&policy, &catalogue(), principal, "invoice_pay", beyond, false);
    assert_eq!(of(&dana()), permit(&["policy0"]));
    assert!(matches!(of(&dana().with_groups(["guests"])), Decision::Deny { .. }));
}

#[test]
fn policies_see_what_is_not_expressed() {
    let policy = policy(
        "permit(principal, action, resource);
         @id(\"exact\") forbid(principal, action in Action::\"call\", resource)
         unless { context.inexpressible.isEmpty() };",
    );
    let pay = |arguments| decide(&policy, &catalogue(), &dana(), "invoice_pay", arguments, false);
    assert_eq!(pay(r#"{"amount":1}"#), permit(&["policy0"]));
    assert!(matches!(pay(r#"{"rate":1.5}"#), Decision::Deny { policies, .. } if policies == ["exact"]));
    assert!(matches!(pay(r#"{"other":1}"#), Decision::Deny { policies, .. } if policies == ["exact"]));
}

#[test]
fn what_an_approval_would_permit_needs_one() {
    let policy = policy(
        "@id(\"see\") permit(principal, action == Action::\"list\", resource);
         @id(\"approved\") permit(principal, action in Action::\"call\", resource) when { context.approved };
         @id(\"never\") forbid(principal, action == Action::\"call:weather\", resource);",
    );
    let of = |tool, approved| decide(&policy, &catalogue(), &dana(), tool, "{}", approved);
    let needs = Decision::NeedsApproval { approver: Approver::Caller, policies: vec!["approved".into()] };
    assert_eq!(of("invoice_pay", false), needs);
    assert_eq!(of("invoice_pay", true), permit(&["approved"]));
    for approved in [false, true] {
        assert!(matches!(of("weather", approved), Decision::Deny { policies, .. } if policies == ["never"]));
    }
}

#[test]
fn a_policy_can_want_another_person_than_the_caller() {
    let policy = policy(
        "permit(principal, action == Action::\"list\", resource);
         @id(\"approved\") permit(principal, action in Action::\"call\", resource) when { context.approved };
         @id(\"large\") forbid(principal, action == Action::\"call:invoice_pay\", resource)
         when { context.arguments has amount && context.arguments.amount > 5 } unless { context.second_person };",
    );
    for (amount, approver) in [(5, Approver::Caller), (6, Approver::SecondPerson)] {
        let arguments = format!("{{\"amount\":{amount}}}");
        let decision = decide(&policy, &catalogue(), &dana(), "invoice_pay", &arguments, false);
        assert_eq!(decision, Decision::NeedsApproval { approver, policies: vec!["approved".into()] });
    }
}

#[test]
fn an_error_while_evaluating_denies_although_cedar_would_permit() {
    // The sum leaves the range of Long, so the prohibition fails and Cedar passes it over.
    let policy = policy(
        "permit(principal, action, resource);
         @id(\"sum\") forbid(principal, action == Action::\"call:invoice_pay\", resource)
         when { context.arguments has amount && context.arguments.amount + 1 > 100 };",
    );
    let most = r#"{"amount":9223372036854775807}"#;
    let decision = decide(&policy, &catalogue(), &dana(), "invoice_pay", most, false);
    let Decision::Deny { errors, .. } = decision else { panic!("{decision:?}") };
    assert!(errors.len() == 1 && errors[0].contains("`sum`"), "{errors:?}");
}

#[test]
fn null_is_as_absent_where_the_schema_takes_it() {
    let policy = policy(
        "permit(principal, action, resource);
         @id(\"city\") forbid(principal, action == Action::\"call:weather\", resource)
         when { context.arguments has city && context.arguments.city == \"x\" };",
    );
    let of = |arguments| decide(&policy, &catalogue(), &dana(), "weather", arguments, false);
    assert_eq!(of(r#"{"city":null}"#), permit(&["policy0"]));
    assert_eq!(of("{}"), permit(&["policy0"]));
    assert!(matches!(of(r#"{"city":"x"}"#), Decision::Deny { .. }));
}

#[test]
fn a_rule_about_the_time_is_asked_each_time() {
    let clock = Arc::new(SetClock::default());
    let text =
        "permit(principal, action, resource) when { context.time < datetime(\"2026-01-01T00:00:00Z\") };";
    let policy = loaded(&[text], Arc::clone(&clock)).policy.unwrap();
    assert!(!policy.is_steady() && !policy.is_same_for_all());
    assert_eq!(sees(&policy, &dana()).len(), 3);
    let new_year = 1_767_225_600_000_000;
    clock.0.store(new_year - 1, Ordering::Relaxed);
    assert_eq!(sees(&policy, &dana()).len(), 3);
    clock.0.store(new_year, Ordering::Relaxed);
    assert!(sees(&policy, &dana()).is_empty());
    clock.0.store(i64::MAX, Ordering::Relaxed);
    assert!(sees(&policy, &dana()).is_empty());
}

#[test]
fn a_list_that_no_policy_ties_to_the_caller_is_the_same_for_all() {
    for (text, same) in [
        ("permit(principal, action, resource);", true),
        (
            "permit(principal is Principal, action, resource) when { resource.labels.contains(\"finance\") };",
            true,
        ),
        ("permit(principal in Group::\"a\", action, resource);", false),
        ("permit(principal, action, resource) when { context has tenant };", false),
        (
            "permit(principal, action == Action::\"list\", resource);
             permit(principal in Group::\"a\", action in Action::\"call\", resource);",
            true,
        ),
    ] {
        assert_eq!(policy(text).is_same_for_all(), same, "{text}");
    }
}

#[test]
fn a_name_that_no_tool_has_costs_as_many_evaluations_as_a_hidden_tool() {
    let catalogue = catalogue();
    let weather = catalogue.find("weather").unwrap().contract();
    let clock: Arc<SetClock> = Arc::default();
    for hides in [
        "permit(principal, action, resource == Tool::\"invoice_list\") when { principal.subject == \"x\" };",
        "permit(principal, action, resource) when { context.time > datetime(\"2030-01-01\") };",
        // Rules of many shapes about single tools: which of them are asked does not depend on the name.
        "permit(principal, action, resource == Tool::\"weather\") when { context.time > datetime(\"2030-01-01\") };
         permit(principal, action, resource == Tool::\"invoice_list\") when { principal.subject like \"*a*b*c*d*\" };
         forbid(principal, action == Action::\"list\", resource == Tool::\"invoice_pay\");",
    ] {
        let policy = loaded(&[hides], Arc::clone(&clock)).policy.unwrap();
        for principal in [dana(), dana(), Principal::new("eve")] {
            // Both after and before something is known of the caller.
            let before = policy.evaluations();
            policy.look_for_nothing(&principal);
            let nothing = policy.evaluations() - before;
            let fresh = loaded(&[hides], Arc::clone(&clock)).policy.unwrap();
            if before > 0 {
                let _ = fresh.is_visible(&dana(), weather);
            }
            if policy.evaluations() == before {
                let _ = fresh.is_visible(&principal, weather);
            }
            let before = fresh.evaluations();
            assert!(!fresh.is_visible(&principal, weather));
            assert_eq!(fresh.evaluations() - before, nothing, "{hides}");
        }
    }
}

#[test]
fn what_the_time_shows_is_asked_of_every_tool_once_in_a_millisecond_whatever_is_looked_for() {
    let catalogue = catalogue();
    let clock: Arc<SetClock> = Arc::default();
    let text = "permit(principal, action, resource) when { context.time >= datetime(\"1970-01-01T00:00:00.001Z\") };";
    let policy = loaded(&[text], Arc::clone(&clock)).policy.unwrap();
    let cost = |look: &dyn Fn() -> bool| {
        let before = policy.evaluations();
        (look(), policy.evaluations() - before)
    };
    let weather = catalogue.find("weather").unwrap().contract();
    let nothing = || {
        policy.look_for_nothing(&dana());
        false
    };
    assert_eq!(cost(&nothing), (false, 3));
    assert_eq!(cost(&|| policy.is_visible(&dana(), weather)), (false, 0), "the same millisecond");
    clock.0.store(999, Ordering::Relaxed);
    assert_eq!(cost(&|| policy.is_visible(&dana(), weather)), (false, 0));
    clock.0.store(1000, Ordering::Relaxed);
    assert_eq!(cost(&|| policy.is_visible(&dana(), weather)), (true, 3));
    assert_eq!(cost(&nothing), (false, 0));
}

#[test]
fn a_call_is_decided_anew_wherever_arguments_or_the_time_matter() {
    let policy = policy(
        "permit(principal, action, resource) unless { resource.changes };
         permit(principal, action == Action::\"list\", resource);
         permit(principal, action == Action::\"call:invoice_pay\", resource)
         when { context.arguments has amount && context.arguments.amount < 5 };",
    );
    let catalogue = catalogue();
    let cost = |tool, arguments| {
        let before = policy.evaluations();
        let decision = decide(&policy, &catalogue, &dana(), tool, arguments, false);
        (decision.as_str(), policy.evaluations() - before)
    };
    assert_eq!(cost("weather", "{}").0, "permit");
    assert_eq!(cost("weather", r#"{"city":"x"}"#), ("permit", 0));
    // What the first policy says follows from the caller and the tool: it is asked once, beside the other.
    assert_eq!(cost("invoice_pay", r#"{"amount":4}"#), ("permit", 2));
    assert_eq!(cost("invoice_pay", r#"{"amount":5}"#), ("deny", 1));
    assert_eq!(cost("invoice_pay", r#"{"amount":4}"#), ("permit", 1));
}

#[test]
fn arguments_may_have_any_name() {
    let names =
        ["in", "has", "type", "__cedar", "", "a b", "a\"b\\\\", "日本", "\u{1}", "$ref", "principal", "Set"];
    let properties: Vec<_> = names
        .iter()
        .map(|name| format!("{}:{{\"type\":\"integer\"}}", serde_json::to_string(name).unwrap()))
        .collect();
    let tool = super::tool("t", callgate_core::contract::Effect::Read, &properties.join(","), &[]);
    let catalogue = callgate_core::snapshot::Catalogue::new([tool]).unwrap();
    for name in names {
        let literal = crate::cedar::types::quoted(name);
        let text = format!(
            "permit(principal, action, resource);
             forbid(principal, action == Action::\"call:t\", resource)
             when {{ context.arguments has {literal} && context.arguments[{literal}] > 5 }};"
        );
        let texts = [crate::cedar::PolicyText::new("a", text)];
        let clock: Arc<SetClock> = Arc::default();
        let loaded = super::load(&texts, "s", &catalogue, clock, Default::default());
        let policy = loaded.policy.unwrap_or_else(|| panic!("{name:?}: {:?}", loaded.faults));
        let of = |value: i64| {
            let arguments = serde_json::json!({ name: value }).to_string();
            decide(&policy, &catalogue, &dana(), "t", &arguments, false).as_str()
        };
        assert_eq!((of(5), of(6)), ("permit", "deny"), "{name:?}");
    }
}

#[test]
fn what_is_kept_of_callers_is_bounded() {
    let policy = policy("permit(principal, action, resource) when { principal.subject == \"dana\" };");
    for number in 0..5000 {
        assert!(sees(&policy, &Principal::new(format!("caller-{number}"))).is_empty());
    }
    assert!(policy.callers.len() <= policy.limits.principals, "{}", policy.callers.len());
    assert_eq!(sees(&policy, &dana()).len(), 3);
}

#[test]
fn another_group_or_scope_is_another_caller() {
    let policy = policy("permit(principal in Group::\"staff\", action, resource);");
    assert_eq!(sees(&policy, &dana()).len(), 3);
    assert!(sees(&policy, &dana().with_groups(["guests"])).is_empty());
    assert_eq!(sees(&policy, &dana()).len(), 3);
}

#[test]
fn the_revision_changes_with_policies_and_with_what_they_read_of_tools() {
    let one = policy("permit(principal, action, resource);");
    assert_eq!(one.revision(), policy("permit(principal, action, resource);").revision());
    assert_ne!(one.revision(), policy("permit(principal, action, resource); ").revision());
    let labelled = callgate_core::snapshot::Catalogue::new([super::tool(
        "weather",
        callgate_core::contract::Effect::Read,
        "",
        &["a"],
    )])
    .unwrap();
    let bare = callgate_core::snapshot::Catalogue::new([super::tool(
        "weather",
        callgate_core::contract::Effect::Read,
        "",
        &[],
    )])
    .unwrap();
    let revision = |catalogue| {
        let clock: Arc<SetClock> = Arc::default();
        super::load(&[], "s", catalogue, clock, Default::default()).policy.unwrap().revision()
    };
    assert_ne!(revision(&labelled), revision(&bare));
}

#[test]
fn a_prohibition_behind_a_carriage_return_is_in_force() {
    let policy = policy(
        "permit(principal, action, resource);\n// no writes\rforbid(principal, action, resource) \
         when { resource.changes };\n",
    );
    assert_eq!(sees(&policy, &dana()), ["invoice_list", "weather"]);
}

/// Decides of the arguments of an order, which has a price that Cedar cannot hold.
fn ordered(conditions: &str, arguments: &str) -> Decision {
    let price = r#""type":"object","properties":{"qty":{"type":"integer"},"price":{"type":"number"}},"required":["qty"]"#;
    let properties = format!(r#""order":{{{price}}},"items":{{"type":"array","items":{{{price}}}}}"#);
    let catalogue = callgate_core::snapshot::Catalogue::new([super::tool(
        "order",
        callgate_core::contract::Effect::Read,
        &properties,
        &[],
    )])
    .unwrap();
    let text = format!(
        "permit(principal, action == Action::\"list\", resource);
         @id(\"order\") permit(principal, action == Action::\"call:order\", resource) {conditions};"
    );
    let texts = [super::PolicyText::new("a.cedar", text)];
    let clock: Arc<SetClock> = Arc::default();
    let loaded = super::load(&texts, "shop", &catalogue, clock, Default::default());
    let policy = loaded.policy.unwrap_or_else(|| panic!("{:?}", loaded.faults));
    decide(&policy, &catalogue, &dana(), "order", arguments, false)
}

#[test]
fn what_is_left_out_of_an_object_is_named_and_denies_who_looks_at_the_whole() {
    let exact = r#"{"order":{"qty":1},"items":[{"qty":1}]}"#;
    let cut = r#"{"order":{"qty":1,"price":1000000.5},"items":[{"qty":1,"price":0.5}]}"#;
    for (conditions, cut_is_permitted) in [
        ("when { context.inexpressible.isEmpty() }", false),
        ("when { context.arguments has order && context.arguments.order == {qty: 1} }", false),
        ("when { context.arguments has items && context.arguments.items.contains({qty: 1}) }", false),
        ("unless { context.arguments has order && context.arguments.order has price }", false),
        ("when { context.arguments has order && context.arguments.order.qty == 1 }", true),
        ("when { context.arguments has items }", true),
    ] {
        assert_eq!(ordered(conditions, exact), permit(&["order"]), "{conditions}");
        let permitted = matches!(ordered(conditions, cut), Decision::Permit { .. });
        assert_eq!(permitted, cut_is_permitted, "{conditions}");
    }
}

#[test]
fn asking_for_an_argument_without_a_type_denies_where_it_is_there() {
    let unless = "unless { context.arguments has other }";
    assert_eq!(ordered(unless, "{}"), permit(&["order"]));
    assert!(matches!(ordered(unless, r#"{"other":1.5}"#), Decision::Deny { .. }));
}

#[test]
fn two_tokens_of_one_person_share_what_is_kept() {
    let policy = policy("permit(principal in Group::\"staff\", action, resource);");
    let tokens = [1, 2].map(|end| dana().with_expiry(callgate_core::port::Timestamp(end)));
    sees(&policy, &tokens[0]);
    let before = policy.evaluations();
    for token in tokens.iter().cycle().take(6) {
        assert_eq!(sees(&policy, token).len(), 3);
    }
    assert_eq!(policy.evaluations(), before);
}

#[test]
fn policies_that_are_asked_once_and_those_asked_each_time_decide_together_as_all_at_once() {
    // Each of these is true or false by the caller or by the argument.
    let settled = r#"when { principal.subject == "dana" }"#;
    let open = r#"when { context.arguments has n && context.arguments.n == 1 }"#;
    let catalogue = catalogue();
    for mask in 0..16_u32 {
        let mut text = String::from("permit(principal, action == Action::\"list\", resource);\n");
        for (bit, (effect, condition)) in
            [("permit", settled), ("permit", open), ("forbid", settled), ("forbid", open)]
                .into_iter()
                .enumerate()
        {
            if mask & (1 << bit) != 0 {
                text.push_str(&format!(
                    "@id(\"{effect}-{bit}\") {effect}(principal, action in Action::\"call\", resource) {condition};\n"
                ));
            }
        }
        let policy = policy(&text);
        for (who, number) in [("dana", 1), ("dana", 2), ("eve", 1), ("eve", 2), ("dana", 1)] {
            let principal = Principal::new(who).with_tenant("tenant-a");
            let arguments = format!(r#"{{"n":{number}}}"#);
            let holds = [who == "dana", number == 1];
            let named = |effect: &str, offset: usize| -> Vec<String> {
                let bits = (offset..offset + 2).filter(|bit| mask & (1 << bit) != 0 && holds[bit - offset]);
                bits.map(|bit| format!("{effect}-{bit}")).collect()
            };
            let (permits, forbids) = (named("permit", 0), named("forbid", 2));
            let wanted = if forbids.is_empty() && !permits.is_empty() {
                Decision::Permit { policies: permits }
            } else {
                Decision::Deny { policies: forbids, errors: Vec::new() }
            };
            let found = decide(&policy, &catalogue, &principal, "invoice_list", &arguments, false);
            assert_eq!(found, wanted, "{mask:04b} {who} {number}");
        }
    }
}
