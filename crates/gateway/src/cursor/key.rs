//! The place of an item as bytes, for the inside of a sealed cursor.
//!
//! Only sealed bytes of our own are ever read here, but they are read as if they were not: any bytes
//! give a key or nothing. The seals call it.

use callgate_core::port::KeyValue;

/// Keys have a handful of parts; more are not ours.
const PARTS_MAX: usize = 64;

/// The bytes of a key.
pub(crate) fn encode(key: &[KeyValue]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in key {
        let (tag, payload): (u8, &[u8]) = match value {
            KeyValue::Null => (b'n', &[]),
            KeyValue::Integer(number) => (b'i', &number.to_be_bytes()),
            KeyValue::Real(number) => (b'r', &number.to_be_bytes()),
            KeyValue::Text(text) => (b't', text.as_bytes()),
            KeyValue::Blob(blob) => (b'b', blob),
        };
        bytes.push(tag);
        // A key of more than four gigabytes does not fit into any row.
        bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(payload);
    }
    bytes
}

/// The key of bytes, if they are one.
pub(crate) fn decode(mut bytes: &[u8]) -> Option<Vec<KeyValue>> {
    let mut key = Vec::new();
    while let Some((tag, rest)) = bytes.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (payload, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        key.push(match tag {
            b'n' if payload.is_empty() => KeyValue::Null,
            b'i' => KeyValue::Integer(i64::from_be_bytes(payload.try_into().ok()?)),
            b'r' => KeyValue::Real(f64::from_be_bytes(payload.try_into().ok()?)),
            b't' => KeyValue::Text(std::str::from_utf8(payload).ok()?.to_owned()),
            b'b' => KeyValue::Blob(payload.to_vec()),
            _ => return None,
        });
        if key.len() > PARTS_MAX {
            return None;
        }
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_as_it_was() {
        let key = vec![
            KeyValue::Null,
            KeyValue::Integer(i64::MIN),
            KeyValue::Real(-0.1),
            KeyValue::Text("é\0".to_owned()),
            KeyValue::Blob(vec![0, 255]),
        ];
        let bytes = encode(&key);
        assert_eq!(decode(&bytes), Some(key));
        for end in 1..bytes.len() {
            assert!(decode(&bytes[..end]).is_none_or(|part| encode(&part) == bytes[..end]));
        }
        assert_eq!(decode(b"x\0\0\0\0"), None);
        assert_eq!(decode(b"i\0\0\0\x01a"), None);
        assert_eq!(decode(b"t\xff\xff\xff\xffa"), None);
    }
}
