use callgate_core::call::Call;
use callgate_core::entry::Entry;
use callgate_core::keeping::Keeping;
use callgate_core::stage::{execute::execute, reserve::Reserved};

async fn run_twice(keeping: Keeping<'_>, reserved: Reserved<'_>, call: &Call<'_>, entry: &Entry<'_>) {
    let _first = execute(keeping, reserved, call, entry).await;
    let _second = execute(keeping, reserved, call, entry).await;
}

fn main() {}
