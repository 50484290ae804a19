//! `callgate approve`: the calls that wait for people, and deciding them.
//!
//! What is decided stands in the trail before it stands in the store. It must never decide in the name of the caller
//! where policy wants a second person, and it shows everything that the approver is asked about.

use std::path::Path;

use callgate_adapters::audit::{Body, Column, Value, format_time};
use callgate_core::port::{ApprovalRow, ApprovalState, Ruled};
use callgate_core::receipt::CallId;
use callgate_core::refusal::Refusal;
use callgate_gateway::approval::Approving;
use callgate_gateway::trail::Reading;
use callgate_protocol::json::{push_integer, push_string};

use super::audit::table::{Table, visible};
use super::audit::{account, failed, now_us};
use super::check;
use crate::args::{Approve, ApproveCommand, Decide};
use crate::exit::Failure;
use crate::print::{say, warn_line};

/// Characters of a reason.
const REASON: usize = 512;

pub(crate) fn run(approve: &Approve) -> Result<(), Failure> {
    let config = approve.config.as_path();
    let approving = Approving::open(config).map_err(|report| {
        check::show(&report);
        Failure::Configuration
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Trail(format!("no runtime could be made: {error}")))?;
    runtime.block_on(async {
        match &approve.command {
            ApproveCommand::List { json } => list(&approving, *json).await,
            ApproveCommand::Show { id, json } => show(&approving, id, *json).await,
            ApproveCommand::Grant(arguments) => decide(config, &approving, arguments, true).await,
            ApproveCommand::Deny(arguments) => decide(config, &approving, arguments, false).await,
        }
    })
}

fn unread(refusal: Refusal) -> Failure {
    Failure::Trail(refusal.detail().map_or_else(|| refusal.public().to_owned(), str::to_owned))
}

async fn list(approving: &Approving, json: bool) -> Result<(), Failure> {
    let rows = approving.list().await.map_err(unread)?;
    if json {
        rows.iter().for_each(|row| say!("{}", line(row)));
        return Ok(());
    }
    let mut table =
        Table::new(["ASKED", "UNTIL", "STATE", "TOOL", "CALLER", "TENANT", "APPROVER", "APPROVAL"]);
    for row in &rows {
        table.row([
            format_time(row.created.0),
            format_time(row.expires.0),
            row.state.as_str().to_owned(),
            row.tool.clone(),
            row.subject.clone(),
            row.tenant.clone().unwrap_or_else(|| "-".to_owned()),
            if row.second_person { "second person" } else { "anybody" }.to_owned(),
            row.id.to_string(),
        ]);
    }
    say!("{table}");
    let waiting = rows.iter().filter(|row| row.state == ApprovalState::Pending).count();
    say!("{waiting} pending");
    Ok(())
}

async fn found(approving: &Approving, id: &str) -> Result<ApprovalRow, Failure> {
    let parsed: CallId = id.parse().map_err(|error| Failure::Usage(format!("{}: {error}", visible(id))))?;
    let row = approving.get(parsed).await.map_err(unread)?;
    row.ok_or_else(|| Failure::Trail(format!("{id}: there is no such approval, or its time is over")))
}

async fn show(approving: &Approving, id: &str, json: bool) -> Result<(), Failure> {
    let row = found(approving, id).await?;
    if json {
        say!("{}", line(&row));
        return Ok(());
    }
    say!("approval  {}", row.id);
    say!("state     {}", row.state.as_str());
    let tenant = row.tenant.as_deref().map(|tenant| format!(" of the tenant {}", visible(tenant)));
    say!("caller    {}{}", visible(&row.subject), tenant.unwrap_or_default());
    say!("approver  {}", if row.second_person { "another person than the caller" } else { "anybody" });
    say!("asked     {}", format_time(row.created.0));
    say!("until     {}", format_time(row.expires.0));
    if let Some(by) = &row.by {
        let reason = row.reason.as_deref().map(|reason| format!(": {}", visible(reason)));
        say!("decided   by {}{}", visible(by), reason.unwrap_or_default());
    }
    // What people do not see was written out when the text was made.
    say!("\n{}", row.text);
    Ok(())
}

async fn decide(
    config: &Path,
    approving: &Approving,
    arguments: &Decide,
    granted: bool,
) -> Result<(), Failure> {
    let by = arguments.by.clone().or_else(account).filter(|by| !by.is_empty());
    let by = by.ok_or_else(|| Failure::Usage("say who decides with --by".to_owned()))?;
    if !approving.may_decide(&by) {
        let problem =
            format!("{}: not among the `approvers` of [approval] in the configuration", visible(&by));
        return Err(Failure::Unsettled(problem));
    }
    let row = found(approving, &arguments.id).await?;
    judge(&row, granted, &by)?;
    let reason: Option<String> = arguments.reason.as_ref().map(|text| text.chars().take(REASON).collect());
    record(config, &row, granted, &by, reason.as_deref())?;
    match approving.decide(row.id, granted, &by, reason).await.map_err(unread)? {
        Ruled::Done(row) => {
            let what = if granted { "granted; the same call now runs once" } else { "denied" };
            say!("approval {}: {what}", row.id);
            Ok(())
        }
        Ruled::Unknown => Err(Failure::Trail(format!("{}: its time is over", row.id))),
        Ruled::Settled(row) | Ruled::OwnCall(row) => {
            judge(&row, granted, &by)?;
            Err(Failure::Unsettled(format!("{}: it was decided meanwhile", row.id)))
        }
    }
}

/// Whether that person can still decide that.
fn judge(row: &ApprovalRow, granted: bool, by: &str) -> Result<(), Failure> {
    let id = row.id;
    if row.state != ApprovalState::Pending {
        return Err(Failure::Unsettled(format!("{id}: it is {} already", row.state.as_str())));
    }
    if granted && row.second_person && row.subject == by {
        let problem = "it is the caller's own, and policy wants another person to approve it";
        return Err(Failure::Unsettled(format!("{id}: {problem}")));
    }
    Ok(())
}

/// Writes the decision into the trail, if the file has one.
fn record(
    config: &Path,
    row: &ApprovalRow,
    granted: bool,
    by: &str,
    reason: Option<&str>,
) -> Result<(), Failure> {
    let Ok(reading) = Reading::of(config) else {
        warn_line!("warning: the file has no [audit], so nobody will find who decided this when it is over");
        return Ok(());
    };
    let mut detail = String::from("{\"decision\":");
    push_string(&mut detail, if granted { "granted" } else { "denied" });
    detail.push_str(",\"caller\":");
    push_string(&mut detail, &row.subject);
    if let Some(reason) = reason {
        detail.push_str(",\"reason\":");
        push_string(&mut detail, reason);
    }
    detail.push('}');
    let text = |text: &str| Value::Text(text.replace('\0', "\u{FFFD}"));
    let mut body = Body::new("approval", now_us());
    body.set(Column::Call, text(&row.id.to_string()));
    body.set(Column::Principal, text(by));
    body.set(Column::Tenant, row.tenant.as_deref().map_or(Value::Null, text));
    body.set(Column::Tool, text(&row.tool));
    body.set(Column::Detail, text(&detail));
    reading.append(&body).map_err(failed)
}

fn line(row: &ApprovalRow) -> String {
    let mut line = String::from("{\"approval\":");
    push_string(&mut line, &row.id.to_string());
    for (name, text) in [
        ("state", Some(row.state.as_str())),
        ("tool", Some(&row.tool)),
        ("caller", Some(&row.subject)),
        ("tenant", row.tenant.as_deref()),
        ("by", row.by.as_deref()),
        ("reason", row.reason.as_deref()),
        ("text", Some(&row.text)),
    ] {
        let Some(text) = text else { continue };
        line.push(',');
        push_string(&mut line, name);
        line.push(':');
        push_string(&mut line, text);
    }
    for (name, time) in [("created_us", row.created.0), ("expires_us", row.expires.0)] {
        line.push_str(",\"");
        line.push_str(name);
        line.push_str("\":");
        push_integer(&mut line, time);
    }
    line.push_str(if row.second_person { ",\"second_person\":true}" } else { ",\"second_person\":false}" });
    line
}
