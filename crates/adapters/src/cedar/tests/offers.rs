//! Resources and prompts under policies: who may know them, who may use them, and what the schema says of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use callgate_core::offer::{Offer, OfferKind};
use callgate_core::port::{Answer, Decision, Policy as _, UseQuestion};
use callgate_core::principal::Principal;
use callgate_core::snapshot::Catalogue;
use proptest::prelude::*;

use super::{SetClock, catalogue, dana};
use crate::cedar::{CedarPolicy, Loaded, PolicyLimits, PolicyText, load};

fn offers() -> Catalogue {
    let labelled = |offer: Offer, label: &str| offer.with_labels(vec![label.to_owned()]);
    let offers = [
        labelled(Offer::new(OfferKind::Resource, "doc:terms"), "public"),
        Offer::new(OfferKind::Resource, "doc:audit"),
        labelled(Offer::new(OfferKind::Template, "invoice://{tenant}/{n}"), "finance")
            .with_inputs(vec!["tenant".to_owned(), "n".to_owned()]),
        Offer::new(OfferKind::Prompt, "letter").with_inputs(vec!["language".to_owned()]),
        labelled(Offer::new(OfferKind::Prompt, "reminder"), "finance"),
    ];
    catalogue().with_offers(offers.map(Arc::new))
}

fn loaded(text: &str, clock: Arc<SetClock>) -> Loaded {
    load(&[PolicyText::new("0.cedar", text)], "billing", &offers(), clock, PolicyLimits::default())
}

fn policy(text: &str) -> CedarPolicy {
    let loaded = loaded(text, Arc::default());
    loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.faults))
}

fn decide(policy: &CedarPolicy, principal: &Principal, offer: &Offer, inputs: &[(&str, &str)]) -> Decision {
    let inputs: BTreeMap<_, _> =
        inputs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    match policy.decide_use(UseQuestion::new(principal, offer, &inputs)) {
        Answer::Now(Some(decision)) => decision.unwrap(),
        _ => panic!("the policy waits"),
    }
}

