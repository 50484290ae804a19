use callgate_core::entry::Entry;
use callgate_core::limits::Limits;
use callgate_core::port::{Approvals, Ledger};
use callgate_core::stage::{approve::approve, validate::Validated};

async fn skip_authorize(
    limits: &Limits,
    port: &dyn Approvals,
    ledger: &dyn Ledger,
    validated: Validated<'_>,
    entry: &mut Entry<'_>,
) {
    let _ = approve(limits, port, ledger, validated, entry).await;
}

fn main() {}
