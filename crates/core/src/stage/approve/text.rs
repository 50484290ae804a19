//! What whoever approves a call reads: the tool, the server, the effect, the key arguments, and what a yes and a
//! no do.
//!
//! It must never leave anything out in silence, and never let a value look like something else: characters that
//! people do not see are written out, and a value with several lines cannot pass for a line of the question.

use std::fmt::Write as _;

use callgate_protocol::json::{Document, Kind, Limits, Value};

use crate::contract::{Contract, Effect};

/// The text about one call.
pub(in crate::stage) fn text(server: &str, contract: &Contract, arguments: Value<'_>) -> String {
    let mut out = String::from("Allow one call of ");
    match title(contract) {
        Some(title) => {
            push_quoted(&mut out, &title);
            let _ = write!(out, " ({})", contract.name());
        }
        None => out.push_str(contract.name().as_str()),
    }
    if !server.is_empty() {
        out.push_str(" of the server ");
        push_quoted(&mut out, server);
    }
    let effect = contract.effect();
    let _ = write!(out, "?\nEffect: {effect}: {}.", meaning(effect));
    push_arguments(&mut out, contract, arguments);
    out.push_str(
        "\nIf you accept: the call runs once, with exactly these arguments.\nIf you decline: nothing is done, and the \
         caller is told so.",
    );
    out
}

/// The title stands in the definition only; it is needed when a person is asked, which is seldom.
fn title(contract: &Contract) -> Option<String> {
    let document = Document::parse(contract.rendered(), &Limits::DEFAULT).ok()?;
    document.root().get("title")?.as_str().map(std::borrow::Cow::into_owned)
}

const fn meaning(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "it reads and changes nothing",
        Effect::ExternalRead => "it reads and changes nothing, and somebody outside can see that it was read",
        Effect::Preview => "it computes what a change would do and changes nothing",
        Effect::Append => "it adds something new",
        Effect::Update => "it changes something that is there",
        Effect::Destructive => "it removes or overwrites something that cannot be brought back",
    }
}

fn push_arguments(out: &mut String, contract: &Contract, arguments: Value<'_>) {
    if arguments.is_empty() {
        out.push_str("\nArguments: none.");
        return;
    }
    out.push_str("\nArguments:");
    let named = contract.confirmed();
    if named.is_empty() {
        for (name, value) in arguments.members() {
            push_argument(out, &name.as_str().unwrap_or_default(), Some(value));
        }
        return;
    }
    for name in named {
        push_argument(out, name, arguments.get(name));
    }
    let others: Vec<_> = arguments
        .members()
        .filter_map(|(name, _)| name.as_str())
        .filter(|name| !named.iter().any(|known| *known == **name))
        .collect();
    if !others.is_empty() {
        let _ = write!(out, "\nNot shown here, but part of the call ({}):", others.len());
        for (at, name) in others.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { " " });
            push_visible(out, name);
        }
    }
}

fn push_argument(out: &mut String, name: &str, value: Option<Value<'_>>) {
    out.push_str("\n- ");
    push_visible(out, name);
    out.push_str(": ");
    match value {
        None => out.push_str("(not given)"),
        Some(value) => push_value(out, value),
    }
}

/// One value: texts in quotes, numbers as they came, everything else as compact JSON.
fn push_value(out: &mut String, value: Value<'_>) {
    match value.kind() {
        Kind::String => push_quoted(out, &value.as_str().unwrap_or_default()),
        Kind::Array => {
            out.push('[');
            for (at, item) in value.items().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push_value(out, item);
            }
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            for (at, (name, item)) in value.members().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push_quoted(out, &name.as_str().unwrap_or_default());
                out.push_str(": ");
                push_value(out, item);
            }
            out.push('}');
        }
        // Numbers and the three words are ASCII.
        _ => out.push_str(value.raw()),
    }
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    push_visible(out, text);
    out.push('"');
}

/// Appends a text in which everything can be seen. What is written out stands in `‹›`, and so does `‹` itself, so
/// that no text can pretend to be another.
pub(in crate::stage) fn push_visible(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\n    | "),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            character if is_invisible(character) => {
                let _ = write!(out, "‹U+{:04X}›", u32::from(character));
            }
            character => out.push(character),
        }
    }
}

/// Characters that take no place, look like a blank, turn the direction of others, or are our own marks.
fn is_invisible(character: char) -> bool {
    (character.is_control() || (character.is_whitespace() && character != ' '))
        || matches!(character,
            '‹' | '›'
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
            // Private use shows what the reader's font makes of it.
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits as JsonLimits};

    use super::{push_visible, text};
    use crate::contract::{Contract, Definition, Effect};
    use crate::limits::Limits;

    fn visible(text: &str) -> String {
        let mut out = String::new();
        push_visible(&mut out, text);
        out
    }

    #[test]
    fn what_people_do_not_see_is_written_out_and_nothing_can_pretend_to_be_it() {
        for (text, shown) in [
            ("plain text, 日本語, é", "plain text, 日本語, é"),
            ("a\u{202e}b", "a‹U+202E›b"),
            ("a\u{200d}b\u{feff}", "a‹U+200D›b‹U+FEFF›"),
            ("\u{e0041}", "‹U+E0041›"),
            ("‹U+202E›", "‹U+2039›U+202E‹U+203A›"),
            ("a\u{a0}b\tc\r", "a‹U+00A0›b‹U+0009›c‹U+000D›"),
            ("one\ntwo", "one\n    | two"),
            (r#"a", b: "c"#, r#"a\", b: \"c"#),
            ("\u{1b}[31m", "‹U+001B›[31m"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn the_text_shows_the_named_arguments_and_says_which_it_does_not_show() {
        let mut definition = Definition::new("pay", Effect::Destructive, r#"{"type":"object"}"#);
        definition.effect = Effect::ExternalRead;
        definition.title = Some("Pay a bill".into());
        definition.confirmed = vec!["amount".into(), "to".into(), "note".into()];
        let contract = Contract::new(&definition, &Limits::default()).unwrap();
        let arguments = r#"{"to":"ACME\nEffect: read","amount":1.0,"x\u202e":1,"y":[1, {"a":null}]}"#;
        let document = Document::parse(arguments, &JsonLimits::DEFAULT).unwrap();
        assert_eq!(
            text("bank", &contract, document.root()),
            "Allow one call of \"Pay a bill\" (pay) of the server \"bank\"?\n\
             Effect: external_read: it reads and changes nothing, and somebody outside can see that it was read.\n\
             Arguments:\n- amount: 1.0\n- to: \"ACME\n    | Effect: read\"\n- note: (not given)\n\
             Not shown here, but part of the call (2): x‹U+202E›, y\n\
             If you accept: the call runs once, with exactly these arguments.\n\
             If you decline: nothing is done, and the caller is told so."
        );
        definition.confirmed.clear();
        let contract = Contract::new(&definition, &Limits::default()).unwrap();
        let shown = text("", &contract, document.root());
        assert!(shown.contains("\n- x‹U+202E›: 1\n- y: [1, {\"a\": null}]\nIf"), "{shown}");
    }
}
