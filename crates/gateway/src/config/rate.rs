//! `[limits.principal]`, `[limits.tenant]`, `[limits.address]` and `[tool.*.limits]`: how often, and how many at once.
//!
//! A table says no more than numbers; what they mean together is judged by the build step. The readers of
//! limits and tools call it.

use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;

/// Calls in a minute that can be allowed.
const PER_MINUTE: std::ops::RangeInclusive<u64> = 1..=1_000_000;
/// Calls at once that can be allowed.
const AT_ONCE: std::ops::RangeInclusive<u64> = 1..=100_000;

/// How often something may be called, and how many calls may run at once.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AllowanceTable {
    /// Calls in a minute, evenly. Default: no bound.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub calls_per_minute: Option<Located<u64>>,
    /// Calls that may come at once after a rest. Default: a tenth of `calls_per_minute`, at least 1.
    #[schemars(range(min = 1, max = 100_000))]
    pub burst: Option<Located<u64>>,
    /// Calls that may run at one time. Default: 256 in `[limits.principal]`, elsewhere no bound.
    #[schemars(range(min = 1, max = 100_000))]
    pub concurrency: Option<Located<u64>>,
}

/// How often one address may ask over HTTP, before it is known who asks.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AddressTable {
    /// Requests in a minute, evenly. Default: 6,000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_minute: Option<Located<u64>>,
    /// Requests that may come at once after a rest. Default: 1,000, or a tenth of `requests_per_minute` where that
    /// is given.
    #[schemars(range(min = 1, max = 100_000))]
    pub burst: Option<Located<u64>>,
    /// Addresses that are not counted, such as a proxy that counts for itself.
    pub uncounted: Option<Located<Vec<Located<String>>>>,
}

/// How often a tool may be called, and how many of its calls may run at once.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ToolLimitsTable {
    /// Calls of all callers in a minute, evenly. Default: no bound.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub calls_per_minute: Option<Located<u64>>,
    /// Calls that may come at once after a rest. Default: a tenth of `calls_per_minute`, at least 1.
    #[schemars(range(min = 1, max = 100_000))]
    pub burst: Option<Located<u64>>,
    /// Calls that may run at one time. Default: no bound.
    #[schemars(range(min = 1, max = 100_000))]
    pub concurrency: Option<Located<u64>>,
    /// The same for each caller.
    pub principal: Option<AllowanceTable>,
}

impl AllowanceTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let allowance = Self::of(&mut table);
        table.finish();
        allowance
    }

    fn of(table: &mut Table<'_, '_>) -> Self {
        let allowance = Self {
            calls_per_minute: table.integer("calls_per_minute", PER_MINUTE),
            burst: table.integer("burst", AT_ONCE),
            concurrency: table.integer("concurrency", AT_ONCE),
        };
        check_burst(table, "calls_per_minute", allowance.burst.as_ref());
        allowance
    }
}

impl AddressTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let address = Self {
            requests_per_minute: table.integer("requests_per_minute", PER_MINUTE),
            burst: table.integer("burst", AT_ONCE),
            uncounted: table.strings("uncounted"),
        };
        check_burst(&mut table, "requests_per_minute", address.burst.as_ref());
        for text in address.uncounted.iter().flat_map(|texts| texts.iter()) {
            if text.parse::<std::net::IpAddr>().is_err() {
                let finding = Finding::error(
                    "invalid_address",
                    format!("{:?} is no address", text.as_str()),
                    "write one address without a port, as in `\"10.0.0.7\"` or `\"2001:db8::7\"`",
                );
                table.reading().report(text.place().span(), finding);
            }
        }
        table.finish();
        address
    }
}

impl ToolLimitsTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let AllowanceTable { calls_per_minute, burst, concurrency } = AllowanceTable::of(&mut table);
        let name = format!("`principal` of {}", table.name());
        let principal = table.table("principal", name).map(AllowanceTable::read);
        table.finish();
        Self { calls_per_minute, burst, concurrency, principal }
    }

    /// What all callers together may use.
    #[must_use]
    pub fn of_all(&self) -> AllowanceTable {
        let Self { calls_per_minute, burst, concurrency, .. } = self.clone();
        AllowanceTable { calls_per_minute, burst, concurrency }
    }
}

/// A burst says how much of a rate may come at once, and nothing without one.
fn check_burst(table: &mut Table<'_, '_>, rate: &'static str, burst: Option<&Located<u64>>) {
    if let Some(burst) = burst
        && table.value(rate).is_none()
    {
        let finding = Finding::error(
            "burst_without_rate",
            format!("`burst` of {} stands without `{rate}`", table.name()),
            format!("add `{rate}`, or use `concurrency` to bound what runs at one time"),
        );
        table.reading().report(burst.place().span(), finding);
    }
}
