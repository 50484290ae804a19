//! The scopes of callers whom the file itself names, and those that nobody can have.
//!
//! One rule for all callers: what a scope stands for and which ones all must have holds for tokens of the file
//! as it does for those of an authorization server. The build of the callers asks here.

use std::collections::{BTreeMap, BTreeSet};

use callgate_adapters::oauth::Hierarchy;
use callgate_core::principal::Principal;

use super::texts;
use crate::build::Built;
use crate::config::{AuthTable, Config, Finding, Located, OAuthTable, Place};

/// What the file says of scopes.
#[derive(Default)]
pub(super) struct Scopes {
    hierarchy: Hierarchy,
    required: Vec<String>,
}

/// What the callers of a configuration have and must have, for those who judge calls without a server.
pub(crate) fn of(config: &Config) -> (Hierarchy, Vec<String>) {
    let scopes = config.auth.as_ref().map(Scopes::of).unwrap_or_default();
    (scopes.hierarchy, scopes.required)
}

impl Scopes {
    pub(super) fn of(auth: &AuthTable) -> Self {
        let implies = auth.oauth.as_ref().map(implies).unwrap_or_default();
        let required = auth.oauth.as_ref().map(|oauth| texts(&oauth.required_scopes)).unwrap_or_default();
        Self { hierarchy: Hierarchy::new(&implies), required }
    }

    /// What a caller has who is granted these.
    pub(super) fn granted(&self, written: &Option<Located<Vec<Located<String>>>>) -> Vec<Box<str>> {
        self.expand(texts(written))
    }

    fn expand(&self, scopes: Vec<String>) -> Vec<Box<str>> {
        self.hierarchy.expand(scopes.into_iter().map(Into::into).collect())
    }

    /// A caller of the file who lacks a scope that all must have could do nothing.
    pub(super) fn check_required(&self, who: &str, place: &Place, principal: &Principal, built: &mut Built) {
        for scope in self.required.iter().filter(|scope| !principal.has_scope(scope)) {
            let finding = Finding::error(
                "missing_scope",
                format!("{who} lacks the scope `{scope}`, which `required_scopes` asks of every caller"),
                format!("add `{scope}` to its `scopes`"),
            );
            built.findings.push(finding.at(place.clone()));
        }
    }
}

/// What each scope stands for.
pub(super) fn implies(table: &OAuthTable) -> BTreeMap<String, Vec<String>> {
    let implied = |scopes: &[Located<String>]| scopes.iter().map(ToString::to_string).collect();
    table.implies.iter().map(|(scope, scopes)| (scope.to_string(), implied(scopes))).collect()
}

/// A tool whose scopes no caller can have is never called; most often one of the two is misspelled.
pub(super) fn check_reachable(config: &Config, auth: &AuthTable, scopes: &Scopes, built: &mut Built) {
    let mut granted: Vec<String> = Vec::new();
    let own =
        auth.local.iter().map(|local| &local.scopes).chain(auth.token.iter().map(|token| &token.scopes));
    own.for_each(|written| granted.extend(texts(written)));
    if let Some(oauth) = &auth.oauth {
        // An issuer may grant anything, unless the file says what it grants.
        if oauth.scopes_supported.is_none() {
            return;
        }
        granted.extend(texts(&oauth.scopes_supported));
    }
    let granted: BTreeSet<Box<str>> = scopes.expand(granted).into_iter().collect();
    for scope in config.tool.iter().flat_map(|tool| &tool.scopes).flat_map(|scopes| scopes.iter()) {
        if !granted.contains(scope.as_str()) {
            let finding = Finding::warning(
                "unreachable_scope",
                format!("no caller can have the scope `{}`", scope.as_str()),
                "grant it under `[auth.local]` or `[auth.token]`, list it in `scopes_supported` of `[auth.oauth]`, \
                 or correct its name",
            );
            built.findings.push(finding.at(scope.place().clone()));
        }
    }
}
