//! `[auth.token.*]`: tokens that were given out by hand, for development and for machines without an
//! authorization server.
//!
//! Only the digest of a token stands in the file, so that who reads it cannot call. The auth tables read it.

use callgate_adapters::oauth::StaticToken;
use callgate_adapters::parse_rfc3339;
use schemars::JsonSchema;

use super::super::{Finding, Located};
use super::{Table, scopes};

/// A token that was given out by hand.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TokenTable {
    /// The name under its header, `ci` in `[auth.token.ci]`.
    #[schemars(skip)]
    pub name: Located<String>,
    /// The SHA-256 digest of the token: `sha256:` and 64 hexadecimal digits.
    #[schemars(required, regex(pattern = "^sha256:[0-9a-fA-F]{64}$"))]
    pub digest: Option<Located<String>>,
    /// Who calls with it; `:principal` in SQL. Default: the name of the table.
    pub principal: Option<Located<String>>,
    /// On whose data; `:tenant` in SQL. Required where a source is `tenant_scoped`.
    pub tenant: Option<Located<String>>,
    /// Groups or roles that policies can refer to.
    pub groups: Option<Located<Vec<Located<String>>>>,
    /// Scopes of its caller.
    pub scopes: Option<Located<Vec<Located<String>>>>,
    /// What the calls are for, as policies can ask.
    pub purpose: Option<Located<String>>,
    /// When it ends, for example `2027-01-31T00:00:00Z`, in quotes. Default: never.
    pub expires: Option<Located<String>>,
}

impl TokenTable {
    pub(super) fn read(name: Located<String>, table: Table<'_, '_>) -> Self {
        let mut table = table.named(format!("[auth.token.{}]", name.as_str()));
        let digest = table.required_string("digest", "\"sha256:9f86d0...\"");
        let digest = digest.filter(|digest| {
            let is_digest = StaticToken::parse_digest(digest).is_some();
            if !is_digest {
                let finding = Finding::error(
                    "invalid_digest",
                    format!("`digest` of {} is no SHA-256 digest", table.name()),
                    "write what `printf %s \"$TOKEN\" | sha256sum` prints, as `sha256:...`; never the token",
                );
                table.reading().report(digest.place().span(), finding);
            }
            is_digest
        });
        let expires = table.string("expires");
        if let Some(text) = expires.as_ref().filter(|text| parse_rfc3339(text).is_err()) {
            let finding = Finding::error(
                "invalid_time",
                format!("{:?} is no point in time", text.as_str()),
                "write date, time and zone, as in `2027-01-31T00:00:00Z`",
            );
            table.reading().report(text.place().span(), finding);
        }
        let token = Self {
            name,
            digest,
            principal: table.string("principal"),
            tenant: table.string("tenant"),
            groups: table.strings("groups"),
            scopes: scopes(&mut table, "scopes"),
            purpose: table.string("purpose"),
            expires,
        };
        table.finish();
        token
    }
}
