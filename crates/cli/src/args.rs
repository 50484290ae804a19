//! The command line: what can be asked for. It holds no behaviour.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A runtime for MCP tools in which every call passes one gate.
///
/// Exit codes: 0 done; 1 the configuration cannot be read or has errors; 2 wrong usage; 3 a file cannot
/// be written; 4 the server cannot start or stopped with an error; 5 the demonstration failed;
/// 6 a decision is not the expected one; 7 the audit trail is broken; 8 the audit trail or the store
/// cannot be read, or has no such record; 9 the outcome of an effect is still unknown, or an effect or
/// an approval was not changed.
#[derive(Debug, Parser)]
#[command(name = "callgate", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What to log on standard error: error, warn, info, debug, trace, or directives such as
    /// `callgate_server=debug`. The record of each call is `callgate::audit=info`.
    #[arg(
        long,
        global = true,
        default_value = "warn,callgate::audit=info",
        env = "CALLGATE_LOG",
        value_name = "LEVEL"
    )]
    pub(crate) log: String,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented callgate.toml and a small working database.
    Init(Init),
    /// Serve the tools of a configuration over stdio, or over HTTP with --listen.
    Serve(Serve),
    /// Judge a configuration: errors and warnings, each with its place and remedy.
    Check(Check),
    /// Explain, test and describe who may do what.
    Policy {
        #[command(subcommand)]
        command: Policy,
    },
    /// The calls that wait for people: list, show, grant and deny them.
    Approve(Approve),
    /// Read the audit trail: search, show, verify and export it.
    Audit(Audit),
    /// Make the tables of the store, or bring them up to date. It changes nothing that is up to date.
    Migrate(Migrate),
    /// Keys that seal what leaves the process and must come back unchanged.
    Seal {
        #[command(subcommand)]
        command: Seal,
    },
    /// Make a billing database, serve it, make one call and show it.
    Demo(Demo),
    /// Print a generated part of the manual.
    #[command(hide = true)]
    Generate {
        /// Which part.
        part: Part,
    },
}

/// Arguments of `callgate init`.
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The directory to write into; it is made if it does not exist.
    #[arg(default_value = ".", value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
}

/// Arguments of `callgate serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The configuration.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Serve HTTP on this address, for example 127.0.0.1:8300, instead of stdio. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Arguments of `callgate check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The configuration.
    #[arg(default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The same, as the other commands take it.
    #[arg(long, short, value_name = "FILE", conflicts_with = "file")]
    pub(crate) config: Option<PathBuf>,
    /// Warnings count as errors.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON object a finding instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `callgate migrate`.
#[derive(Args, Debug)]
pub(crate) struct Migrate {
    /// The configuration whose `[store]` table says where the store is.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Print the SQL and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Show what is decided of a call, by which policies, and what would change it.
    Explain(Explain),
    /// Run a file of expected decisions.
    Test(PolicyTest),
    /// Print the Cedar schema of the tools, for editors and other tools of Cedar.
    Schema(PolicySchema),
}

/// Arguments of `callgate policy explain`.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The configuration.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Who calls.
    #[arg(long, value_name = "NAME")]
    pub(crate) principal: String,
    /// The tenant of the caller.
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
    /// A group of the caller; may be given several times.
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,
    /// A scope of the caller's credential; may be given several times.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// What the credential was issued for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) purpose: Option<String>,
    /// The program that acts for the principal: its client id at the issuer.
    #[arg(long, value_name = "ID")]
    pub(crate) client: Option<String>,
    /// The tool that is called.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: String,
    /// The arguments: one JSON object.
    #[arg(long, default_value = "{}", value_name = "JSON")]
    pub(crate) args: String,
    /// Somebody has approved the call.
    #[arg(long)]
    pub(crate) approved: bool,
    /// Another person than the caller has approved the call.
    #[arg(long)]
    pub(crate) second_person: bool,
    /// When the call is made, for example 2026-12-01T10:00:00Z. Default: now.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
}

