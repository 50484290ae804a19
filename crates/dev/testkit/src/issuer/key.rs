//! Keys that sign tokens, made anew for each test.
//!
//! They sign whatever they are given, well-formed or not, with another library than the one that verifies.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A private key with the name under which its public part is published.
#[derive(Debug)]
pub struct SigningKey {
    kid: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

#[expect(clippy::expect_used, reason = "a key that cannot be made fails the test")]
impl SigningKey {
    /// An RSA key of 2,048 bits.
    #[must_use]
    pub fn rsa(kid: &str) -> Self {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).expect("an RSA key");
        Self { kid: kid.to_owned(), kind: Kind::Rsa(pair) }
    }

    /// A key on P-256.
    #[must_use]
    pub fn p256(kid: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key on P-256");
        Self { kid: kid.to_owned(), kind: Kind::P256(pair) }
    }

    /// An Ed25519 key.
    #[must_use]
    pub fn ed25519(kid: &str) -> Self {
        let pair = Ed25519KeyPair::generate().expect("an Ed25519 key");
        Self { kid: kid.to_owned(), kind: Kind::Ed25519(pair) }
    }

    /// The algorithm that the key signs with when nothing else is said.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match &self.kind {
            Kind::Rsa(_) => "RS256",
            Kind::P256(_) => "ES256",
            Kind::Ed25519(_) => "EdDSA",
        }
    }

    /// The public key as the system encodes it: for RSA the DER of modulus and exponent.
    #[must_use]
    pub fn public(&self) -> Vec<u8> {
        match &self.kind {
            Kind::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Kind::P256(pair) => pair.public_key().as_ref().to_vec(),
            Kind::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    /// The members of the public key in a JSON Web Key.
    #[must_use]
    pub fn jwk(&self) -> String {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let public = self.public();
        let members = match &self.kind {
            // SEQUENCE { INTEGER modulus (257 bytes with its leading zero), INTEGER exponent }
            Kind::Rsa(_) => {
                let modulus = public.get(9..265).unwrap_or_default();
                format!(r#""kty":"RSA","n":"{}","e":"AQAB""#, encode(modulus))
            }
            Kind::P256(_) => {
                let (x, y) = public.get(1..).unwrap_or_default().split_at(32);
                format!(r#""kty":"EC","crv":"P-256","x":"{}","y":"{}""#, encode(x), encode(y))
            }
            Kind::Ed25519(_) => format!(r#""kty":"OKP","crv":"Ed25519","x":"{}""#, encode(&public)),
        };
        format!(r#"{{"kid":"{}","use":"sig",{members}}}"#, self.kid)
    }

    /// A token with these claims and the header that this key's tokens have.
    #[must_use]
    pub fn token(&self, claims: &str) -> String {
        let header = format!(r#"{{"alg":"{}","typ":"at+jwt","kid":"{}"}}"#, self.algorithm(), self.kid);
        self.sign(&header, claims)
    }

    /// A token of whatever header and claims, signed with this key.
    #[must_use]
    pub fn sign(&self, header: &str, claims: &str) -> String {
        let random = SystemRandom::new();
        assemble(header, claims, |message| match &self.kind {
            Kind::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let pss = header.contains("\"PS256\"");
                let padding = if pss {
                    &RSA_PSS_SHA256 as &dyn aws_lc_rs::signature::RsaEncoding
                } else {
                    &RSA_PKCS1_SHA256
                };
                pair.sign(padding, &random, message, &mut signature).expect("a signature");
                signature
            }
            Kind::P256(pair) => pair.sign(&random, message).expect("a signature").as_ref().to_vec(),
            Kind::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        })
    }
}

/// A token with the signature that `sign` gives for its message.
#[must_use]
pub fn assemble(header: &str, claims: &str, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}
