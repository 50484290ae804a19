use std::sync::Arc;

use callgate_core::principal::Principal;
use callgate_core::stage::authenticate::Authenticated;

fn forge() -> Authenticated {
    Authenticated { principal: Arc::new(Principal::new("root")) }
}

fn main() {}
