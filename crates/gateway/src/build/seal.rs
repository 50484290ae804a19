//! From `[seal]` to the keys of a snapshot.
//!
//! Keys are read here and nowhere else, and never shown. The build step calls it.

use std::path::Path;
use std::sync::Arc;

use callgate_core::seal::{KeyId, KeyRing, ParseSealKeyError, SealKey};

use crate::config::{Config, Finding, Located, Place, SealKeyTable, SecretRef};
use crate::files::FileState;

/// What came of the table.
#[derive(Default)]
pub(crate) struct Keys {
    /// The keys of the file; nothing when it has none.
    pub(crate) ring: Option<Arc<KeyRing>>,
    pub(crate) findings: Vec<Finding>,
    /// Files with keys.
    pub(crate) files: Vec<FileState>,
}

/// Reads the keys of a file. With an error among them there is no ring: the file is refused then.
pub(crate) fn read(config: &Config, directory: &Path) -> Keys {
    let mut read = Keys::default();
    let Some(table) = &config.seal else {
        read.findings.extend(own_key(config));
        return read;
    };
    let mut keys: Vec<(KeyId, SealKey)> = Vec::new();
    for entry in table.keys.iter().flat_map(|keys| keys.iter()) {
        let Some((id, key)) = key(entry, directory, &mut read) else { continue };
        if keys.iter().any(|(known, _)| *known == *id) {
            let message = format!("two keys have the id {}", *id);
            let remedy = "give each key the id that `callgate seal key` printed with it";
            let finding = Finding::error("duplicate_key", message, remedy);
            read.findings.push(finding.at(id.place().clone()));
        } else if let Some((known, _)) = keys.iter().find(|(_, known)| *known == key) {
            let message = format!("the keys {known} and {} are the same", *id);
            let remedy = "make a key of its own for each id with `callgate seal key`";
            let finding = Finding::error("duplicate_key", message, remedy);
            read.findings.push(finding.at(id.place().clone()));
        }
        keys.push((*id, key));
    }
    if !keys.is_empty() && read.findings.is_empty() {
        read.ring = Some(Arc::new(KeyRing::of_keys(keys.iter().map(|(id, key)| (*id, key)))));
    }
    read
}

fn key(entry: &SealKeyTable, directory: &Path, read: &mut Keys) -> Option<(Located<KeyId>, SealKey)> {
    let reference = entry.secret.as_ref()?;
    if let SecretRef::File(path) = &**reference {
        read.files.push(FileState::now(directory.join(path)));
    }
    let parsed = reference.follow(directory).and_then(|secret| {
        secret.expose().parse::<SealKey>().map_err(|error: ParseSealKeyError| {
            let message = format!("`secret` does not lead to a key: {error}");
            Finding::error("invalid_key", message, "make one with `callgate seal key`")
        })
    });
    let key = parsed.map_err(|finding| read.findings.push(finding.at(reference.place().clone()))).ok()?;
    let id = entry.id.as_ref()?;
    Some((Located::new(id.parse().ok()?, id.place().clone()), key))
}

/// What several instances share is worth little when each seals with a key of its own.
fn own_key(config: &Config) -> Option<Finding> {
    let place = shared(config)?;
    let message = "several instances can serve this file, and each would seal with a key that no other knows";
    let remedy = "run `callgate seal key`, give every instance the key, and name it under `[seal]`; without it a \
                  cursor or the answer to a question fails when it reaches another instance or a restarted one";
    Some(Finding::warning("own_seal_key", message, remedy).at(place.clone()))
}

/// The place of what shows that instances share something.
fn shared(config: &Config) -> Option<&Place> {
    let audit = config.audit.as_ref().and_then(|audit| audit.url.as_ref());
    let store = config.store.as_ref().and_then(|store| store.url.as_ref());
    store.or(audit).map(Located::place)
}
