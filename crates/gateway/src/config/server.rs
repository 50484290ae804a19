//! `[server]`, `[http]` and `[limits]`.
//!
//! These tables hold no secret and start nothing. The loader reads them.

use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::rate::{AddressTable, AllowanceTable};
use super::reader::Table;
use super::tls::{ENDS, TlsEnd};

/// What the server says about itself.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ServerTable {
    /// The name that clients show and log, for example `billing`.
    #[schemars(required)]
    pub name: Option<Located<String>>,
    /// A name for people.
    pub title: Option<Located<String>>,
    /// The version that clients log. Default: `0.0.0`.
    pub version: Option<Located<String>>,
    /// What a model should know about the tools as a whole.
    pub instructions: Option<Located<String>>,
    /// How many tools one page of the list holds. Default: 100.
    #[schemars(range(min = 1, max = 1000))]
    pub page_size: Option<Located<u64>>,
}

/// How the server is reached over HTTP.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HttpTable {
    /// The path of the one endpoint. Default: `/mcp`.
    #[schemars(regex(pattern = "^/"))]
    pub path: Option<Located<String>>,
    /// Hosts that clients may name besides loopback names: `name` for any port, or `name:port`.
    pub hosts: Option<Located<Vec<Located<String>>>>,
    /// Origins of web pages that may call, as `scheme://name[:port]`.
    pub origins: Option<Located<Vec<Located<String>>>>,
    /// Whether clients of earlier revisions of the protocol are served. Default: true.
    pub legacy: Option<Located<bool>>,
    /// `proxy` when a proxy in front ends TLS. Then no caller is taken for a local one.
    pub tls: Option<Located<TlsEnd>>,
}

/// Bounds for every tool that does not set its own.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitsTable {
    /// How long a call may take, in milliseconds. Default: 30,000.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub timeout_ms: Option<Located<u64>>,
    /// How many rows a result may have. Default: 1,000.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_rows: Option<Located<u64>>,
    /// How many bytes the rows of a result may take as JSON. Default: 262,144.
    #[schemars(range(min = 1_024, max = 16_777_216))]
    pub max_bytes: Option<Located<u64>>,
    /// How many bytes a request may have. Default: 4,194,304.
    #[schemars(range(min = 1_024, max = 67_108_864))]
    pub max_request_bytes: Option<Located<u64>>,
    /// How long a cursor stays valid, in seconds. Default: 3,600.
    #[schemars(range(min = 1, max = 604_800))]
    pub cursor_lifetime_s: Option<Located<u64>>,
    /// How many calls may run at one time in the whole process. Default: 1,024.
    #[schemars(range(min = 1, max = 100_000))]
    pub calls_in_flight: Option<Located<u64>>,
    /// What each caller may use.
    pub principal: Option<AllowanceTable>,
    /// What all callers of one tenant may use together.
    pub tenant: Option<AllowanceTable>,
    /// How often one address may ask over HTTP, before it is known who asks.
    pub address: Option<AddressTable>,
}

impl ServerTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let server = Self {
            name: table.required_string("name", "\"billing\""),
            title: table.string("title"),
            version: table.string("version"),
            instructions: table.string("instructions"),
            page_size: table.integer("page_size", 1..=1000),
        };
        table.finish();
        server
    }
}

impl HttpTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let http = Self {
            path: table.string("path"),
            hosts: table.strings("hosts"),
            origins: table.strings("origins"),
            legacy: table.boolean("legacy"),
            tls: table.choice("tls", ENDS),
        };
        if let Some(path) = http.path.as_ref().filter(|path| !path.starts_with('/')) {
            let finding =
                Finding::error("invalid_path", "the path does not start with `/`", "write it as in `/mcp`");
            table.reading().report(path.place().span(), finding);
        }
        for origin in http.origins.iter().flat_map(|origins| origins.iter()) {
            if !origin.contains("://") || origin.ends_with('/') || origin.contains('*') {
                let finding = Finding::error(
                    "invalid_origin",
                    format!("{:?} is no origin", origin.as_str()),
                    "write scheme, name and port and nothing else, as in `https://app.example.com`",
                );
                table.reading().report(origin.place().span(), finding);
            }
        }
        for host in http.hosts.iter().flat_map(|hosts| hosts.iter()) {
            if host.is_empty() || host.contains(['/', '*', ' ']) {
                let finding = Finding::error(
                    "invalid_host",
                    format!("{:?} is no host", host.as_str()),
                    "write the name alone, or name and port, as in `mcp.example.com:8443`",
                );
                table.reading().report(host.place().span(), finding);
            }
        }
        table.finish();
        http
    }
}

impl LimitsTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let limits = Self {
            timeout_ms: table.integer("timeout_ms", 1..=3_600_000),
            max_rows: table.integer("max_rows", 1..=100_000),
            max_bytes: table.integer("max_bytes", 1024..=16_777_216),
            max_request_bytes: table.integer("max_request_bytes", 1024..=67_108_864),
            cursor_lifetime_s: table.integer("cursor_lifetime_s", 1..=604_800),
            calls_in_flight: table.integer("calls_in_flight", 1..=100_000),
            principal: table.table("principal", "[limits.principal]").map(AllowanceTable::read),
            tenant: table.table("tenant", "[limits.tenant]").map(AllowanceTable::read),
            address: table.table("address", "[limits.address]").map(AddressTable::read),
        };
        table.finish();
        limits
    }
}
