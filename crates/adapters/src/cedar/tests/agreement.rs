//! Properties over random policies, principals and tools.

use std::sync::Arc;

use callgate_core::port::{Decision, Policy as _};
use callgate_core::principal::Principal;
use proptest::prelude::*;

use super::{catalogue, decide, loaded};

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
        Just("when { context.arguments has amount && context.arguments.amount > 5 }".to_owned()),
        Just("unless { context.inexpressible.isEmpty() }".to_owned()),
    ]
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
        (Just("action"), condition()),
        (Just("action == Action::\"list\""), condition()),
        (Just("action in Action::\"call\""), call_condition()),
        (Just("action == Action::\"call:invoice_pay\""), call_condition()),
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
                if let Decision::NeedsApproval { .. } = decision {
                    let approved = decide(&policy, &catalogue, principal, name, given, true);
                    prop_assert!(matches!(approved, Decision::Permit { .. }), "{:?}", approved);
                }
            }
        }
    }

    /// Reading a policy finds everything that it looks at: what it is not given changes nothing.
    #[test]
    fn what_cedar_is_told_fits_the_schema(
        rules in prop::collection::vec(rule(), 0..6),
        who in principal(),
    ) {
        let catalogue = catalogue();
        let policy = loaded(&[&rules.concat()], Arc::default()).policy.unwrap();
        let decision = decide(&policy, &catalogue, &who, "invoice_pay", r#"{"amount":3}"#, false);
        let hidden = ["what may not be listed may not be called".to_owned()];
        prop_assert!(decision.errors().is_empty() || decision.errors() == hidden, "{:?}", decision);
    }
}
