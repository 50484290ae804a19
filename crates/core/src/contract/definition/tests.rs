use super::Definition;
use crate::contract::{Contract, Effect};
use crate::limits::Limits;

fn definition() -> Definition {
    let mut definition = Definition::new(
        "invoice_list",
        Effect::Read,
        r#"{ "type": "object", "properties": { "n": { "type": "integer", "maximum": 9007199254740993 } } }"#,
    );
    definition.description = Some("Lists \"open\" invoices".into());
    definition
}

#[test]
fn a_definition_is_rendered_in_one_line_with_derived_annotations() {
    let contract = Contract::new(&definition(), &Limits::default()).unwrap();
    assert_eq!(
        contract.rendered(),
        r#"{"name":"invoice_list","description":"Lists \"open\" invoices","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#
    );
}

#[test]
fn the_digest_follows_everything_that_is_seen_or_decides() {
    let digest = |definition: &Definition| Contract::new(definition, &Limits::default()).unwrap().digest();
    let base = digest(&definition());
    let mut spaced = definition();
    spaced.input_schema =
        r#"{"properties":{"n":{"maximum":9007199254740993.0,"type":"integer"}},"type":"object"}"#.into();
    assert_eq!(digest(&spaced), base);
    let mut rounded = definition();
    rounded.input_schema = rounded.input_schema.replace("0993", "0992");
    assert_ne!(digest(&rounded), base);
    let mut described = definition();
    described.description = Some("Lists open invoices".into());
    assert_ne!(digest(&described), base);
    let mut effect = definition();
    effect.effect = Effect::Preview;
    assert_ne!(digest(&effect), base, "the effect counts even where annotations are equal");
    let mut implemented = definition();
    implemented.implementation = Some("select 1".into());
    assert_ne!(digest(&implemented), base, "what carries the tool out counts, though nobody sees it");
}

#[test]
fn all_faults_are_found_at_once() {
    let mut bad = definition();
    bad.name = "invoice list".into();
    bad.input_schema = r#"{"type":"string"}"#.into();
    bad.output_schema = Some("[".into());
    bad.icons = Some("{}".into());
    bad.description = Some("x".repeat(8193));
    let faults = Contract::new(&bad, &Limits::default()).unwrap_err();
    let members: Vec<_> = faults.iter().map(|fault| fault.member).collect();
    for member in ["name", "inputSchema", "outputSchema", "icons", "description"] {
        assert!(members.contains(&member), "{member} not in {members:?}");
    }
}

#[test]
fn a_key_of_the_metadata_that_the_protocol_does_not_allow_is_a_fault_at_its_place() {
    let with = |meta: &str| {
        let mut definition = definition();
        definition.meta = Some(meta.into());
        Contract::new(&definition, &Limits::default()).map(|_| ()).map_err(|faults| {
            faults.iter().map(|fault| format!("{}{}", fault.member, fault.pointer)).collect::<Vec<_>>()
        })
    };
    assert_eq!(with(r#"{"com.example/a_b":1,"plain":{"any key":2},"com.example/":3}"#), Ok(()));
    assert_eq!(
        with(r#"{"no spaces":1,"good":2,"1st.example/x":3,"_x":4}"#),
        Err(vec!["_meta/no spaces".into(), "_meta/1st.example~1x".into(), "_meta/_x".into()])
    );
}
