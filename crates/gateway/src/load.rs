//! Loading a configuration: the file, its schema files and its sources, with every error at once.
//!
//! It runs on a thread of its own with its own runtime, so it can be called from anywhere and never
//! holds up a call that is being served. Connections that it makes for its questions end with it. The
//! gate, the reload and the check are the callers.

use std::path::Path;
use std::sync::Arc;

use callgate_adapters::oauth::Bearer;
use callgate_core::limits::Limits as GateLimits;
use callgate_core::seal::KeyRing;
use callgate_core::snapshot::Tool as GateTool;
use callgate_server::Tls;

use crate::build::{Built, build, gate_limits, seal};
use crate::callers::Settings;
use crate::config::{Config, Finding, Limits, Report, parse, read_text};
use crate::cursor::Seals;
use crate::files::FileState;
use crate::policy::{self, Policies};

/// What a file gave.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) tools: Vec<Arc<GateTool>>,
    pub(crate) policies: Option<Policies>,
    pub(crate) gate_limits: GateLimits,
    /// What the file says of callers.
    pub(crate) settings: Settings,
    /// The certificate with which TLS is ended.
    pub(crate) tls: Option<Tls>,
    /// The keys of this snapshot: those of the file, or those of the process.
    pub(crate) keys: Arc<KeyRing>,
    /// What judges credentials; the recipe puts it here.
    pub(crate) bearer: Option<Arc<Bearer>>,
    pub(crate) report: Report,
    /// The files whose change changes the result, as they were when they were read, the configuration
    /// first.
    pub(crate) files: Vec<FileState>,
}

/// Loads a file. The seals are those of the process, for a file that has no keys.
pub(crate) fn load(path: &Path, limits: &Limits, seals: &Arc<Seals>) -> Loaded {
    let state = FileState::now(path);
    let (config, mut findings) = match read_text(path, limits.file_bytes) {
        Ok(text) => parse(&path.display().to_string(), &text, limits),
        Err(why) => {
            let finding = Finding::error(
                "unreadable_file",
                format!("{} cannot be read: {why}", path.display()),
                why.remedy("check the name and the permissions, or make one with `callgate init`"),
            );
            (parse("", "", limits).0, vec![finding])
        }
    };
    let directory = path.parent().unwrap_or_else(|| Path::new(""));
    let sealing = seal::read(&config, directory);
    findings.extend(sealing.findings);
    let keys = sealing.ring.unwrap_or_else(|| Arc::clone(&seals.keys));
    let seals = Arc::new(Seals { keys: Arc::clone(&keys), ..Seals::clone(seals) });
    let mut built = on_own_thread(&config, directory, limits, &seals).unwrap_or_else(|why| {
        let remedy = "free memory or threads of this machine and load again";
        Built { findings: vec![Finding::error("not_loaded", why, remedy)], ..Built::default() }
    });
    let read = policy::read(&config, directory, limits);
    findings.append(&mut built.findings);
    findings.extend(read.findings);
    if findings.len() > limits.findings {
        let left = findings.len() - limits.findings;
        findings.truncate(limits.findings);
        findings.push(Finding::error(
            "too_many",
            format!("there are {left} more findings"),
            "correct these first",
        ));
    }
    let gate_limits = gate_limits(&config);
    let Built { tools, settings, tls, files, .. } = built;
    let files = std::iter::once(state).chain(sealing.files).chain(files).chain(read.files).collect();
    let (policies, report) = (read.policies, Report::new(findings));
    Loaded { config, tools, policies, gate_limits, settings, tls, keys, bearer: None, report, files }
}

fn on_own_thread(
    config: &Config,
    directory: &Path,
    limits: &Limits,
    seals: &Arc<Seals>,
) -> Result<Built, String> {
    std::thread::scope(|scope| {
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| format!("no runtime could be made for loading: {error}"))?;
            Ok(runtime.block_on(build(config, directory, limits, seals)))
        };
        let thread = std::thread::Builder::new()
            .name("callgate-load".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|error| format!("no thread could be made for loading: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("loading the configuration panicked".to_owned()))
    })
}

#[cfg(test)]
mod tests;
