use callgate_core::port::Approvals;
use callgate_core::stage::{approve::approve, validate::Validated};

async fn skip_authorize(port: &dyn Approvals, validated: Validated<'_>) {
    let _ = approve(port, validated).await;
}

fn main() {}
