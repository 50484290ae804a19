//! `[approval]`: how a call that needs an approval gets one.
//!
//! Which calls need one, and whether it must be a second person, is said by the policy. The loader reads the table,
//! the gate and the command line follow it.

use schemars::JsonSchema;

use super::located::Located;
use super::reader::Table;

/// How a call that needs an approval gets one. Which calls need one is said by the policy; that calls can wait for
/// people needs `[store]`. A reload takes up changes.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApprovalTable {
    /// Whether a caller may be asked in its own call, where its client can be asked and policy wants no second
    /// person. Default: true.
    pub in_call: Option<Located<bool>>,
    /// Whether calls may wait for people, who decide with `callgate approve`. Default: true.
    pub by_people: Option<Located<bool>>,
    /// Who may decide with `callgate approve`, by the names that it records. Default: everybody who can open the
    /// store.
    #[schemars(with = "Option<Vec<String>>")]
    pub approvers: Option<Located<Vec<Located<String>>>>,
    /// How many seconds a call waits for people, and how long an approval that they gave can be used. Default:
    /// 3,600.
    #[schemars(range(min = 1, max = 2_592_000))]
    pub lifetime_s: Option<Located<u64>>,
    /// How many approvals may wait or stand at one time; more are refused, none is pushed out. Default: 1,000.
    #[schemars(range(min = 1, max = 100_000))]
    pub pending: Option<Located<u64>>,
    /// Those of one principal. Default: 20.
    #[schemars(range(min = 1, max = 100_000))]
    pub principal_pending: Option<Located<u64>>,
}

impl ApprovalTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let read = Self {
            in_call: table.boolean("in_call"),
            by_people: table.boolean("by_people"),
            approvers: table.strings("approvers"),
            lifetime_s: table.integer("lifetime_s", 1..=2_592_000),
            pending: table.integer("pending", 1..=100_000),
            principal_pending: table.integer("principal_pending", 1..=100_000),
        };
        table.finish();
        read
    }
}