fn all(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<Offer>> {
    OfferKind::ALL.into_iter().flat_map(|kind| catalogue.offers(kind))
}

/// What the principal may know, and what of it it may use without choosing anything.
fn seen_and_used(policy: &CedarPolicy, principal: &Principal) -> (Vec<String>, Vec<String>) {
    let catalogue = offers();
    let seen = all(&catalogue).filter(|offer| policy.is_offered(principal, offer));
    let used = all(&catalogue)
        .filter(|offer| matches!(decide(policy, principal, offer, &[]), Decision::Permit { .. }));
    let names = |offer: &Arc<Offer>| offer.name().to_owned();
    (seen.map(names).collect(), used.map(names).collect())
}

const ALL: [&str; 5] = ["doc:audit", "doc:terms", "invoice://{tenant}/{n}", "letter", "reminder"];

#[test]
fn kinds_labels_servers_callers_and_names_decide() {
    for (text, seen, used) in [
        ("", &[][..], &[][..]),
        ("permit(principal, action, resource);", &ALL, &ALL),
        ("permit(principal, action == Action::\"list\", resource);", &ALL, &[]),
        ("permit(principal, action == Action::\"read\", resource);", &[], &[]),
        ("permit(principal, action, resource is Resource);", &ALL[..3], &ALL[..3]),
        ("permit(principal, action, resource is Prompt);", &ALL[3..], &ALL[3..]),
        ("permit(principal, action, resource is Tool);", &[], &[]),
        ("permit(principal, action, resource in Server::\"billing\");", &ALL, &ALL),
        ("permit(principal, action, resource == Resource::\"doc:terms\");", &ALL[1..2], &ALL[1..2]),
        ("permit(principal in Group::\"guests\", action, resource);", &[], &[]),
        (
            "permit(principal, action, resource) when { resource.labels.contains(\"finance\") };",
            &["invoice://{tenant}/{n}", "reminder"],
            &["invoice://{tenant}/{n}", "reminder"],
        ),
        (
            "permit(principal, action, resource is Resource) unless { resource.template };",
            &ALL[..2],
            &ALL[..2],
        ),
        (
            "permit(principal, action, resource);
             forbid(principal, action == Action::\"get\", resource == Prompt::\"letter\");",
            &ALL,
            &["doc:audit", "doc:terms", "invoice://{tenant}/{n}", "reminder"],
        ),
    ] {
        let found = seen_and_used(&policy(text), &dana());
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(found, (own(seen), own(used)), "{text}");
    }
}

#[test]
fn the_variables_of_a_template_and_the_arguments_of_a_prompt_decide() {
    let policy = policy(
        "permit(principal, action == Action::\"list\", resource);
         @id(\"own\") permit(principal, action == Action::\"read\", resource)
         when { context.variables has tenant && context has tenant && context.variables.tenant == context.tenant };
         @id(\"english\") permit(principal, action == Action::\"get\", resource)
         when { context.arguments has language && context.arguments.language == \"en\" };",
    );
    let catalogue = offers();
    let invoice = catalogue.offer(OfferKind::Template, "invoice://{tenant}/{n}").unwrap();
    let letter = catalogue.offer(OfferKind::Prompt, "letter").unwrap();
    let permits = |offer: &Offer, inputs: &[(&str, &str)]| {
        matches!(decide(&policy, &dana(), offer, inputs), Decision::Permit { .. })
    };
    assert!(permits(invoice, &[("tenant", "tenant-a"), ("n", "7")]));
    assert!(!permits(invoice, &[("tenant", "tenant-b"), ("n", "7")]));
    assert!(!permits(invoice, &[]));
    assert!(permits(letter, &[("language", "en"), ("undeclared", "x")]));
    assert!(!permits(letter, &[("language", "de")]));
    // What is too large to be looked at denies.
    let long = "x".repeat(PolicyLimits::default().argument_bytes);
    let decision = decide(&policy, &dana(), letter, &[("language", &long)]);
    assert!(!matches!(decision, Decision::Permit { .. }));
    let decision = decide(&policy, &dana(), letter, &[("language", &format!("{long}x"))]);
    assert_eq!(decision.errors(), ["the arguments are larger than policies look at"]);
}

#[test]
fn what_no_resource_and_no_prompt_has_is_a_fault_and_tools_are_named_where_only_they_are_meant() {
    for (text, code) in [
        ("permit(principal, action, resource == Resource::\"doc:other\");", "unknown_resource"),
        ("permit(principal, action, resource == Prompt::\"leter\");", "unknown_prompt"),
        ("permit(principal, action == Action::\"fetch\", resource);", "unknown_action"),
        ("permit(principal, action == Action::\"get\", resource is Resource);", "never_applies"),
        (
            "permit(principal, action == Action::\"read\", resource) when { context.variables.tenat == \"a\" };",
            "unknown_attribute",
        ),
        (
            "permit(principal, action == Action::\"read\", resource) when { context.variables.tenant == \"a\" };",
            "optional_attribute",
        ),
    ] {
        let loaded = loaded(text, Arc::default());
        assert!(loaded.policy.is_none(), "{text}");
        assert!(loaded.faults.iter().any(|fault| fault.code == code), "{text}: {:?}", loaded.faults);
    }
    let text = "permit(principal, action, resource) unless { resource.changes };";
    let loaded = loaded(text, Arc::default());
    assert!(
        loaded.faults.iter().any(|fault| fault.remedy.contains("resource is Tool")),
        "{:?}",
        loaded.faults
    );
    // Where there is nothing else, policies about tools need not say so.
    assert!(super::loaded(&[text], Arc::default()).policy.is_some());
}

#[test]
fn the_schema_has_resources_and_prompts_where_the_server_has_them() {
    let with = crate::cedar::schema(&offers(), &PolicyLimits::default());
    for part in [
        "resource: [Tool, Resource, Prompt],",
        "entity Resource in [Server] {",
        "action read appliesTo {",
        "variables: {\"n\"?: String, \"tenant\"?: String},",
        "action get appliesTo {",
        "arguments: {\"language\"?: String},",
    ] {
        assert!(with.contains(part), "{part} in {with}");
    }
    let without = crate::cedar::schema(&catalogue(), &PolicyLimits::default());
    assert!(!without.contains("Resource") && !without.contains("Prompt"), "{without}");
    assert_ne!(policy("").revision(), super::policy("").revision());
}

#[test]
fn a_rule_about_the_caller_or_the_time_of_one_prompt_makes_every_list_private_or_unsteady() {
    let by_caller = policy("permit(principal in Group::\"staff\", action, resource is Prompt);");
    assert!(!by_caller.is_same_for_all() && by_caller.is_steady());
    let by_time = loaded(
        "permit(principal, action, resource is Prompt) when { context.time > datetime(\"1970-01-02\") };",
        Arc::default(),
    );
    let by_time = by_time.policy.unwrap();
    assert!(!by_time.is_same_for_all() && !by_time.is_steady());
    let of_use = policy(
        "permit(principal, action == Action::\"list\", resource);
         permit(principal in Group::\"staff\", action == Action::\"get\", resource);",
    );
    assert!(of_use.is_same_for_all() && of_use.is_steady());
}

#[test]
fn a_name_that_nothing_has_costs_as_many_evaluations_as_what_is_hidden() {
    let clock = Arc::new(SetClock::default());
    clock.0.store(1, Ordering::Relaxed);
    for text in [
        "permit(principal in Group::\"others\", action, resource);",
        "permit(principal, action, resource) when { context.time > datetime(\"2030-01-01\") };",
    ] {
        let policy = loaded(text, Arc::clone(&clock)).policy.unwrap();
        let catalogue = offers();
        for kind in OfferKind::ALL {
            let hidden = &catalogue.offers(kind)[0];
            let count = |ask: &dyn Fn()| {
                let before = policy.evaluations();
                ask();
                policy.evaluations() - before
            };
            // The first question makes what is kept of the caller.
            policy.is_offered(&dana(), hidden);
            let of_hidden = count(&|| assert!(!policy.is_offered(&dana(), hidden)));
            assert_eq!(of_hidden, count(&|| policy.look_for_no_offer(&dana(), kind)), "{kind:?} {text}");
        }
    }
}

fn rule() -> impl Strategy<Value = String> {
    let principal = prop::sample::select(vec![
        "principal",
        "principal in Group::\"g1\"",
        "principal in Tenant::\"t1\"",
        "principal == Principal::\"p1\"",
    ]);
    let scope = prop::sample::select(vec![
        ("action", "resource is Resource", ""),
        ("action", "resource is Prompt", ""),
        ("action", "resource", "when { principal.scopes.contains(\"a\") }"),
        ("action", "resource", "when { resource.labels.contains(\"finance\") }"),
        ("action", "resource", "when { context.time > datetime(\"1970-01-01\") }"),
        ("action", "resource is Resource", "unless { resource.template }"),
        ("action == Action::\"list\"", "resource", ""),
        ("action == Action::\"list\"", "resource", "when { context has tenant }"),
        ("action == Action::\"read\"", "resource", ""),
        (
            "action == Action::\"read\"",
            "resource",
            "when { context.variables has tenant && context.variables.tenant == \"t1\" }",
        ),
        ("action == Action::\"get\"", "resource == Prompt::\"letter\"", "when { context has purpose }"),
        ("action == Action::\"get\"", "resource", "unless { context.arguments has language }"),
    ]);
    (prop_oneof![3 => Just("permit"), 1 => Just("forbid")], principal, scope).prop_map(
        |(effect, principal, (action, resource, condition))| {
            format!("{effect}({principal}, {action}, {resource}) {condition};")
        },
    )
}

fn principal() -> impl Strategy<Value = Principal> {
    (0..3, 0..3, 0..3, any::<bool>()).prop_map(|(subject, tenant, groups, scoped)| {
        let mut principal = Principal::new(format!("p{subject}"))
            .with_groups((0..groups).map(|at| format!("g{at}")))
            .with_scopes(scoped.then_some("a"));
        if tenant > 0 {
            principal = principal.with_tenant(format!("t{tenant}"));
        }
        principal
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// What is listed and what can be read come from the same rules, whoever asks first.
    #[test]
    fn what_is_not_listed_is_never_read_and_the_ways_to_ask_agree(
        rules in prop::collection::vec(rule(), 0..6),
        principals in prop::collection::vec(principal(), 1..4),
        inputs in prop::sample::select(vec![&[][..], &[("tenant", "t1")], &[("tenant", "t2"), ("language", "en")]]),
    ) {
        let (catalogue, clock) = (offers(), Arc::new(SetClock::default()));
        clock.0.store(1_000_000, Ordering::Relaxed);
        let loaded = loaded(&rules.concat(), clock);
        prop_assert!(loaded.policy.is_some(), "{:?}", loaded.faults);
        let policy = loaded.policy.unwrap();
        for kind in OfferKind::ALL {
            let offers = catalogue.offers(kind);
            let first = policy.offered(&principals[0], offers);
            for principal in &principals {
                let set = policy.offered(principal, offers);
                if policy.is_same_for_all() {
                    prop_assert_eq!(&set, &first);
                }
                for (at, offer) in offers.iter().enumerate() {
                    prop_assert_eq!(set.contains(at), policy.is_offered(principal, offer));
                    let decision = decide(&policy, principal, offer, inputs);
                    prop_assert_ne!(decision.as_str(), "needs_approval");
                    if matches!(decision, Decision::Permit { .. }) {
                        prop_assert!(set.contains(at), "{} {:?}", offer.name(), decision);
                    }
                }
                // Something of the same name that the policies were not judged with is nothing to them.
                let other = Offer::new(kind, offers[0].name()).with_scopes(vec!["other".to_owned()]);
                prop_assert!(!policy.is_offered(principal, &other));
                prop_assert_eq!(decide(&policy, principal, &other, inputs).as_str(), "deny");
            }
        }
    }
}
