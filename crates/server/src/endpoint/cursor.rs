//! Cursors of lists: opaque to clients, checked when they come back, stable when the list changes.
//!
//! A cursor names the entry after which the next page starts, so it needs no memory on the server and
//! stays valid on every instance. It carries a check, so that a text we did not make is refused and not
//! taken for a place. It holds nothing that the client has not just been shown. Where callers see different
//! lists it is bound to one of them by a tag, so that it is no place in another one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_core::contract::digest::Digest;

use super::list::ListKind;

const VERSION: u8 = 1;
const CHECK: std::ops::Range<usize> = 2..8;
/// The longest cursor that is looked at, in characters.
const CURSOR_MAX: usize = 16 << 10;

/// The cursor of the page after `key`.
pub(crate) fn encode(kind: ListKind, tag: &str, key: &str) -> String {
    let mut bytes = Vec::with_capacity(CHECK.end + key.len());
    bytes.extend_from_slice(&[VERSION, kind.letter()]);
    bytes.extend_from_slice(&check(kind, tag, key));
    bytes.extend_from_slice(key.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The key after which the page starts, if the cursor is one of ours and of this list.
pub(crate) fn decode(kind: ListKind, tag: &str, cursor: &str) -> Option<String> {
    if cursor.len() > CURSOR_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let key = String::from_utf8(bytes.get(CHECK.end..)?.to_vec()).ok()?;
    let ours = bytes.get(..CHECK.start) == Some(&[VERSION, kind.letter()])
        && bytes.get(CHECK) == Some(&check(kind, tag, &key));
    ours.then_some(key)
}

fn check(kind: ListKind, tag: &str, key: &str) -> [u8; 6] {
    // Neither a kind nor a tag holds a space.
    let text = format!("callgate/list-cursor/1 {} {tag} {key}", kind.member());
    let digest = Digest::of_bytes(text.as_bytes());
    let [a, b, c, d, e, f, ..] = *digest.as_bytes();
    [a, b, c, d, e, f]
}
