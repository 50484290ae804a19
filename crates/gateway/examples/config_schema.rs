//! Prints the JSON Schema of `callgate.toml`, which `cargo xtask generate` commits as
//! `docs/callgate.schema.json`.
#![expect(clippy::print_stdout, reason = "printing is all that it does")]

fn main() {
    print!("{}", callgate_gateway::config::json_schema());
}
