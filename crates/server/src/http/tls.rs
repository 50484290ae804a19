//! TLS at the door: a certificate and its key, which may be replaced while connections are served.
//!
//! It must never take a key that does not belong to its certificate, and never let a handshake wait for
//! ever. The accept loop takes connections through it; the gateway replaces what it holds when the files
//! change.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use callgate_core::port::Timestamp;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use webpki::{EndEntityCert, KeyUsage};

/// Certificates of one chain. A longer one is a bundle of authorities, given by mistake.
const CHAIN: usize = 16;

/// How bytes on the way are protected.
///
/// An address that other machines reach is not served in plain text unless somebody else ends TLS.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum TransportSecurity {
    /// They are not: for addresses of this machine.
    #[default]
    Plain,
    /// By this server.
    Tls(Tls),
    /// By a proxy in front. Every caller is then taken for a remote one, whatever the address.
    ByProxy,
}

/// A certificate with its key. Clones share what is in force.
#[derive(Clone)]
pub struct Tls {
    held: Arc<ArcSwap<Held>>,
}

/// What is in force.
struct Held {
    config: Arc<ServerConfig>,
    /// The certificate of the server itself.
    own: CertificateDer<'static>,
}

/// Whether a certificate is valid at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validity {
    /// It is, or its dates cannot be read: clients judge it then.
    Valid,
    /// It is valid from that time on.
    Later(Timestamp),
    /// It was valid until that time.
    Over(Timestamp),
}

/// Why a certificate cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The text holds no certificate, or a broken one.
    #[error("there is no certificate in PEM, or a broken one")]
    NoCertificate,
    /// The chain is longer than any server needs.
    #[error("there are more certificates than the chain of one server has")]
    TooMany,
    /// The text holds no private key.
    #[error("there is no private key in PEM, or a broken one")]
    NoKey,
    /// The key does not belong to the certificate, or neither can be used.
    #[error("certificate and key cannot be used together: {0}")]
    Unusable(String),
}

impl Tls {
    /// Reads a chain of certificates, that of the server first, and its private key, both in PEM.
    ///
    /// # Errors
    /// What keeps them from being served. No part of the key is in it.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Ok(Self { held: Arc::new(ArcSwap::from_pointee(held(certificates, key)?)) })
    }

    /// Puts what `other` holds in force for the connections to come.
    pub fn replace(&self, other: &Self) {
        self.held.store(other.held.load_full());
    }

    /// Whether the certificate in force is valid at a time, by its own dates alone: who vouches for it is for clients
    /// to judge.
    #[must_use]
    pub fn validity(&self, at: Timestamp) -> Validity {
        let held = self.held.load();
        let Ok(own) = EndEntityCert::try_from(&held.own) else { return Validity::Valid };
        let seconds = u64::try_from(at.0.div_euclid(1_000_000)).unwrap_or_default();
        let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let time = |time: UnixTime| {
            Timestamp(i64::try_from(time.as_secs()).unwrap_or(i64::MAX).saturating_mul(1_000_000))
        };
        // Dates are the first thing that is judged; without an authority the rest is never good.
        match own.verify_for_usage(&[], &[], &[], at, KeyUsage::server_auth(), None, None) {
            Err(webpki::Error::CertExpired { not_after, .. }) => Validity::Over(time(not_after)),
            Err(webpki::Error::CertNotValidYet { not_before, .. }) => Validity::Later(time(not_before)),
            Ok(_) | Err(_) => Validity::Valid,
        }
    }

    /// Takes a connection in. The time of the handshake is bounded.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        patience: Duration,
    ) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.held.load().config));
        timeout(patience, acceptor.accept(stream)).await?
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn held(certificates: &[u8], key: &[u8]) -> Result<Held, TlsError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
        .take(CHAIN + 1)
        .collect::<Result<_, _>>()
        .map_err(|_| TlsError::NoCertificate)?;
    let own = chain.first().cloned().ok_or(TlsError::NoCertificate)?;
    if chain.len() > CHAIN {
        return Err(TlsError::TooMany);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::NoKey)?;
    let unusable = |error: rustls::Error| TlsError::Unusable(error.to_string());
    // Named rather than taken from the process, where another library may have put something else.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Held { config: Arc::new(config), own })
}
