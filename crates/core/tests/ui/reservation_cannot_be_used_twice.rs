use callgate_core::call::Call;
use callgate_core::entry::Entry;
use callgate_core::limits::Limits;
use callgate_core::stage::{execute::execute, reserve::Reserved};

async fn run_twice(limits: &Limits, reserved: Reserved<'_>, call: &Call<'_>, entry: &Entry<'_>) {
    let _first = execute(limits, reserved, call, entry).await;
    let _second = execute(limits, reserved, call, entry).await;
}

fn main() {}
