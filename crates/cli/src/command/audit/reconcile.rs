//! `callgate audit reconcile`: effects whose outcome nobody knows, and saying what became of one.
//!
//! What is said stands in the trail before it stands in the ledger. It must never settle an effect whose call may
//! still say so itself.

use std::path::Path;

use callgate_adapters::audit::{Body, Column, Value, format_time};
use callgate_adapters::store::ledger::{Effect, Outcome, Resolved, find, resolve, unsettled};
use callgate_core::port::Verdict;
use callgate_gateway::store::{Place, ask};
use callgate_gateway::trail::Reading;
use callgate_protocol::json::{push_integer, push_string};

use super::table::{Table, visible};
use super::{check, now_us};
use crate::args::{Outcome as Said, Reconcile};
use crate::exit::Failure;
use crate::print::{say, warn_line};

/// Effects that are listed at most.
const LISTED: u32 = 1000;

pub(super) fn run(config: &Path, arguments: &Reconcile) -> Result<(), Failure> {
    let failed = |report| {
        check::show(&report);
        Failure::Configuration
    };
    let store = Place::of(config).and_then(|place| place.open()).map_err(failed)?;
    let unread =
        |error: callgate_adapters::store::StoreError| Failure::Trail(format!("{error}; {}", error.remedy()));
    let Some(call) = &arguments.call else {
        let found = unsettled(&store, LISTED).map_err(unread)?;
        list(&found, arguments.json);
        return Ok(());
    };
    let id = call.parse().map_err(|error| Failure::Usage(format!("{}: {error}", visible(call))))?;
    let Some(effect) = find(&store, id).map_err(unread)? else {
        let why = "the ledger has no effect of this call; it lists those that are unknown without an id";
        return Err(Failure::Trail(format!("{call}: {why}")));
    };
    let taken_back = effect.state == "committed" && matches!(arguments.outcome, Some(Said::Compensated));
    if !taken_back && !matches!(effect.state, "unknown" | "executing") {
        let message =
            "only an effect that happened can be said to be taken back, and nothing else can be changed";
        return Err(Failure::Unsettled(format!("the effect of {call} is {}; {message}", effect.state)));
    }
    let (outcome, reason, how) = match (arguments.outcome, &arguments.reason) {
        (Some(said), Some(reason)) => (of(said), reason.as_str(), "hand"),
        _ => (asked(config, &effect, failed)?, "the backend was asked", "backend"),
    };
    let by = arguments.by.clone().or_else(account).unwrap_or_else(|| "unknown".to_owned());
    record(config, &effect, &outcome, &by, reason, how)?;
    let resolved = resolve(&store, &effect, &outcome, &by, reason);
    if !matches!(resolved, Ok(Resolved::Done)) {
        // The trail already says it, so it has to say that it did not come to pass, too.
        record(
            config,
            &effect,
            &outcome,
            &by,
            "it was not applied: the row had changed or could not be written",
            "nothing",
        )?;
    }
    if resolved.map_err(unread)? == Resolved::Changed {
        return Err(Failure::Unsettled(format!(
            "{call}: its call may still end, or it was resolved meanwhile"
        )));
    }
    say!("the effect of {call} is recorded as {}", outcome.as_str());
    Ok(())
}

/// What the backend shows.
fn asked(
    config: &Path,
    effect: &Effect,
    failed: impl Fn(callgate_gateway::config::Report) -> Failure,
) -> Result<Outcome, Failure> {
    let by_hand = "look at the backend and say what it shows with `--outcome` and `--reason`";
    if effect.resolution.as_deref() != Some("backend") {
        return Err(Failure::Unsettled(format!("the tool leaves this to a person: {by_hand}")));
    }
    match ask(config, effect).map_err(failed)? {
        Verdict::Happened(result) => Ok(Outcome::Committed(result.map(|result| result.to_json()))),
        Verdict::DidNotHappen => Ok(Outcome::Failed),
        Verdict::CannotTell => Err(Failure::Unsettled(format!(
            "the backend cannot tell, or the file has no such tool: {by_hand}"
        ))),
    }
}

fn of(said: Said) -> Outcome {
    match said {
        Said::Committed => Outcome::Committed(None),
        Said::Failed => Outcome::Failed,
        Said::Compensated => Outcome::Compensated,
    }
}

/// The name of the account, as the system tells programs.
pub(in crate::command) fn account() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok())
}

/// Writes what is said into the trail, if the file has one.
fn record(
    config: &Path,
    effect: &Effect,
    outcome: &Outcome,
    by: &str,
    reason: &str,
    how: &str,
) -> Result<(), Failure> {
    let Ok(reading) = Reading::of(config) else {
        warn_line!(
            "warning: the file has no [audit], so nobody will find who said this; the ledger keeps it"
        );
        return Ok(());
    };
    let mut detail = String::from("{\"call\":");
    push_string(&mut detail, &effect.call.to_string());
    for (name, text) in [("before", effect.state), ("how", how), ("reason", reason)] {
        detail.push(',');
        push_string(&mut detail, name);
        detail.push(':');
        push_string(&mut detail, &text.chars().take(512).collect::<String>());
    }
    detail.push('}');
    let mut body = Body::new("reconcile", now_us());
    let text = |text: &str| Value::Text(text.replace('\0', "\u{FFFD}"));
    body.set(Column::Call, text(&effect.call.to_string()));
    body.set(Column::Principal, text(by));
    body.set(Column::Tenant, effect.tenant.as_deref().map_or(Value::Null, text));
    body.set(Column::Tool, text(&effect.tool));
    body.set(Column::Contract, Value::Digest(effect.contract));
    body.set(Column::Effect, text(outcome.as_str()));
    body.set(Column::Detail, Value::Text(detail));
    reading.append(&body).map_err(super::failed)
}

fn list(found: &[Effect], json: bool) {
    if json {
        found.iter().for_each(|effect| say!("{}", line(effect)));
        return;
    }
    let mut table = Table::new(["CLAIMED", "TOOL", "PRINCIPAL", "TENANT", "RESOLVED BY", "CALL"]);
    for effect in found {
        table.row([
            format_time(effect.claimed_us),
            effect.tool.clone(),
            effect.principal.clone(),
            effect.tenant.clone().unwrap_or_else(|| "-".to_owned()),
            effect.resolution.clone().unwrap_or_else(|| "person".to_owned()),
            effect.call.to_string(),
        ]);
    }
    say!("{table}");
    let plural = if found.len() == 1 { "" } else { "s" };
    say!("{} effect{plural} with an unknown outcome", found.len());
}

fn line(effect: &Effect) -> String {
    let mut line = String::from("{\"call\":");
    push_string(&mut line, &effect.call.to_string());
    line.push_str(",\"claimed_us\":");
    push_integer(&mut line, effect.claimed_us);
    for (name, text) in [
        ("key", Some(effect.key.to_string())),
        ("tool", Some(effect.tool.clone())),
        ("contract", Some(effect.contract.to_string())),
        ("principal", Some(effect.principal.clone())),
        ("tenant", effect.tenant.clone()),
        ("resolution", effect.resolution.clone()),
        ("state", Some(effect.state.to_owned())),
    ] {
        let Some(text) = text else { continue };
        line.push(',');
        push_string(&mut line, name);
        line.push(':');
        push_string(&mut line, &text);
    }
    line.push('}');
    line
}
