//! `[auth]`: who calls, and how that is proved.
//!
//! No secret may stand in these tables: what is secret is a reference, and a static token is known by its
//! digest. What can be judged from the text alone is judged here; nothing is asked of anybody. The loader
//! reads them, the build step makes the authenticator from them.

use schemars::JsonSchema;

use super::located::Located;
use super::reader::Table;

mod oauth;
mod token;

pub use oauth::{ClaimsTable, IntrospectionTable, OAuthTable};
pub use token::TokenTable;

/// Who calls.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AuthTable {
    /// The caller who sends no credential: on stdio, and on loopback addresses where nobody else is let in.
    pub local: Option<LocalPrincipal>,
    /// Callers with access tokens of an authorization server.
    pub oauth: Option<OAuthTable>,
    /// Callers with tokens that were given out by hand, by the name of each token.
    #[schemars(with = "Option<std::collections::BTreeMap<String, TokenTable>>")]
    pub token: Vec<TokenTable>,
}

/// The caller who needs no credential.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LocalPrincipal {
    /// Who it is; `:principal` in SQL.
    #[schemars(required)]
    pub principal: Option<Located<String>>,
    /// On whose data; `:tenant` in SQL.
    #[schemars(required)]
    pub tenant: Option<Located<String>>,
    /// Groups or roles that policies can refer to.
    pub groups: Option<Located<Vec<Located<String>>>>,
    /// Scopes, as a token would have them.
    pub scopes: Option<Located<Vec<Located<String>>>>,
    /// What the calls are for, as policies can ask.
    pub purpose: Option<Located<String>>,
    /// Whether whoever connects from this machine over HTTP and sends no credential is this caller. Default:
    /// true where the file knows no credentials, else false: behind a proxy on this machine that does not say
    /// for whom it speaks, everybody seems to connect from here.
    pub loopback: Option<Located<bool>>,
}

impl AuthTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let local = table.table("local", "[auth.local]").map(LocalPrincipal::read);
        let oauth = table.table("oauth", "[auth.oauth]").map(OAuthTable::read);
        let tokens = table.named_tables("token");
        table.finish();
        Self {
            local,
            oauth,
            token: tokens.into_iter().map(|(name, table)| TokenTable::read(name, table)).collect(),
        }
    }

    /// Whether callers are known by what they send.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.oauth.is_some() || !self.token.is_empty()
    }
}

impl LocalPrincipal {
    fn read(mut table: Table<'_, '_>) -> Self {
        let local = Self {
            principal: table.required_string("principal", "\"dana\""),
            tenant: table.required_string("tenant", "\"tenant-a\""),
            groups: table.strings("groups"),
            scopes: scopes(&mut table, "scopes"),
            purpose: table.string("purpose"),
            loopback: table.boolean("loopback"),
        };
        table.finish();
        local
    }
}

/// A list of scopes under a key.
pub(super) fn scopes(table: &mut Table<'_, '_>, key: &'static str) -> Option<Located<Vec<Located<String>>>> {
    let scopes = table.strings(key)?;
    scopes.iter().for_each(|scope| check_scope(scope, table));
    Some(scopes)
}

/// Reports what is no scope (RFC 6749, section 3.3).
fn check_scope(scope: &Located<String>, table: &Table<'_, '_>) {
    let allowed = |byte: u8| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    if scope.is_empty() || !scope.bytes().all(allowed) {
        let finding = super::Finding::error(
            "invalid_scope",
            format!("{:?} is no scope", scope.as_str()),
            "write one word without spaces, quotes and backslashes, as in `invoices:read`",
        );
        table.reading().report(scope.place().span(), finding);
    }
}
