//! Finds form fields that ask for a secret.
//!
//! It judges by the name alone, so it finds the careless and not the cunning. Source:
//! <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#user-interaction-model>

use callgate_protocol::json::{Document, Limits};

/// Words that name a secret when they stand alone in a field's name.
const WORDS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "credentials",
    "cvv",
    "cvc",
    "pin",
    "apikey",
];
/// Pairs of words that name a secret together.
const PAIRS: [(&str, &str); 5] =
    [("api", "key"), ("private", "key"), ("access", "key"), ("card", "number"), ("credit", "card")];

/// The first field of a form that asks for a secret.
pub(super) fn asked_for_in(schema: &str) -> Option<String> {
    let document = Document::parse(schema, &Limits::DEFAULT).ok()?;
    let fields = document.root().get("properties")?;
    fields.members().find_map(|(name, _)| name.as_str().filter(|name| names_a_secret(name)).map(Into::into))
}

fn names_a_secret(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| WORDS.contains(&word.as_str()))
        || words.windows(2).any(|pair| match pair {
            [one, other] => PAIRS.contains(&(one, other)),
            _ => false,
        })
}

/// The words of a name in snake case, kebab case or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let starts_word = !character.is_alphanumeric() || (character.is_uppercase() && was_lower);
        if starts_word {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::names_a_secret;

    #[test]
    fn a_field_named_like_a_secret_is_found_and_an_ordinary_one_is_not() {
        for name in ["password", "userPassword", "api_key", "apiKey", "card-number", "accessToken", "PIN"] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in ["name", "pinned", "key", "tokens_used_by", "card", "passenger", "secretary", "number"] {
            assert!(!names_a_secret(name), "{name}");
        }
    }
}
