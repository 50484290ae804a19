//! The body of a response, bounded before and after decompression.
//!
//! It must never keep more than a bound, however large a body says that it is or grows when it is unpacked. The
//! client is its caller.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

use super::Limits;

/// Why a body cannot be used. The head of its response arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyFault {
    /// It broke off.
    #[error("the body of the response broke off")]
    Truncated,
    /// The time was over before it was whole.
    #[error("the body of the response did not arrive in time")]
    Late,
    /// It is larger than the bound.
    #[error("the body of the response is larger than the bound")]
    TooLarge,
    /// It is packed in a way that was not asked for, or cannot be unpacked.
    #[error("the body of the response cannot be unpacked")]
    Encoding,
}

/// Reads a body to its end.
pub(super) async fn read(mut response: Response, limits: &Limits) -> Result<Vec<u8>, BodyFault> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    if announced.is_some_and(|length| length > limits.response_bytes) {
        return Err(BodyFault::TooLarge);
    }
    let encoding = encoding(response.headers())?;
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|_| BodyFault::Truncated)? {
        if body.len() + part.len() > limits.response_bytes {
            return Err(BodyFault::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    match encoding {
        Encoding::Plain => Ok(body),
        // A response to HEAD, or one without a body, names the encoding that a body would have.
        Encoding::Gzip if body.is_empty() => Ok(body),
        Encoding::Gzip => unpack(&body, limits.decoded_bytes),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Plain,
    Gzip,
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, BodyFault> {
    let mut names = headers.get_all(CONTENT_ENCODING).iter();
    match (names.next().map(|name| name.as_bytes().to_ascii_lowercase()), names.next()) {
        (None, _) => Ok(Encoding::Plain),
        (Some(name), None) if name == b"identity" => Ok(Encoding::Plain),
        (Some(name), None) if name == b"gzip" || name == b"x-gzip" => Ok(Encoding::Gzip),
        _ => Err(BodyFault::Encoding),
    }
}

fn unpack(packed: &[u8], bound: usize) -> Result<Vec<u8>, BodyFault> {
    let mut unpacked = Vec::new();
    let past = u64::try_from(bound).unwrap_or(u64::MAX).saturating_add(1);
    let mut reader = MultiGzDecoder::new(packed).take(past);
    reader.read_to_end(&mut unpacked).map_err(|_| BodyFault::Encoding)?;
    if unpacked.len() > bound { Err(BodyFault::TooLarge) } else { Ok(unpacked) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_packed_body_is_bounded_by_what_it_unpacks_to() {
        let bomb = packed(&vec![b' '; 8 << 20]);
        assert!(bomb.len() < 16 << 10);
        assert_eq!(unpack(&bomb, 1 << 20), Err(BodyFault::TooLarge));
        assert_eq!(unpack(&packed(&[b'x'; 1000]), 1000).unwrap().len(), 1000);
        assert_eq!(unpack(&packed(&[b'x'; 1001]), 1000), Err(BodyFault::TooLarge));
    }

    #[test]
    fn a_body_that_is_cut_or_not_packed_is_told_apart_from_a_large_one() {
        let whole = packed(b"{\"a\":1}");
        assert_eq!(unpack(&whole[..whole.len() - 4], 100), Err(BodyFault::Encoding));
        assert_eq!(unpack(b"{\"a\":1}", 100), Err(BodyFault::Encoding));
    }
}
