//! `cargo xtask coverage`: every requirement that binds a server is tied to a test.
//!
//! The catalogue in `vectors/requirements` names each MUST and MUST NOT. A line is tied by a test that names its id, by
//! a conformance scenario that is judged, or by an entry with a reason in `untested.toml`. An id that does not exist and
//! an entry that is no longer needed are failures too, so that the ties cannot rot.

mod catalogue;
mod tags;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::conformance;
use crate::failure::{Failure, Place};
use crate::tree;

use self::catalogue::Requirement;
use self::tags::Tag;

const CATALOGUE: &str = "vectors/requirements/requirements.md";
const UNTESTED: &str = "vectors/requirements/untested.toml";

/// Counts the ties and names what is missing.
pub(crate) fn check() -> Result<(), Failure> {
    let requirements = catalogue::parse(&tree::read(Path::new(CATALOGUE))?).at(CATALOGUE)?;
    let scenarios = conformance::judged_scenarios()?;
    let listed: BTreeMap<String, String> = toml::from_str(&tree::read(Path::new(UNTESTED))?).at(UNTESTED)?;
    let (tags, mut faults) = tags::read()?;
    let report = judge(&requirements, &scenarios, &listed, &tags);
    faults.extend(report.faults);
    for fault in &faults {
        println!("{fault}");
    }
    println!(
        "{} requirements bind a server: {} tied to tests, {} to conformance scenarios, {} listed with a reason, {} missing",
        report.binding, report.tested, report.by_scenario, report.listed, report.missing
    );
    if faults.is_empty() { Ok(()) } else { Err(Failure::new(format!("{} faults in the ties", faults.len()))) }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    binding: usize,
    tested: usize,
    by_scenario: usize,
    listed: usize,
    missing: usize,
    faults: Vec<String>,
}

fn judge(
    requirements: &[Requirement],
    scenarios: &[String],
    listed: &BTreeMap<String, String>,
    tags: &[Tag],
) -> Report {
    let mut report = Report::default();
    let known: BTreeSet<&str> = requirements.iter().map(|requirement| requirement.id.as_str()).collect();
    let tested: BTreeSet<&str> = tags.iter().map(|tag| tag.id.as_str()).collect();
    for tag in tags.iter().filter(|tag| !known.contains(tag.id.as_str())) {
        report.faults.push(format!("{}: {} is in no line of {CATALOGUE}", tag.place, tag.id));
    }
    for (id, reason) in listed {
        if !known.contains(id.as_str()) {
            report.faults.push(format!("{UNTESTED}: {id} is in no line of {CATALOGUE}"));
        } else if tested.contains(id.as_str()) {
            report.faults.push(format!("{UNTESTED}: {id} has a test; remove the entry"));
        } else if reason.trim().is_empty() {
            report.faults.push(format!("{UNTESTED}: {id} gives no reason"));
        }
    }
    for requirement in requirements.iter().filter(|requirement| requirement.binds_a_server()) {
        report.binding = report.binding.saturating_add(1);
        let counter = if tested.contains(requirement.id.as_str()) {
            &mut report.tested
        } else if listed.contains_key(&requirement.id) {
            &mut report.listed
        } else if requirement.is_covered_by(scenarios) {
            &mut report.by_scenario
        } else {
            report.faults.push(format!("{} has no test: {}", requirement.id, requirement.text));
            &mut report.missing
        };
        *counter = counter.saturating_add(1);
    }
    report
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{catalogue, judge, tags::Tag};

    const LINES: &str = "\
- [ ] **HTTP-01** `MUST` *server* One endpoint. (`p#a`) → —
- [ ] **HTTP-02** `MUST NOT` *both* Never so. (`p#b`) → caching:check
- [ ] **HTTP-03** `SHOULD` *server* Better. (`p#c`) → —
- [ ] **AUTH-01** `MUST` *auth server* Tokens. (`p#d`) → —
- [ ] **HTTP-04** `MUST` *client* Sends. (`p#e`) → —
";

    fn tag(id: &str) -> Tag {
        Tag { id: id.to_owned(), place: "a.rs:1".to_owned() }
    }

    fn listed(id: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(id.to_owned(), "why".to_owned())])
    }

    #[test]
    fn a_line_without_a_tie_is_named_and_others_are_not() {
        let requirements = catalogue::parse(LINES).unwrap();
        let report = judge(&requirements, &["caching".to_owned()], &BTreeMap::new(), &[]);
        assert_eq!((report.binding, report.by_scenario, report.missing), (2, 1, 1));
        assert_eq!(report.faults, ["HTTP-01 has no test: One endpoint."]);
    }

    #[test]
    fn a_test_or_a_reason_ties_a_line() {
        let requirements = catalogue::parse(LINES).unwrap();
        let scenarios = ["caching".to_owned()];
        assert!(judge(&requirements, &scenarios, &BTreeMap::new(), &[tag("HTTP-01")]).faults.is_empty());
        assert!(judge(&requirements, &scenarios, &listed("HTTP-01"), &[]).faults.is_empty());
    }

    #[test]
    fn ties_that_rot_are_failures() {
        let requirements = catalogue::parse(LINES).unwrap();
        let scenarios = ["caching".to_owned()];
        let both = judge(&requirements, &scenarios, &listed("HTTP-01"), &[tag("HTTP-01")]);
        assert_eq!(both.faults.len(), 1);
        let unknown = judge(&requirements, &scenarios, &BTreeMap::new(), &[tag("HTTP-01"), tag("HTTP-99")]);
        assert_eq!(unknown.faults.len(), 1);
        let unlisted = judge(&requirements, &scenarios, &listed("HTTP-99"), &[tag("HTTP-01")]);
        assert_eq!(unlisted.faults.len(), 1);
    }
}
