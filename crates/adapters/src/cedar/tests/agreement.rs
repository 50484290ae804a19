//! Properties over random policies, principals and tools.

use std::sync::Arc;

use callgate_core::port::{Approver, Decision, Policy as _};
use callgate_core::principal::Principal;
use callgate_protocol::json::{Document, Limits};
use proptest::prelude::*;

use super::{catalogue, decide, loaded};
use crate::cedar::engine::{Asked, Concerned};
use crate::cedar::mentions::Mentions;

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("when { resource.changes }".to_owned()),
        Just("unless { resource.labels.contains(\"finance\") }".to_owned()),
        Just("when { principal.scopes.contains(\"a\") }".to_owned()),
        Just("when { principal has tenant && principal.tenant == Tenant::\"t1\" }".to_owned()),
        Just("when { context has purpose && context.purpose == \"p\" }".to_owned()),
        Just("when { context.time > datetime(\"1970-01-01\") }".to_owned()),
        Just("when { resource.name like \"invoice_*\" }".to_owned()),
    ]
}

fn call_condition() -> impl Strategy<Value = String> {
    prop_oneof![
        condition(),
        Just("when { context.approved }".to_owned()),
        Just("when { context.second_person }".to_owned()),
        Just("when { context.arguments has amount && context.arguments.amount > 5 }".to_owned()),
        Just("unless { context.inexpressible.isEmpty() }".to_owned()),
    ]
}

/// The condition, or the same inside of a record whose keys look like parts of a policy in JSON.
fn wrapped(condition: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec!["", "x", "has", "Value", "contains", "Var", ".", "Record", "left"]);
    (condition, key).prop_map(|(condition, key)| match condition.split_once(" { ") {
        Some((word, inside)) if !key.is_empty() => {
            let inside = inside.trim_end_matches(" }");
            format!("{word} {{ {{\"{key}\": {inside}}}[\"{key}\"] }}")
        }
        _ => condition,
    })
}

fn rule() -> impl Strategy<Value = String> {
    let principal = prop_oneof![
        Just("principal"),
        Just("principal in Group::\"g1\""),
        Just("principal in Tenant::\"t1\""),
        Just("principal == Principal::\"p1\""),
    ];
    let resource = prop_oneof![
        Just("resource"),
        Just("resource == Tool::\"invoice_pay\""),
        Just("resource in Server::\"billing\""),
        Just("resource is Tool"),
    ];
    let scope = prop_oneof![
        (Just("action"), wrapped(condition())),
        (Just("action == Action::\"list\""), wrapped(condition())),
        (Just("action in Action::\"call\""), wrapped(call_condition())),
        (Just("action == Action::\"call:invoice_pay\""), wrapped(call_condition())),
    ];
    (prop_oneof![3 => Just("permit"), 1 => Just("forbid")], principal, scope, resource).prop_map(
        |(effect, principal, (action, condition), resource)| {
            format!("{effect}({principal}, {action}, {resource}) {condition};")
        },
    )
}

fn principal() -> impl Strategy<Value = Principal> {
    (0..3, 0..3, 0..4, 0..4_usize, any::<bool>()).prop_map(|(subject, tenant, groups, scopes, purpose)| {
        let some = |count, prefix: &'static str| (0..count).map(move |at| format!("{prefix}{at}"));
        let mut principal = Principal::new(format!("p{subject}"))
            .with_groups(some(groups, "g"))
            .with_scopes(["a", "b", "c"].into_iter().take(scopes));
        if tenant > 0 {
            principal = principal.with_tenant(format!("t{tenant}"));
        }
        if purpose { principal.with_purpose("p") } else { principal }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What is listed and what can be called come from the same rules, whoever asks first.
    #[test]
    fn what_is_not_listed_is_never_called_and_the_ways_to_ask_agree(
        rules in prop::collection::vec(rule(), 0..6),
        principals in prop::collection::vec(principal(), 1..4),
        amount in prop_oneof![Just("1"), Just("7"), Just("9223372036854775808"), Just("1.0")],
        approved in any::<bool>(),
    ) {
        let catalogue = catalogue();
        let policy = loaded(&[&rules.concat()], Arc::default()).policy.unwrap();
        let arguments = format!("{{\"amount\":{amount}}}");
        let first = policy.visible(&principals[0], &catalogue);
        for principal in &principals {
            let set = policy.visible(principal, &catalogue);
            if policy.is_same_for_all() {
                prop_assert_eq!(&set, &first);
            }
            for (at, tool) in catalogue.tools().enumerate() {
                let contract = tool.contract();
                prop_assert_eq!(set.contains(at), policy.is_visible(principal, contract));
                let name = contract.name().as_str();
                let given = if name == "invoice_pay" { arguments.as_str() } else { "{}" };
                let decision = decide(&policy, &catalogue, principal, name, given, approved);
                if !matches!(decision, Decision::Deny { .. }) {
                    prop_assert!(set.contains(at), "{} {:?}", name, decision);
                }
                // An approval never takes away what is permitted without one, in these policies.
                if let Decision::NeedsApproval { approver: Approver::Caller, .. } = decision {
                    let approved = decide(&policy, &catalogue, principal, name, given, true);
                    prop_assert!(matches!(approved, Decision::Permit { .. }), "{:?}", approved);
                }
            }
        }
    }

    /// Reading a policy finds everything that it looks at: what it is not given changes nothing.
    #[test]
    fn what_cedar_is_not_told_changes_no_answer(
        rules in prop::collection::vec(rule(), 0..6),
        who in principal(),
        arguments in prop::sample::select(vec!["{}", r#"{"amount":3}"#, r#"{"amount":7}"#]),
        approved in any::<bool>(),
    ) {
        let catalogue = catalogue();
        let policy = loaded(&[&rules.concat()], Arc::default()).policy.unwrap();
        let document = Document::parse(arguments, &Limits::DEFAULT).unwrap();
        let (_, judged) = policy.find(catalogue.find("invoice_pay").unwrap().contract()).unwrap();
        let caller = policy.caller(&who).unwrap();
        let asked = Asked { principal: &who, arguments: document.root(), approved, second_person: approved, at: None };
        let told_all = |concerned: &Concerned| {
            let (rules, set) = (concerned.rules.clone(), concerned.set.clone());
            let mentions = Mentions {
                caller: true, time: true, approved: true, second_person: true, inexpressible: true, everything: true,
                ..Mentions::default()
            };
            Concerned { rules, set, mentions }
        };
        let told = policy.list(&judged.list, judged, &who, &caller, None);
        prop_assert_eq!(&told, &policy.list(&told_all(&judged.list), judged, &who, &caller, None));
        prop_assert!(told.errors.is_empty(), "{:?}", told);
        let told = policy.call(&judged.call, judged, &caller, asked);
        prop_assert_eq!(&told, &policy.call(&told_all(&judged.call), judged, &caller, asked));
        prop_assert!(told.errors.is_empty(), "{:?}", told);
    }
}
