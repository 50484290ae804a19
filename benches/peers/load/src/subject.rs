//! The servers compared: what each is called, how it is started for a workload, and how fast it is about.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;
use crate::case::{Case, LISTED_TOOLS, Workload};
use crate::options::Options;
use crate::peers::{self, Peer};
use crate::process::Program;
use crate::read_path::{Step, TOKEN};

/// The peer that the whole read path is held against.
pub const RMCP_SQL: &str = "rmcp-sql";

/// A server under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// This project.
    Callgate,
    /// This project with an audit trail in SQLite, each answered call durable on the disk.
    CallgateAudit,
    /// The same trail, durable against the end of the process only.
    CallgateAuditNormal,
    /// This project with the read path of a protected server, as far as the step says.
    CallgateRead(Step),
    /// Fixed bytes over the same HTTP library.
    RawHyper,
    /// Fixed lines over stdio.
    RawStdio,
    /// rmcp at the best its public interface gives.
    Rmcp,
    /// rmcp with the same read from SQLite, on the thread of the call.
    RmcpSql,
    /// rmcp with the same read from SQLite, on a thread for blocking work.
    RmcpSqlThreads,
    /// rmcp as documented.
    RmcpDocumented,
    /// The TypeScript SDK.
    TypeScript,
    /// FastMCP.
    FastMcp,
}

/// All subjects; the floor and this project first.
pub const SUBJECTS: [Subject; 17] = [
    Subject::RawHyper,
    Subject::RawStdio,
    Subject::Callgate,
    Subject::CallgateAudit,
    Subject::CallgateAuditNormal,
    Subject::CallgateRead(Step::Jwt),
    Subject::CallgateRead(Step::Cedar),
    Subject::CallgateRead(Step::Limits),
    Subject::CallgateRead(Step::AuditNormal),
    Subject::CallgateRead(Step::Audit),
    Subject::CallgateRead(Step::Unremembered),
    Subject::Rmcp,
    Subject::RmcpSql,
    Subject::RmcpSqlThreads,
    Subject::RmcpDocumented,
    Subject::TypeScript,
    Subject::FastMcp,
];

