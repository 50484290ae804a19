use callgate_core::stage::{authorize::Authorized, validate::Validated};

fn forge(validated: Validated<'_>) -> Authorized<'_> {
    Authorized { validated, needs_approval: false }
}

fn main() {}
