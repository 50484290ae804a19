//! What is wrong with policies, where, and what is said about it.

use std::sync::Arc;

use super::loaded;
use crate::cedar::{PolicyLimits, PolicySeverity, PolicyText, check_syntax};

/// The code, the text at the place and the severity of each fault.
fn faults(text: &str) -> Vec<(&'static str, String, PolicySeverity)> {
    let loaded = loaded(&[text], Arc::default());
    let is_error = loaded.faults.iter().any(|fault| fault.severity == PolicySeverity::Error);
    assert_eq!(loaded.policy.is_none(), is_error, "{:?}", loaded.faults);
    for fault in &loaded.faults {
        println!("{} {:?}: {fault}", fault.code, &text[fault.span.clone()]);
        assert!(!fault.remedy.is_empty());
    }
    let found = loaded.faults.into_iter();
    found.map(|fault| (fault.code, text[fault.span].to_owned(), fault.severity)).collect()
}

#[test]
fn each_fault_is_found_at_its_place() {
    use PolicySeverity::{Error, Warning};
    for (text, code, place, severity) in [
        (
            "permit(principal, action, resource) when { context.tiem == 1 };",
            "unknown_attribute",
            "context.tiem",
            Error,
        ),
        ("permit(principal, action, resource == Tool::\"wether\");", "unknown_tool", "\"wether\"", Error),
        ("permit(principal, action, resource in Server::\"bill\");", "unknown_server", "\"bill\"", Error),
        (
            "permit(principal, action, resource) when { resource.labels.contains(\"finanse\") };",
            "unknown_label",
            "\"finanse\"",
            Warning,
        ),
        (
            "permit(principal, action, resource) when { resource.effect == Effect::\"raed\" };",
            "unknown_effect",
            "Effect::\"raed\"",
            Error,
        ),
        (
            "permit(principal, action, resource) when { resource.effect == \"read\" };",
            "wrong_type",
            "resource.effect == \"read\"",
            Error,
        ),
        (
            "permit(principal, action == Action::\"cal\", resource);",
            "unknown_action",
            "Action::\"cal\"",
            Error,
        ),
        (
            "permit(principal, action == Action::\"call\", resource);",
            "call_is_a_group",
            "permit(principal, action == Action::\"call\", resource);",
            Error,
        ),
        (
            "permit(principal, action in Action::\"call\", resource == Tool::\"invoice_pay\") \
             when { context.arguments.amount < 5 };",
            "unknown_attribute",
            "context.arguments.amount",
            Error,
        ),
        (
            "permit(principal, action == Action::\"call:invoice_pay\", resource) when { context.arguments.amount < 5 };",
            "optional_attribute",
            "context.arguments.amount",
            Error,
        ),
        (
            "permit(principal, action == Action::\"call:invoice_pay\", resource) when { context.arguments has rate };",
            "never_applies",
            "permit(principal, action == Action::\"call:invoice_pay\", resource) when { context.arguments has rate };",
            Warning,
        ),
        (
            "permit(principal == ?principal, action, resource);",
            "policy_template",
            "permit(principal == ?principal, action, resource);",
            Error,
        ),
        ("permit(principal in User::\"x\", action, resource);", "unknown_entity", "User", Error),
    ] {
        let found = faults(text);
        assert!(
            found.iter().any(|(found, at, is)| *found == code && at == place && *is == severity),
            "{text}\n{found:?}"
        );
    }
}

#[test]
fn an_argument_can_be_asked_for_across_tools() {
    let text = "permit(principal, action, resource);
        forbid(principal, action in Action::\"call\", resource)
        when { context.arguments has amount && context.arguments.amount > 5 };";
    assert_eq!(faults(text), []);
}

/// However deep a policy is, it is loaded or refused at its bound, and nothing stops the process.
#[test]
fn a_deep_policy_is_refused_before_it_is_parsed() {
    let deep = [
        ("(", "true", ")"),
        ("if true then ", "true", " else false"),
        ("[", "true", "]"),
        ("{a: ", "true", "}"),
        ("true && ", "true", ""),
        ("1 + ", "1 == 1", ""),
        ("!", "true", ""),
        ("context", ".x", ""),
    ];
    for (open, middle, close) in deep {
        for times in [20, 100, 490, 3000, 30_000] {
            let middle = if open == "context" { middle.repeat(times) } else { middle.to_owned() };
            let opens = if open == "context" { open.to_owned() } else { open.repeat(times) };
            let text = format!(
                "permit(principal, action, resource) when {{ {opens}{middle}{} }};",
                close.repeat(times)
            );
            let loaded = loaded(&[&text], Arc::default());
            assert!(loaded.policy.is_some() || !loaded.faults.is_empty());
            if times > 500 {
                assert_eq!(loaded.faults[0].code, "policy_too_large", "{open} {times}");
            }
        }
    }
}

#[test]
fn names_that_stand_twice_and_syntax_are_found_before_any_catalogue_is_known() {
    let texts = [
        PolicyText::new("a", "@id(\"x\") permit(principal, action, resource);"),
        PolicyText::new(
            "b",
            "\n@id(\"x\") permit(principal, action, resource);\npermit(principal, action, resorce);",
        ),
        PolicyText::new("c", "@id(\"x\") forbid(principal, action, resource);"),
    ];
    let found = check_syntax(&texts, &PolicyLimits::default());
    let found: Vec<_> = found.iter().map(|fault| (fault.code, fault.text, fault.span.start)).collect();
    assert_eq!(found, [("bad_policy", Some(1), 73), ("duplicate_policy", Some(2), 0)]);
}
