//! The policies of a configuration: their files, and the policy that each snapshot makes of them.
//!
//! The files are read once when the configuration is loaded, so a snapshot never mixes two states of
//! them. They are judged against the whole catalogue, tools of Rust included, when the snapshot is made.
//! The loader, the gate, the check and the commands about policies are the callers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate_adapters::cedar::{
    CedarPolicy, PolicyFault, PolicyLimits, PolicySeverity, PolicyText, check_syntax, load,
};
use callgate_core::contract::digest::Digest;
use callgate_core::port::{Clock, Policy};
use callgate_core::snapshot::Catalogue;
use callgate_server::{BuildFault, ServerBuilder};

use crate::config::{Config, Finding, Limits, Located, Place, Report, Severity, SourceFile, read_text};
use crate::files::FileState;

/// The texts of the policies, as they were when the configuration was loaded.
#[derive(Clone, Debug)]
pub(crate) struct Policies {
    files: Vec<Arc<SourceFile>>,
    /// The name of the server in policies.
    server: String,
    table: Option<Place>,
}

/// What the table of policies gave.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Nothing where the file has no such table.
    pub(crate) policies: Option<Policies>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) files: Vec<FileState>,
}

/// Reads the policies that a configuration names.
pub(crate) fn read(config: &Config, directory: &Path, limits: &Limits) -> Read {
    let mut read = Read::default();
    let Some(table) = &config.policy else { return read };
    let mut files: Vec<Arc<SourceFile>> = Vec::new();
    for name in table.files.iter().flat_map(|files| files.iter()) {
        for path in paths(name, directory, limits, &mut read) {
            let shown = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
            if files.iter().any(|file| file.name() == shown) {
                continue;
            }
            read.files.push(FileState::now(&path));
            match read_text(&path, limits.policy_file_bytes) {
                Ok(text) => files.push(SourceFile::new(shown, text)),
                Err(why) => {
                    let finding = Finding::error(
                        "unreadable_file",
                        format!("{} cannot be read: {why}", path.display()),
                        why.remedy("check the name and the permissions"),
                    );
                    read.findings.push(finding.at(name.place().clone()));
                }
            }
        }
    }
    let server = config.server.as_ref().and_then(|server| server.name.as_ref());
    let policies = Policies {
        files,
        server: server.map(|name| name.trim().to_owned()).unwrap_or_default(),
        table: table.files.as_ref().map(|files| files.place().clone()),
    };
    let faults = check_syntax(&policies.texts(), &PolicyLimits::default());
    read.findings.extend(policies.findings(&faults));
    read.policies = Some(policies);
    read
}

/// The files that a name with or without `*` means, in the order of their names.
fn paths(name: &Located<String>, directory: &Path, limits: &Limits, read: &mut Read) -> Vec<PathBuf> {
    let whole = directory.join(name.as_str());
    let pattern = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !pattern.contains('*') {
        return vec![whole];
    }
    let beneath = whole.parent().unwrap_or(directory).to_owned();
    read.files.push(FileState::listing(&beneath, &pattern));
    let mut found = crate::files::matching(&beneath, &pattern).unwrap_or_default();
    if found.is_empty() {
        let finding = Finding::error(
            "no_policy",
            format!("no file matches `{}`, so nothing is permitted", name.as_str()),
            "write policies into a file of that name, or correct the name",
        );
        read.findings.push(finding.at(name.place().clone()));
    }
    if found.len() > limits.policy_files {
        let message = format!("more than {} files match `{}`", limits.policy_files, name.as_str());
        let finding = Finding::error("too_many", message, "put several policies into one file");
        read.findings.push(finding.at(name.place().clone()));
        found.truncate(limits.policy_files);
    }
    found.into_iter().map(|name| beneath.join(name)).collect()
}

impl Policies {
    fn texts(&self) -> Vec<PolicyText> {
        self.files.iter().map(|file| PolicyText::new(file.name(), file.text())).collect()
    }

    /// The policies for a catalogue, or nothing if a finding is an error.
    pub(crate) fn judge(
        &self,
        catalogue: &Catalogue,
        clock: &Arc<dyn Clock>,
    ) -> (Option<CedarPolicy>, Vec<Finding>) {
        let loaded = load(&self.texts(), &self.server, catalogue, Arc::clone(clock), PolicyLimits::default());
        (loaded.policy, self.findings(&loaded.faults))
    }

    /// The place of bytes in one of the texts.
    pub(crate) fn place(&self, text: usize, span: std::ops::Range<usize>) -> Option<Place> {
        self.files.get(text).map(|file| file.place(span))
    }

    fn findings(&self, faults: &[PolicyFault]) -> Vec<Finding> {
        let finding = |fault: &PolicyFault| {
            let found = Finding::error(fault.code, fault.message.as_str(), fault.remedy.as_str());
            let found = match fault.severity {
                PolicySeverity::Error => found,
                PolicySeverity::Warning => Finding { severity: Severity::Warning, ..found },
            };
            let file = fault.text.and_then(|text| self.files.get(text));
            match file.map(|file| file.place(fault.span.clone())).or_else(|| self.table.clone()) {
                Some(place) => found.at(place),
                None => found,
            }
        };
        faults.iter().map(finding).collect()
    }

    /// Has each snapshot make its policy.
    pub(crate) fn into_builder(self, builder: ServerBuilder, clock: Arc<dyn Clock>) -> ServerBuilder {
        builder.policy_for_catalogue(move |catalogue| {
            let (policy, findings) = self.judge(catalogue, &clock);
            match policy {
                Some(policy) => {
                    if !findings.is_empty() {
                        tracing::warn!("the policies are in force\n{}", Report::new(findings));
                    }
                    let revision = policy.revision();
                    Ok::<(Arc<dyn Policy>, Digest), _>((Arc::new(policy), revision))
                }
                None => Err(findings.iter().map(fault).collect()),
            }
        })
    }
}

/// A finding as a fault of the server that is built.
fn fault(finding: &Finding) -> BuildFault {
    let place = finding.place.as_ref().map_or_else(
        || "policies".to_owned(),
        |place| format!("{}:{}:{}", place.file().name(), place.line(), place.column()),
    );
    BuildFault::new(place, format!("{}; {}", finding.message, finding.remedy))
}
