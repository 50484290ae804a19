//! The address of an artifact: `artifact://callgate/<id>`, and a part of it by `?offset=..&length=..`.
//!
//! There is one way to write each address. Reading and linking use it.

use std::fmt::Write as _;

use crate::contract::digest::{Digest, DigestBuilder};
use crate::port::{Entropy, EntropyError};

const START: &str = "artifact://callgate/";
/// Random bytes of an id.
const RANDOM: usize = 20;

/// True for a URI that no other resource can have.
#[must_use]
pub fn is_artifact(uri: &str) -> bool {
    uri.starts_with(START)
}

/// True for a media type whose contents are text in UTF-8.
#[must_use]
pub fn is_text(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    kind.starts_with("text/")
        || matches!(kind, "application/json" | "application/x-ndjson" | "application/xml")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

/// The address of an artifact or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    id: String,
    pub(super) offset: u64,
    pub(super) length: Option<u64>,
}

impl Address {
    /// An address that nobody can guess.
    pub(super) fn generate(entropy: &dyn Entropy) -> Result<Self, EntropyError> {
        let mut random = [0; RANDOM];
        entropy.fill(&mut random)?;
        let mut id = String::with_capacity(2 * RANDOM);
        for byte in random {
            // Writing to a string cannot fail.
            let _ = write!(id, "{byte:02x}");
        }
        Ok(Self { id, offset: 0, length: None })
    }

    /// Reads an address; anything that is not exactly one is none.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(START)?;
        let (id, query) = match rest.split_once('?') {
            Some((id, query)) => (id, Some(query)),
            None => (rest, None),
        };
        let is_id =
            id.len() == 2 * RANDOM && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_id {
            return None;
        }
        let (mut offset, mut length) = (None, None);
        for pair in query.into_iter().flat_map(|query| query.split('&')) {
            let (name, value) = pair.split_once('=')?;
            let place = match name {
                "offset" => &mut offset,
                "length" => &mut length,
                _ => return None,
            };
            if place.replace(number(value)?).is_some() {
                return None;
            }
        }
        // A part of no length would have itself as its next.
        let length = length.map_or(Some(None), |length| (length > 0).then_some(Some(length)))?;
        Some(Self { id: id.to_owned(), offset: offset.unwrap_or(0), length })
    }

    /// The URI of the whole.
    pub(super) fn uri(&self) -> String {
        format!("{START}{}", self.id)
    }

    /// The URI of the part that begins there and is as long as this one.
    pub(super) fn at(&self, offset: u64) -> String {
        match self.length {
            Some(length) => format!("{}?offset={offset}&length={length}", self.uri()),
            None => format!("{}?offset={offset}", self.uri()),
        }
    }

    /// What the store knows of it.
    pub(super) fn key(&self) -> Digest {
        let mut builder = DigestBuilder::new("callgate/artifact/1");
        builder.field("id", &self.id);
        builder.finish()
    }
}

fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_one_spelling = text == "0" || !text.starts_with('0');
    (is_plain && has_one_spelling).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{Address, is_text};

    const ID: &str = "00112233445566778899aabbccddeeff00112233";

    #[test]
    fn an_address_has_one_spelling() {
        let whole = Address::parse(&format!("artifact://callgate/{ID}")).unwrap();
        assert_eq!((whole.offset, whole.length), (0, None));
        assert_eq!(Address::parse(&whole.uri()), Some(whole.clone()));
        let part = Address::parse(&format!("artifact://callgate/{ID}?offset=10&length=5")).unwrap();
        assert_eq!((part.offset, part.length), (10, Some(5)));
        assert_eq!(part.at(15), format!("artifact://callgate/{ID}?offset=15&length=5"));
        assert_eq!(part.key(), whole.key());
        for wrong in [
            "",
            "?",
            "?offset",
            "?offset=",
            "?offset=-1",
            "?offset=+1",
            "?offset=01",
            "?offset=1&offset=2",
            "?offset=99999999999999999999",
            "?length=0",
            "?page=1",
            "?offset=1&",
            "#x",
            "/",
            "0",
        ] {
            assert_eq!(Address::parse(&format!("artifact://callgate/{}{wrong}", &ID[2..])), None, "{wrong}");
            if !wrong.is_empty() {
                assert_eq!(Address::parse(&format!("artifact://callgate/{ID}{wrong}")), None, "{wrong}");
            }
        }
        assert_eq!(Address::parse(&format!("artifact://callgate/{}", ID.to_uppercase())), None);
        assert_eq!(Address::parse(&format!("artifact://other/{ID}")), None);
    }

    #[test]
    fn text_is_known_by_its_type() {
        for text in ["text/csv", "text/plain; charset=utf-8", "application/json", "image/svg+xml"] {
            assert!(is_text(text), "{text}");
        }
        for other in ["image/png", "application/pdf", "", "textual/x"] {
            assert!(!is_text(other), "{other}");
        }
    }
}
