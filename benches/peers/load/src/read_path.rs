//! The read path of a protected server, its parts switched on one after another: what each step adds to the configuration
//! that `callgate init` writes.
//!
//! It never holds a private key; the token and the public key that verifies it are files of this package. Called by `subject`.

use std::fs;
use std::path::Path;

use crate::Failure;

/// The bearer token that every request of a step carries.
pub const TOKEN: &str = include_str!("../read/token.txt");
const KEYS: &str = include_str!("../read/keys.json");
const EVERYTHING: &str = include_str!("../read/everything.cedar");
const INVOICES: &str = include_str!("../read/invoices.cedar");

/// The highest rate that a configuration may say, 16,667 calls a second.
const CALLS_PER_MINUTE: u32 = 1_000_000;
/// The highest burst. All rounds of a run together stay below it, so the rates are counted and never refuse; if one did, the
/// check of its answer would fail the run.
const BURST: u32 = 100_000;
/// The tool that the workload calls.
const TOOL: &str = "[tool.invoice_get]\n";

/// How much of the path is switched on; each step has all before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A signed access token, remembered by its digest once verified, and a policy that permits everything.
    Jwt,
    /// A policy that looks at the caller, the tool and the arguments.
    Cedar,
    /// Rates and calls at one time, of the caller, the tenant and the tool.
    Limits,
    /// The trail in SQLite, each answer durable against the end of the process.
    AuditNormal,
    /// The trail in SQLite, each answer durable on the disk: the whole path.
    Audit,
    /// The whole path, with the signature verified for each request.
    Unremembered,
}

impl Step {
    /// The name of the subject.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jwt => "callgate-read-jwt",
            Self::Cedar => "callgate-read-cedar",
            Self::Limits => "callgate-read-limits",
            Self::AuditNormal => "callgate-read-whole-normal",
            Self::Audit => WHOLE,
            Self::Unremembered => "callgate-read-whole-uncached",
        }
    }

    /// Whether its answers wait for a trail.
    pub fn keeps_a_trail(self) -> bool {
        self >= Self::AuditNormal
    }

    /// Writes the files of this step beside the configuration, and gives the configuration with its tables.
    pub fn prepare(self, home: &Path, config: &str) -> Result<String, Failure> {
        if !config.contains(TOOL) {
            return Err("the demonstration has no tool `invoice_get`".into());
        }
        fs::write(home.join("keys.json"), KEYS)?;
        let policy = if self >= Self::Cedar { INVOICES } else { EVERYTHING };
        fs::write(home.join("callers.cedar"), policy)?;
        let mut config = config.replace(TOOL, &format!("{TOOL}scopes = [\"invoices:read\"]\n"));
        config.push_str(
            r#"
[policy]
files = ["callers.cedar"]

[auth.oauth]
issuer = "https://id.bench.invalid"
resource = "https://bench.invalid/mcp"
jwks = "file:keys.json"
"#,
        );
        if self == Self::Unremembered {
            config.push_str("cache_s = 0\n");
        }
        if self >= Self::Limits {
            for table in ["limits.principal", "limits.tenant", "tool.invoice_get.limits"] {
                config.push_str(&format!(
                    "\n[{table}]\ncalls_per_minute = {CALLS_PER_MINUTE}\nburst = {BURST}\nconcurrency = 256\n"
                ));
            }
        }
        if self.keeps_a_trail() {
            // In a directory of its own, as the manual says: the one of the configuration is watched for changes.
            fs::create_dir_all(home.join("trail"))?;
            let durability = if self == Self::AuditNormal { "normal" } else { "full" };
            config
                .push_str(&format!("\n[audit]\npath = \"trail/audit.db\"\ndurability = \"{durability}\"\n"));
        }
        Ok(config)
    }
}

/// The subject that is held to the aim.
pub const WHOLE: &str = "callgate-read-whole";
