use callgate_core::call::Call;
use callgate_core::entry::Entry;
use callgate_core::keeping::Keeping;
use callgate_core::stage::{approve::Approved, execute::execute};

async fn skip_reserve(keeping: Keeping<'_>, approved: Approved<'_>, call: &Call<'_>, entry: &mut Entry<'_>) {
    let _ = execute(keeping, approved, call, entry).await;
}

fn main() {}
