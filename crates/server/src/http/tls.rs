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
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

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
    config: Arc<ArcSwap<ServerConfig>>,
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
        let config = Arc::new(ArcSwap::from_pointee(config(certificates, key)?));
        Ok(Self { config })
    }

    /// Puts what `other` holds in force for the connections to come.
    pub fn replace(&self, other: &Self) {
        self.config.store(other.config.load_full());
    }

    /// Takes a connection in. The time of the handshake is bounded.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        patience: Duration,
    ) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(self.config.load_full());
        timeout(patience, acceptor.accept(stream)).await?
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn config(certificates: &[u8], key: &[u8]) -> Result<ServerConfig, TlsError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
        .take(CHAIN + 1)
        .collect::<Result<_, _>>()
        .map_err(|_| TlsError::NoCertificate)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate);
    }
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
    Ok(config)
}
