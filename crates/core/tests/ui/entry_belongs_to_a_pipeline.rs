use callgate_core::call::Call;
use callgate_core::entry::Entry;
use callgate_core::port::{Audit, Clock};
use callgate_core::snapshot::Snapshot;

fn open<'r>(audit: &'r dyn Audit, snapshot: &Snapshot, call: &'r Call<'r>, clock: &dyn Clock) {
    let _ = Entry::open(audit, snapshot, call, clock);
}

fn main() {}
