//! A secret of the configuration once it was read.
//!
//! It must never get into a log, an error or a debug form; [`Secret::expose`] is the one way to its text,
//! so that every use can be found. The gateway makes secrets from references; adapters use them.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

/// A text that nobody may see. It is wiped from memory when it is dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes a text in.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(SecretString::from(text))
    }

    /// The text.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose().as_bytes().ct_eq(other.expose().as_bytes()).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn the_debug_form_of_a_secret_does_not_show_it() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(not shown)");
        assert!(secret == Secret::new("hunter2".to_owned()));
        assert!(secret != Secret::new("hunter3".to_owned()));
    }
}
