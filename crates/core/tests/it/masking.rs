//! Masked fields: no way out of the gate shows them.

use callgate_core::contract::{Definition, Mask};
use callgate_core::outcome::{Outcome, ToolOutput};
use callgate_core::port::{Answer, Execution};

use super::support::{Gate, code, definition, tool};

fn masked() -> Definition {
    let mut definition = definition("account");
    definition.output_schema =
        Some(r#"{"type":"object","properties":{"iban":{"type":"string","maxLength":9}}}"#.into());
    definition.masked = vec![Mask::new("/iban", 4)];
    definition
}

async fn outcome(output: fn() -> ToolOutput) -> (String, &'static str) {
    let gate = Gate::new([tool(&masked(), move |_| Answer::now(Execution::Complete(output())))]);
    let result = gate.call("account", "{}").await;
    let text = match result.as_ref().unwrap().outcome() {
        Outcome::Complete(output) => {
            assert!(output.content.is_none());
            output.structured.as_ref().map(|document| document.text().to_owned()).unwrap_or_default()
        }
        Outcome::Failed(refusal) => format!("{refusal} {:?}", refusal.detail()),
        Outcome::InputRequired(_) => panic!("nothing is asked"),
    };
    (text, code(&result))
}

#[tokio::test]
async fn what_leaves_is_masked_and_is_what_the_schema_judged() {
    // The value itself is longer than the schema allows; the mark is not.
    let (text, code) = outcome(|| ToolOutput::structured(r#"{"iban":"DE02120300000000202051"}"#)).await;
    assert_eq!((text.as_str(), code), (r#"{"iban":"•••• 2051"}"#, "complete"));
}

#[tokio::test]
async fn parts_that_cannot_be_masked_are_refused_without_a_value() {
    let cases: [fn() -> ToolOutput; 7] = [
        || ToolOutput::text("DE02120300000000202051"),
        || ToolOutput::text("DE02120300000000202051").as_error(),
        || {
            let mut output = ToolOutput::structured(r#"{"iban":null}"#);
            output.content = Some(r#"[{"type":"text","text":"DE02120300000000202051"}]"#.into());
            output
        },
        || {
            let mut output = ToolOutput::structured(r#"{"iban":null}"#);
            output.meta = Some(r#"{"iban":"DE02120300000000202051"}"#.into());
            output
        },
        || ToolOutput::structured(r#"{"iban":"DE02120300000000202051"}"#).as_error(),
        || ToolOutput::structured(r#"{"rows":[{"iban":"DE02120300000000202051"}]}"#).as_error(),
        || ToolOutput::structured(r#"{"iban":["DE02120300000000202051"]}"#).as_error(),
    ];
    for case in cases {
        let (text, code) = outcome(case).await;
        assert_eq!(code, "output_invalid");
        assert!(!text.contains("2051"), "{text}");
    }
}
