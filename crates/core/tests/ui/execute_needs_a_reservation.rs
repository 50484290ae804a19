use callgate_core::call::Call;
use callgate_core::limits::Limits;
use callgate_core::stage::{approve::Approved, execute::execute};

async fn skip_reserve(limits: &Limits, approved: Approved<'_>, call: &Call<'_>) {
    let _ = execute(limits, approved, call).await;
}

fn main() {}
