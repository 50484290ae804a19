use callgate_core::stage::admit::Admission;

fn main() {
    let _ = Admission::new();
}
