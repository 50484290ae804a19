use callgate_core::port::Decision;
use callgate_core::stage::{authorize::Authorized, validate::Validated};

fn forge(validated: Validated<'_>) -> Authorized<'_> {
    Authorized { validated, decision: Decision::Permit { policies: Vec::new() } }
}

fn main() {}
