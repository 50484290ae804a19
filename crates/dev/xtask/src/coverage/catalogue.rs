//! The lines of the requirements catalogue.
//!
//! A line is `- [ ] **ID** `LEVEL` *role* text (`page#anchor`) → scenarios`. Other lines are prose. A line that begins
//! like a requirement and cannot be read is a failure, so that none drops out. Only `coverage` calls it.

use crate::failure::Failure;

/// One line of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    /// For example `HTTP-03`.
    pub(super) id: String,
    /// What is required, in the catalogue's words.
    pub(super) text: String,
    level: String,
    role: String,
    scenarios: String,
}

impl Requirement {
    /// Whether a test has to show it: a MUST or MUST NOT of a server.
    pub(super) fn binds_a_server(&self) -> bool {
        let must = self.level == "MUST" || self.level == "MUST NOT";
        must && (self.role == "server" || self.role == "both")
    }

    /// Whether the conformance suite looks at it in full, in a scenario that is judged.
    ///
    /// A note in parentheses says where the scenarios fall short, `partly` says that they do: then a test is needed.
    pub(super) fn is_covered_by(&self, judged: &[String]) -> bool {
        let named = self.scenarios.replace("(WARNING)", "");
        if named.contains('(') || named.contains("partly") {
            return false;
        }
        let everywhere = named.contains("wire-schema-valid") || named.contains("all HTTP scenarios");
        let names = named.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '*');
        let mut found = names.filter(|name| !name.is_empty());
        !judged.is_empty()
            && (everywhere || found.any(|name| judged.iter().any(|scenario| fits(name, scenario))))
    }
}

/// A name may end in `*`, or in `-` before a list in braces.
fn fits(name: &str, scenario: &str) -> bool {
    match name.strip_suffix('*').or_else(|| name.strip_suffix('-').map(|_| name)) {
        Some(start) => !start.is_empty() && scenario.starts_with(start),
        None => scenario == name,
    }
}

/// Reads all lines.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, Failure> {
    let mut requirements: Vec<Requirement> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("- [ ] **")) {
        let requirement = one(line).ok_or_else(|| Failure::new(format!("cannot be read: {line}")))?;
        if requirements.iter().any(|other| other.id == requirement.id) {
            return Err(Failure::new(format!("{} stands there twice", requirement.id)));
        }
        requirements.push(requirement);
    }
    if requirements.is_empty() { Err(Failure::new("holds no requirements")) } else { Ok(requirements) }
}

fn one(line: &str) -> Option<Requirement> {
    let (id, rest) = line.strip_prefix("- [ ] **")?.split_once("** `")?;
    let (level, rest) = rest.split_once("` *")?;
    let (role, rest) = rest.split_once("* ")?;
    let (text, scenarios) = rest.rsplit_once(" → ")?;
    let text = text.rsplit_once(" (`").map_or(text, |(text, _)| text);
    Some(Requirement {
        id: id.to_owned(),
        text: text.trim().to_owned(),
        level: level.to_owned(),
        role: role.to_owned(),
        scenarios: scenarios.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Requirement, parse};

    fn with(scenarios: &str) -> Requirement {
        let line = format!("- [ ] **HTTP-01** `MUST` *server* Do (so). (`p#a`) → {scenarios}");
        parse(&line).unwrap().remove(0)
    }

    fn covered(scenarios: &str, judged: &str) -> bool {
        with(scenarios).is_covered_by(&[judged.to_owned()])
    }

    #[test]
    fn a_line_is_read_into_its_parts() {
        let requirement = with("caching");
        assert_eq!((requirement.id.as_str(), requirement.text.as_str()), ("HTTP-01", "Do (so)."));
        assert!(parse("- [ ] **HTTP-01** nonsense").is_err());
    }

    #[test]
    fn a_judged_scenario_covers_and_one_that_is_not_judged_does_not() {
        assert!(covered("caching:some-check", "caching"));
        assert!(covered("tools-list; caching", "caching"));
        assert!(!covered("—", "caching"));
        assert!(!covered("tools-list", "tools-list-other"));
    }

    #[test]
    fn a_note_means_that_the_scenario_is_not_enough() {
        assert!(!covered("dns-rebinding-protection (accepts any 4xx)", "dns-rebinding-protection"));
        assert!(!covered("partly caching", "caching"));
        assert!(covered("caching:x (WARNING)", "caching"));
    }

    #[test]
    fn families_of_scenarios_are_understood() {
        assert!(covered("input-required-result-*", "input-required-result-validate-input"));
        assert!(covered(
            "input-required-result-basic-{sampling,elicitation}",
            "input-required-result-basic-sampling"
        ));
        assert!(covered("wire-schema-valid", "anything"));
        assert!(!covered("—", "-"));
    }
}
