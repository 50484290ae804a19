//! Prints the manual page of refusals. `cargo xtask generate` writes it to `docs/refusals.md`.

#![expect(clippy::print_stdout, reason = "that is all it does")]

fn main() {
    print!("{}", callgate_server::refusals_manual());
}
