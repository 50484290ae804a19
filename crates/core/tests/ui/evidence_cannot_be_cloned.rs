use callgate_core::stage::approve::Approved;

fn copy(approved: &Approved<'static>) -> Approved<'static> {
    approved.clone()
}

fn main() {}
