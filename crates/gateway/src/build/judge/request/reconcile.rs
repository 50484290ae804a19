//! How a service is asked about an effect whose outcome is unknown.
//!
//! A question without the key would be about another effect, and an answer that is no proof would let an effect happen
//! twice. The judge of requests calls it.

use super::{numbers, parts};
use crate::build::sources::http::Remote;
use crate::config::{Finding, Located, Part, ReconcileTable, Request, RequestTable, Template, Tool, Unknown};
use crate::http_tool::Reconcile;

/// The status with which a service shows what it has.
const OK: u16 = 200;

pub(super) fn plan(table: &ReconcileTable, findings: &mut Vec<Finding>) -> Reconcile {
    let (path, query) = parts::reconcile(table, findings);
    let happened = table.happened.as_ref().map_or_else(|| vec![OK], |_| numbers(&table.happened));
    let absent = numbers(&table.absent);
    let both = table.absent.iter().flat_map(|list| list.iter());
    for status in
        both.filter(|status| u16::try_from(***status).is_ok_and(|status| happened.contains(&status)))
    {
        let message = format!("the status {} means that it happened and that it did not", **status);
        let finding = Finding::error("conflict", message, "say once what it means");
        findings.push(finding.at(status.place().clone()));
    }
    Reconcile { path, query, happened, absent }
}

/// Finds what of a tool does not go together with who finds out what became of a lost call.
pub(super) fn check(
    tool: &Tool,
    request: &Request,
    table: &RequestTable,
    remote: Option<&Remote>,
    findings: &mut Vec<Finding>,
) {
    let by_backend = tool.unknown.as_ref().filter(|unknown| ***unknown == Unknown::Backend);
    let Some(reconcile) = &request.reconcile else {
        if let Some(unknown) = by_backend {
            let finding = Finding::error(
                "conflict",
                "nothing says how the service is asked what became of a lost call",
                "add a table `reconcile` with a `path` that has `{key}` in it, or write `unknown = \"person\"`",
            );
            findings.push(finding.at(unknown.place().clone()));
        }
        return;
    };
    let (message, remedy) = if by_backend.is_none() {
        (
            "the service is never asked, because a person finds out",
            "write `unknown = \"backend\"`, or remove `reconcile`",
        )
    } else if table.idempotency_header.is_none() {
        (
            "the service gets no key, so it cannot be asked about one",
            "add `idempotency_header` to the request",
        )
    } else if remote.is_some_and(|remote| remote.service.delegate().is_some()) {
        (
            "the service is spoken to in the name of the caller, and who asks later is none",
            "write `unknown = \"person\"`, or use another credential",
        )
    } else if !has_key(reconcile) {
        ("the question does not say which effect it is about", "put `{key}` into its path or query")
    } else {
        return;
    };
    let place = reconcile.path.as_ref().map_or(tool.name.place(), |path| Located::place(&path.text));
    findings.push(Finding::error("conflict", message, remedy).at(place.clone()));
}

fn has_key(table: &ReconcileTable) -> bool {
    let named = |template: &Template| {
        template.parts.iter().any(|part| matches!(part, Part::Value { name, .. } if name == "key"))
    };
    table.path.as_ref().is_some_and(named) || table.query.iter().any(|(_, template)| named(template))
}
