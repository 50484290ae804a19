//! `[tls]`: the certificate with which the server ends TLS itself.
//!
//! It names files and holds nothing of them. The loader reads it, the build step reads the files.

use schemars::JsonSchema;

use super::located::Located;
use super::reader::Table;

/// The certificate with which the server ends TLS. Changed files are taken up while it runs.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TlsTable {
    /// The file with the certificate of the server and its chain in PEM, relative to this file.
    #[schemars(required)]
    pub certificate: Option<Located<String>>,
    /// The file with the private key in PEM.
    #[schemars(required)]
    pub key: Option<Located<String>>,
}

impl TlsTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let tls = Self {
            certificate: table.required_string("certificate", "\"tls/server.pem\""),
            key: table.required_string("key", "\"tls/server.key\""),
        };
        table.finish();
        tls
    }
}

/// Who ends TLS when this server does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum TlsEnd {
    /// A proxy in front of this server.
    Proxy,
}

pub(super) const ENDS: &[(&str, TlsEnd)] = &[("proxy", TlsEnd::Proxy)];
