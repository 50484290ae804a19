//! A set of public keys (RFC 7517), and one key of it.
//!
//! Keys of a kind or for a use that does not fit are left out one by one, as the RFC asks; symmetric ones and
//! weak ones are never taken. The key store reads sets and asks them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use callgate_protocol::json::{Document, Kind, Limits as JsonLimits, Value};
use jsonwebtoken::DecodingKey;

use super::super::fetch::FetchError;
use super::super::options::Algorithm;

/// Bytes of the modulus of an RSA key: 2,048 to 8,192 bits. Less is weak; more costs more than it gives.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;

/// The keys of an issuer at one moment.
pub(crate) struct KeySet {
    keys: Vec<Arc<Key>>,
}

impl PartialEq for KeySet {
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys
    }
}

/// One public key.
#[derive(PartialEq, Eq)]
pub(crate) struct Key {
    kid: Option<String>,
    /// The only algorithm it is for, where it says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// The key itself, decoded.
#[derive(PartialEq, Eq)]
enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// The uncompressed point.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a set. An empty one is an answer too: the issuer has withdrawn its keys.
    pub(super) fn read(body: Vec<u8>, most: usize) -> Result<Self, FetchError> {
        let limits = JsonLimits::DEFAULT.with_depth(16);
        let document = Document::parse_bytes(body, &limits).map_err(|_| FetchError::Malformed("no JSON"))?;
        let list = document.root().get("keys").filter(|list| list.kind() == Kind::Array);
        let list = list.ok_or(FetchError::Malformed("no set of keys"))?;
        if list.len() > most {
            return Err(FetchError::Malformed("a set of more keys than the bound"));
        }
        let keys: Vec<_> = list.items().filter_map(Key::read).map(Arc::new).collect();
        if keys.is_empty() && !list.is_empty() {
            return Err(FetchError::Malformed("a set without a usable key"));
        }
        Ok(Self { keys })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The keys that a token may be signed with, at most so many.
    pub(crate) fn fitting(&self, kid: Option<&str>, algorithm: Algorithm, most: usize) -> Vec<Arc<Key>> {
        let fits =
            |key: &&Arc<Key>| key.fits(algorithm) && kid.is_none_or(|kid| key.kid.as_deref() == Some(kid));
        self.keys.iter().filter(fits).take(most).map(Arc::clone).collect()
    }
}

impl Key {
    fn read(jwk: Value<'_>) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(|value| value.as_str());
        // A set that shows private parts has lost them to everybody.
        if jwk.get("d").is_some() || jwk.get("k").is_some() {
            tracing::warn!("a published key with private parts is not used");
            return None;
        }
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(operations) = jwk.get("key_ops")
            && !operations.items().any(|operation| operation.is_str("verify"))
        {
            return None;
        }
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.as_bytes()).ok();
        let material = match (&*text("kty")?, text("crv").as_deref()) {
            ("RSA", _) => {
                let (modulus, exponent) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
                let is_odd = exponent.last().is_some_and(|last| last % 2 == 1);
                let is_large = exponent.len() > 1 || exponent.first().is_some_and(|first| *first > 1);
                if !MODULUS.contains(&modulus.len()) || !is_odd || !is_large || exponent.len() > 8 {
                    return None;
                }
                Material::Rsa { modulus, exponent }
            }
            ("EC", Some("P-256")) => Material::P256(point(&bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(&bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let algorithm = match text("alg") {
            None => None,
            Some(name) => Some(Algorithm::of_name(&name)?),
        };
        let key = Self { kid: text("kid").map(|kid| kid.into_owned()), algorithm, material };
        algorithm.is_none_or(|algorithm| key.fits(algorithm)).then_some(key)
    }

    /// Whether it is a key for this algorithm.
    fn fits(&self, algorithm: Algorithm) -> bool {
        let of_kind = match &self.material {
            Material::Rsa { .. } => matches!(
                algorithm,
                Algorithm::Rs256
                    | Algorithm::Rs384
                    | Algorithm::Rs512
                    | Algorithm::Ps256
                    | Algorithm::Ps384
                    | Algorithm::Ps512
            ),
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        of_kind && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Whether the signature over a message is this key's.
    pub(crate) fn verifies(&self, algorithm: Algorithm, message: &str, signature: &str) -> bool {
        let key = match &self.material {
            Material::Rsa { modulus, exponent } => DecodingKey::from_rsa_raw_components(modulus, exponent),
            Material::P256(point) | Material::P384(point) => DecodingKey::from_ec_der(point),
            Material::Ed25519(x) => DecodingKey::from_ed_der(x),
        };
        let algorithm = match algorithm {
            Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
            Algorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
            Algorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
            Algorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
            Algorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
            Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::Es384 => jsonwebtoken::Algorithm::ES384,
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        };
        jsonwebtoken::crypto::verify(signature, message.as_bytes(), &key, algorithm).unwrap_or(false)
    }
}

fn point(x: &[u8], y: &[u8], length: usize) -> Option<Vec<u8>> {
    (x.len() == length && y.len() == length).then(|| [&[4], x, y].concat())
}

fn without_zeros(bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default().to_vec()
}