impl Subject {
    /// The name in reports and in `--subjects`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Callgate => "callgate",
            Self::CallgateAudit => "callgate-audit",
            Self::CallgateAuditNormal => "callgate-audit-normal",
            Self::CallgateRead(step) => step.name(),
            Self::RawHyper => "raw-hyper",
            Self::RawStdio => "raw-stdio",
            Self::Rmcp => "rmcp",
            Self::RmcpSql => RMCP_SQL,
            Self::RmcpSqlThreads => "rmcp-sql-threads",
            Self::RmcpDocumented => "rmcp-documented",
            Self::TypeScript => "typescript",
            Self::FastMcp => "fastmcp",
        }
    }

    /// Whether this subject answers fixed bytes and is what the others are held against.
    pub fn is_floor(self) -> bool {
        matches!(self, Self::RawHyper | Self::RawStdio)
    }

    /// The bearer token that its requests carry.
    pub fn token(self) -> Option<&'static str> {
        matches!(self, Self::CallgateRead(_)).then(|| TOKEN.trim_end())
    }

    /// Whether it exists for the read from SQLite alone.
    fn only_reads(self) -> bool {
        matches!(
            self,
            Self::CallgateAudit
                | Self::CallgateAuditNormal
                | Self::CallgateRead(_)
                | Self::RmcpSql
                | Self::RmcpSqlThreads
        )
    }

    /// Whether it takes part in a workload.
    pub fn serves(self, workload: Workload) -> bool {
        match workload {
            Workload::EchoStdio => self != Self::RawHyper && !self.only_reads(),
            Workload::SqlHttp => matches!(self, Self::Callgate | Self::RawHyper) || self.only_reads(),
            Workload::EchoHttp | Workload::ListHttp => self != Self::RawStdio && !self.only_reads(),
        }
    }

    /// Whether valgrind can count it; an interpreter under valgrind says nothing about a server.
    pub fn is_native(self) -> bool {
        !matches!(self, Self::TypeScript | Self::FastMcp)
    }

    /// How many requests of a case it gets in one round, so that a round takes about as long for each.
    pub fn requests(self, case: &Case, quick: bool) -> usize {
        let full = if quick { case.requests / 5 } else { case.requests };
        let divisor = match (self, case.workload) {
            (Self::Callgate | Self::RawHyper | Self::RawStdio, _) => 1,
            // A durable answer waits for the disk, which may be slow.
            (Self::CallgateAudit | Self::CallgateAuditNormal, _) => 2,
            (Self::CallgateRead(step), _) if step.keeps_a_trail() => 2,
            (Self::CallgateRead(_) | Self::RmcpSql | Self::RmcpSqlThreads, _) => 1,
            // Its answers wait 40 ms for a delayed acknowledgement, whatever the number of connections.
            (Self::RmcpDocumented, Workload::EchoHttp) => return 25 * case.connections,
            (Self::Rmcp | Self::RmcpDocumented, Workload::ListHttp | Workload::EchoStdio) => 20,
            (Self::Rmcp | Self::RmcpDocumented, _) => 3,
            (Self::TypeScript | Self::FastMcp, Workload::EchoStdio) => 200,
            (Self::TypeScript | Self::FastMcp, Workload::ListHttp) => return 3 * case.connections,
            (Self::TypeScript | Self::FastMcp, _) => 30,
        };
        (full / divisor).max(20)
    }

    /// How to start it; an error says what is missing, and the subject is then reported as skipped.
    pub fn program(self, workload: Workload, options: &Options, answer: &Path) -> Result<Program, Failure> {
        let tools = if workload == Workload::ListHttp { LISTED_TOOLS } else { 1 }.to_string();
        let http = ["--listen", "127.0.0.1:0", "--workers", "1", "--tools", &tools];
        let answer = answer.display().to_string();
        match (self, workload) {
            (Self::Callgate, Workload::SqlHttp)
            | (Self::CallgateAudit | Self::CallgateAuditNormal | Self::CallgateRead(_), _) => {
                let binary = options.callgate.as_ref().ok_or("--callgate is not given")?;
                let config = sql_project(options, binary, self)?;
                let config = config.display().to_string();
                Ok(Program::new(binary, &["serve", "--listen", "127.0.0.1:0", "--config", &config]))
            }
            (Self::Callgate, _) => {
                let stdio: &[&str] = &["--tools", &tools];
                Ok(Program::new(
                    beside("callgate-bench")?,
                    if workload == Workload::EchoStdio { stdio } else { &http },
                ))
            }
            (Self::RawStdio, _) => Ok(Program::new(beside("raw")?, &["stdio", "--answer", &answer])),
            (Self::RawHyper, _) => {
                let args = ["http", "--listen", "127.0.0.1:0", "--workers", "1", "--answer", &answer];
                Ok(Program::new(beside("raw")?, &args))
            }
            (Self::RmcpSql | Self::RmcpSqlThreads, _) => {
                let form = if self == Self::RmcpSql { "sql" } else { "sql-threads" };
                let binary = options.callgate.as_ref().ok_or("--callgate is not given")?;
                let database = sql_project(options, binary, self)?.with_file_name("billing.db");
                let database = database.display().to_string();
                let mut args = vec![form, "http", "--database", &database];
                args.extend_from_slice(&http);
                Ok(Program::new(beside("rmcp-server")?, &args))
            }
            (Self::Rmcp | Self::RmcpDocumented, _) => {
                let form = if self == Self::Rmcp { "cached" } else { "documented" };
                let mut args = vec![form, if workload == Workload::EchoStdio { "stdio" } else { "http" }];
                args.extend_from_slice(&http);
                Ok(Program::new(beside("rmcp-server")?, &args))
            }
            (Self::TypeScript | Self::FastMcp, _) => {
                let peer = if self == Self::TypeScript { Peer::TypeScript } else { Peer::FastMcp };
                let transport = if workload == Workload::EchoStdio { "stdio" } else { "http" };
                peers::program(peer, options, &[transport, &tools])
            }
        }
    }
}

/// A binary of this workspace: they are built into one directory.
fn beside(name: &str) -> Result<PathBuf, Failure> {
    let path = env::current_exe()?.with_file_name(name);
    if path.exists() { Ok(path) } else { Err(format!("{} is not built", path.display()).into()) }
}

/// The project that `callgate init` writes: three tenants and some thousand invoices in SQLite.
fn sql_project(options: &Options, binary: &Path, subject: Subject) -> Result<PathBuf, Failure> {
    let home = options.out.join(format!("sql-{}", subject.name()));
    let config = home.join("callgate.toml");
    if !config.exists() {
        let status = Command::new(binary).arg("init").arg(&home).stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err("`callgate init` failed".into());
        }
        let trail = |durability| format!("\n[audit]\npath = \"audit.db\"\ndurability = \"{durability}\"\n");
        let text = fs::read_to_string(&config)?;
        let text = match subject {
            Subject::CallgateAudit => text + &trail("full"),
            Subject::CallgateAuditNormal => text + &trail("normal"),
            Subject::CallgateRead(step) => step.prepare(&home, &text)?,
            _ => text,
        };
        fs::write(&config, text)?;
    }
    Ok(config)
}