/// Arguments of `callgate policy test`.
#[derive(Args, Debug)]
pub(crate) struct PolicyTest {
    /// The expected decisions: a TOML file of tables `[[case]]`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The configuration.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// Arguments of `callgate policy schema`.
#[derive(Args, Debug)]
pub(crate) struct PolicySchema {
    /// The configuration.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// Arguments of `callgate audit`.
#[derive(Args, Debug)]
pub(crate) struct Audit {
    /// The configuration whose `[audit]` table says where the trail is.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE", global = true)]
    pub(crate) config: PathBuf,
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

/// What to do with the trail. It is read while the server runs and never written, except by `init` and
/// `reconcile`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List the newest records.
    List {
        #[command(flatten)]
        filter: AuditFilter,
        #[command(flatten)]
        shown: AuditShown,
    },
    /// List the newest records that hold a text in a name, an argument or a reason.
    Search {
        /// The text, without regard to case.
        text: String,
        #[command(flatten)]
        filter: AuditFilter,
        #[command(flatten)]
        shown: AuditShown,
    },
    /// Show one record in full, by the call id of its receipt.
    Show {
        /// The id, as in `_meta["dev.callgate/receipt"].call`.
        id: String,
        /// Print it as one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Write records as JSON Lines to standard output, the oldest first.
    Export {
        #[command(flatten)]
        filter: AuditFilter,
    },
    /// Check the whole chain and name every place where it is broken. Exit code 7 when it is.
    Verify {
        /// Heads exported before, one JSON object a line; `-` reads standard input.
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
        /// Print one JSON object a break, and one with the counts.
        #[arg(long)]
        json: bool,
    },
    /// Print the end of the chain as one JSON object. Kept elsewhere, it shows later that the end was cut off.
    Heads,
    /// List the effects whose outcome nobody knows, or say what became of one.
    Reconcile(Reconcile),
    /// Make the tables of a trail in PostgreSQL, or the file of one in SQLite. It changes nothing that is there.
    Init,
}

/// Arguments of `callgate audit reconcile`.
#[derive(Args, Debug)]
pub(crate) struct Reconcile {
    /// The call whose effect is meant, as the list and its receipt name it. Without it, all unknown ones are listed.
    pub(crate) call: Option<String>,
    /// What became of the effect. Without it the backend is asked, where the tool says that it can be.
    #[arg(long, value_enum, requires = "call", requires = "reason")]
    pub(crate) outcome: Option<Outcome>,
    /// How that is known, for the trail.
    #[arg(long, value_name = "TEXT", requires = "outcome")]
    pub(crate) reason: Option<String>,
    /// Who says so, for the trail. Default: the name of the account.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Print one JSON object an effect instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What became of an effect.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Outcome {
    /// It happened; a repeated call is told so.
    Committed,
    /// It did not happen; the same key may be tried again.
    Failed,
    /// It happened and was taken back; a repeated call is told so.
    Compensated,
}

/// Arguments of `callgate approve`.
#[derive(Args, Debug)]
pub(crate) struct Approve {
    /// The configuration whose store is meant.
    #[arg(long, short, default_value = "callgate.toml", value_name = "FILE", global = true)]
    pub(crate) config: PathBuf,
    #[command(subcommand)]
    pub(crate) command: ApproveCommand,
}

/// What to do with the calls that wait.
#[derive(Debug, Subcommand)]
pub(crate) enum ApproveCommand {
    /// List the approvals that wait, those that were decided, and those that were used lately.
    List {
        /// Print one JSON object an approval instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Show one approval: whose call it is, and everything that the approver is asked about.
    Show {
        /// The approval, as the list and the answer to the call name it.
        id: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Permit the call: the caller repeats it, and it runs once.
    Grant(Decide),
    /// Refuse the call, until the time of the approval is over.
    Deny(Decide),
}

/// Arguments of `callgate approve grant` and `deny`.
#[derive(Args, Debug)]
pub(crate) struct Decide {
    /// The approval, as the list and the answer to the call name it.
    pub(crate) id: String,
    /// Who decides, for the store and the trail. Default: the name of the account.
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Why. The caller reads it when the call is refused.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// Which records are meant. Everything that is given must hold.
#[derive(Args, Debug)]
pub(crate) struct AuditFilter {
    /// From this time on: 2026-11-30T20:00:00Z, 2026-11-30, or how long ago, as in 15m, 6h, 7d.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Before this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Exactly this principal.
    #[arg(long)]
    pub(crate) principal: Option<String>,
    /// Exactly this tenant.
    #[arg(long)]
    pub(crate) tenant: Option<String>,
    /// Exactly this tool, as it was asked for.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// What was decided.
    #[arg(long, value_parser = ["permit", "deny", "needs_approval"])]
    pub(crate) decision: Option<String>,
    /// What the caller got; why is told by --code.
    #[arg(long, value_parser = ["complete", "tool_error", "input_required", "refused", "failed", "cancelled"])]
    pub(crate) outcome: Option<String>,
    /// Why a call was refused or failed, for example unknown_tool.
    #[arg(long)]
    pub(crate) code: Option<String>,
}

/// How records are listed.
#[derive(Args, Debug)]
pub(crate) struct AuditShown {
    /// How many records at most.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,
    /// Print one JSON object a record instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Seal {
    /// Print a fresh key and its id, and where they go.
    Key(SealKey),
}

/// Arguments of `callgate seal key`.
#[derive(Args, Debug)]
pub(crate) struct SealKey {
    /// Write the key into this file, which must not exist, instead of printing it.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print one JSON object with the members `id` and `key` or `file`.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `callgate demo`.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The directory to write into. Files that are there are kept.
    #[arg(long, default_value = "callgate-demo", value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    /// Go on serving after the call, until interrupted.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// A generated part of the manual.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Part {
    /// The JSON Schema of callgate.toml.
    ConfigSchema,
    /// The table of refusal codes.
    Refusals,
    /// The table of lint rules.
    Lint,
    /// The reference of this command line.
    Cli,
}
