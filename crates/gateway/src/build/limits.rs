//! What the file says of rates and of calls at one time, in the terms of the gate and of the server.
//!
//! Numbers that contradict each other are findings; a number alone was judged when it was read. The build step,
//! the judge of tools and the gate call it.

use std::num::NonZeroU32;
use std::time::Duration;

use callgate_core::limits::Limits as GateLimits;
use callgate_core::rate::{Allowance, Rate};
use callgate_server::Limits as ServerLimits;

use crate::config::{AllowanceTable, ArtifactsTable, Config, Finding, Located, ToolLimitsTable};

/// Puts the limits of principals and tenants, and of the process, into those of the gate.
pub(super) fn into_gate(config: &Config, gate: &mut GateLimits) {
    if let Some(table) = &config.artifacts {
        artifacts(table, gate);
    }
    crate::approval::limits(config, gate);
    let Some(table) = &config.limits else { return };
    if let Some(calls) = number(table.calls_in_flight.as_ref()) {
        gate.calls_in_flight = calls;
    }
    if let Some(principal) = &table.principal {
        gate.principal = allowance(principal, gate.principal);
    }
    if let Some(tenant) = &table.tenant {
        gate.tenant = allowance(tenant, gate.tenant);
    }
}

/// A bound that is raised raises those around it that nothing was said of.
fn artifacts(table: &ArtifactsTable, gate: &mut GateLimits) {
    let bytes = |written: &Option<Located<u64>>| written.as_ref().map(|bytes| **bytes);
    gate.artifact_bytes = bytes(&table.max_bytes).unwrap_or(gate.artifact_bytes);
    gate.artifact_bytes_of_principal = bytes(&table.principal_bytes)
        .unwrap_or_else(|| gate.artifact_bytes_of_principal.max(gate.artifact_bytes));
    gate.artifact_bytes_total = bytes(&table.total_bytes)
        .unwrap_or_else(|| gate.artifact_bytes_total.max(gate.artifact_bytes_of_principal));
    if let Some(count) = number(table.principal_count.as_ref()) {
        gate.artifacts_of_principal = count;
    }
    if let Some(seconds) = &table.lifetime_s {
        gate.artifact_lifetime = Duration::from_secs(**seconds);
    }
    if let Some(bytes) = number(table.part_bytes.as_ref()) {
        gate.artifact_part_bytes = bytes;
    }
}

/// Puts the limits of addresses into those of the server.
pub(crate) fn into_server(config: &Config, server: &mut ServerLimits) {
    let Some(table) = config.limits.as_ref().and_then(|table| table.address.as_ref()) else { return };
    if let Some(rate) = rate(table.requests_per_minute.as_ref(), table.burst.as_ref()) {
        server.address = Some(rate);
    }
    let uncounted = table.uncounted.iter().flat_map(|texts| texts.iter());
    server.uncounted_addresses = uncounted.filter_map(|text| text.parse().ok()).collect();
}

/// What all callers of a tool may use, and what each of them may.
pub(super) fn of_tool(table: Option<&ToolLimitsTable>) -> (Allowance, Allowance) {
    let unbounded = Allowance::unbounded();
    let Some(table) = table else { return (unbounded, unbounded) };
    let of_caller = table.principal.as_ref().map_or(unbounded, |own| allowance(own, unbounded));
    (allowance(&table.of_all(), unbounded), of_caller)
}

/// Finds what can never come to bear because something else allows less.
pub(super) fn check(config: &Config, gate: &GateLimits, findings: &mut Vec<Finding>) {
    let general = config.limits.as_ref();
    behind_proxy(config, findings);
    let tables =
        [general.and_then(|table| table.principal.clone()), general.and_then(|table| table.tenant.clone())];
    let of_tools = config.tool.iter().filter_map(|tool| tool.limits.as_ref());
    let own = of_tools.clone().filter_map(|table| table.principal.clone());
    let all = of_tools.clone().map(ToolLimitsTable::of_all);
    for table in tables.into_iter().flatten().chain(own).chain(all) {
        above(table.concurrency.as_ref(), gate.calls_in_flight, "the server runs at one time", findings);
    }
    for table in of_tools {
        let Some(own) = &table.principal else { continue };
        let all = "all callers of the tool together may have";
        if let Some(most) = number(table.concurrency.as_ref()) {
            above(own.concurrency.as_ref(), most, all, findings);
        }
        if let Some(most) = number(table.calls_per_minute.as_ref()) {
            above(own.calls_per_minute.as_ref(), most, all, findings);
        }
    }
}

/// Behind a proxy every request comes from one address, so a rate of addresses would be one of all callers.
fn behind_proxy(config: &Config, findings: &mut Vec<Finding>) {
    let has_proxy = config.http.as_ref().is_some_and(|table| table.tls.is_some());
    let Some(address) = config.limits.as_ref().and_then(|table| table.address.as_ref()).filter(|_| has_proxy)
    else {
        return;
    };
    for written in [&address.requests_per_minute, &address.burst].into_iter().flatten() {
        let message = "addresses are not counted with `tls = \"proxy\"`: all requests come from the proxy";
        let remedy = "remove `[limits.address]` and let the proxy count its callers";
        findings.push(Finding::error("address_of_proxy", message, remedy).at(written.place().clone()));
    }
}

fn above(found: Option<&Located<u64>>, most: usize, what: &str, findings: &mut Vec<Finding>) {
    if let Some(written) = found
        && number(found).is_none_or(|number| number > most)
    {
        let message = format!("{} is more than {what}, which is {most}", **written);
        let remedy = format!("choose at most {most}, or raise that bound");
        findings.push(Finding::error("out_of_range", message, remedy).at(written.place().clone()));
    }
}

fn number(written: Option<&Located<u64>>) -> Option<usize> {
    written.and_then(|number| usize::try_from(**number).ok())
}

fn allowance(table: &AllowanceTable, default: Allowance) -> Allowance {
    let mut allowance = default;
    if let Some(rate) = rate(table.calls_per_minute.as_ref(), table.burst.as_ref()) {
        allowance = allowance.with_rate(rate);
    }
    if let Some(places) = number(table.concurrency.as_ref()) {
        allowance = allowance.with_concurrency(places);
    }
    allowance
}

fn rate(per_minute: Option<&Located<u64>>, burst: Option<&Located<u64>>) -> Option<Rate> {
    let per_minute = **per_minute?;
    let burst = burst.map_or(per_minute.div_ceil(10), |burst| **burst);
    let number = |number: u64| NonZeroU32::new(u32::try_from(number).ok()?);
    Some(Rate::per_minute(number(per_minute)?, number(burst)?))
}
