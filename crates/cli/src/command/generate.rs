//! `callgate generate`: the parts of the manual that are made from the code.
//!
//! `cargo xtask generate` writes them into `docs/`; CI fails when they differ.

use std::fmt::Write as _;

use callgate_core::contract::lint::RULES;
use clap::CommandFactory as _;

use crate::args::{Arguments, Part};

pub(crate) fn run(part: Part) {
    match part {
        Part::ConfigSchema => crate::print::out(format_args!("{}", callgate_gateway::config::json_schema())),
        Part::Refusals => crate::print::out(format_args!("{}", callgate_server::refusals_manual())),
        Part::Lint => crate::print::out(format_args!("{}", lint())),
        Part::Cli => crate::print::out(format_args!("{}", reference())),
    }
}

fn lint() -> String {
    let mut out = String::from(
        "# Lint rules\n\nWhat `callgate check` judges of a tool definition. An error keeps the configuration from being served; \
         a warning does not,\nunless `--strict` is given. Rule names are stable.\n\n| rule | severity | what it finds |\n| --- | --- | --- |\n",
    );
    for (rule, severity, meaning) in RULES {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{rule}` | {severity} | {meaning} |");
    }
    out
}

/// The help of each command, as the binary shows it.
fn reference() -> String {
    let mut command = Arguments::command().term_width(100);
    let mut out = String::from(
        "# Command line\n\nExit codes: 0 done; 1 the configuration cannot be read or has errors; 2 wrong usage; 3 a file cannot be written;\n4 the server cannot start or stopped with an error; 5 the demonstration failed; 6 a decision is not the expected one;\n7 the audit trail is broken; 8 the audit trail cannot be read, or has no such record.\n",
    );
    let mut section = |name: &str, help: String| {
        let trimmed: Vec<_> = help.lines().map(str::trim_end).collect();
        let _ = write!(out, "\n## {name}\n\n```text\n{}\n```\n", trimmed.join("\n").trim_end());
    };
    section("callgate", command.render_long_help().to_string());
    for subcommand in shown(&command) {
        let name = format!("callgate {}", subcommand.get_name());
        section(&name, help(&subcommand, &name));
        for inner in shown(&subcommand) {
            let name = format!("{name} {}", inner.get_name());
            section(&name, help(&inner, &name));
        }
    }
    out
}

fn shown(command: &clap::Command) -> Vec<clap::Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect()
}

fn help(command: &clap::Command, name: &str) -> String {
    command.clone().bin_name(name.to_owned()).render_long_help().to_string()
}
