use callgate_core::snapshot::Snapshot;
use callgate_core::stage::{execute::Executed, settle::settle};

fn skip_check(snapshot: &Snapshot, executed: Executed<'_>) {
    let _ = settle(snapshot, executed);
}

fn main() {}
