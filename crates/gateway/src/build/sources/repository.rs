//! Opening a source of kind `repository`: its roots must be directories that do not contain each other.
//!
//! Policy decides by project, so no file may belong to two of them. The step that opens sources calls it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate_adapters::repository::{Options, OptionsFault, Repository, RootFault};

use crate::config::{Finding, Located, RepositorySource};

/// The name of a project, where its root was written, and where it really is.
type Root<'t> = (&'t Located<String>, &'t Located<String>, PathBuf);

pub(super) fn open(
    table: &RepositorySource,
    directory: &Path,
    findings: &mut Vec<Finding>,
) -> Option<Arc<Repository>> {
    let repository = Repository::new(options(table, directory))
        .map_err(|fault| findings.push(excluded(table, &fault)))
        .ok()?;
    let before = findings.len();
    let mut roots: Vec<Root<'_>> = Vec::with_capacity(table.projects.len());
    for (name, root) in &table.projects {
        match repository.probe(name) {
            Ok(real) => roots.push((name, root, real)),
            Err(fault) => findings.push(unusable(name, root, &fault)),
        }
    }
    for (index, root) in roots.iter().enumerate() {
        let others = roots.iter().enumerate().filter(|(other, _)| *other != index);
        if let Some(finding) = others.filter_map(|(other, outer)| nested(root, outer, index < other)).next() {
            findings.push(finding);
        }
    }
    // A source without a project was reported when it was read.
    let usable = findings.len() == before && !table.projects.is_empty();
    if usable {
        findings.extend(roots.iter().filter_map(|root| holds_configuration(&repository, root, directory)));
    }
    usable.then(|| Arc::new(repository))
}

fn options(table: &RepositorySource, directory: &Path) -> Options {
    let projects = table.projects.iter();
    let mut options = Options::new(
        projects.map(|(name, root)| (name.to_string(), directory.join(root.as_str()))).collect(),
    );
    options.exclude = table.exclude.iter().flat_map(|all| all.iter()).map(ToString::to_string).collect();
    let number =
        |value: &Option<Located<u64>>| value.as_ref().and_then(|value| usize::try_from(**value).ok());
    if let Some(bytes) = number(&table.max_file_bytes) {
        options.limits.file_bytes = bytes;
    }
    if let Some(files) = number(&table.max_files) {
        options.limits.files = files;
    }
    if let Some(bytes) = &table.max_scan_bytes {
        options.limits.scan_bytes = **bytes;
    }
    if let Some(concurrency) = number(&table.concurrency) {
        options.concurrency = concurrency;
    }
    options
}

fn excluded(table: &RepositorySource, fault: &OptionsFault) -> Finding {
    let index = match fault {
        OptionsFault::Exclude { index } => *index,
        _ => 0,
    };
    let finding = Finding::error(
        "invalid_pattern",
        "this is no pattern of paths",
        "write it as a line of a `.gitignore`, for example `*.pem` or `/secrets/`",
    );
    let all = table.exclude.as_ref();
    match all.and_then(|all| all.get(index)).map(Located::place).or_else(|| all.map(Located::place)) {
        Some(place) => finding.at(place.clone()),
        None => finding,
    }
}

fn unusable(name: &Located<String>, root: &Located<String>, fault: &RootFault) -> Finding {
    let (code, remedy) = match fault {
        RootFault::Missing => {
            ("root_missing", "check the path, which is relative to the directory of the configuration")
        }
        RootFault::NotADirectory => ("root_not_a_directory", "name the directory that holds the files"),
        RootFault::Rules => (
            "root_rules",
            "make them files of at most 65,536 bytes: nothing is shown as long as it is not known what to ignore",
        ),
        _ => ("root_unreadable", "let the server read the directory"),
    };
    let message = format!("the root of the project `{}` cannot be used: {fault}", name.as_str());
    Finding::error(code, message, remedy).at(root.place().clone())
}

/// A finding at a root that is inside of another one. Of two that are the same, only the second has one.
fn nested(root: &Root<'_>, outer: &Root<'_>, is_first: bool) -> Option<Finding> {
    let (name, place, real) = root;
    if !real.starts_with(&outer.2) || (*real == outer.2 && is_first) {
        return None;
    }
    let relation = if *real == outer.2 { "is the root of" } else { "is inside the root of" };
    let finding = Finding::error(
        "nested_roots",
        format!("the root of the project `{}` {relation} `{}`", name.as_str(), outer.0.as_str()),
        "name directories that do not contain each other: whoever may see the outer project would see the inner one",
    );
    Some(finding.at(place.place().clone()))
}

/// A warning when a model could read how the server is set up.
fn holds_configuration(repository: &Repository, root: &Root<'_>, directory: &Path) -> Option<Finding> {
    let own = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let real = std::fs::canonicalize(own).ok()?;
    let below = real.strip_prefix(&root.2).ok()?.join("callgate.toml");
    if repository.excludes(&below.to_string_lossy()) {
        return None;
    }
    let message = format!("the project `{}` holds the configuration of this server", root.0.as_str());
    let remedy = "exclude it, for example `exclude = [\"callgate.toml\"]`, or keep it outside of the project";
    Some(Finding::warning("root_holds_configuration", message, remedy).at(root.1.place().clone()))
}
