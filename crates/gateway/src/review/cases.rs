//! Files of expected decisions: one TOML table `[[case]]` for each call.
//!
//! A file is read in whole or not at all, with every error at once. A case that names a tool which does
//! not exist is an error of the file, not a denial. The review runs the cases.

use std::collections::BTreeMap;
use std::path::Path;

use callgate_adapters::cedar::{Explanation, PolicyCase};
use callgate_adapters::parse_rfc3339;
use callgate_core::contract::schema::Verdict;
use callgate_core::port::{Decision, Timestamp};
use callgate_core::principal::Principal;
use callgate_protocol::json::{Document, Limits as JsonLimits};
use toml::de::{DeTable, DeValue};

use super::PolicyReview;
use crate::config::{
    Finding, Limits, Located, Place, Reading, Report, SourceFile, Table, push_toml, read_text,
};

/// What a case expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Permit,
    NeedsApproval,
    Deny,
    NeedsScope,
    Hidden,
}

const EXPECTED: &[(&str, Expected)] = &[
    ("permit", Expected::Permit),
    ("needs_approval", Expected::NeedsApproval),
    ("deny", Expected::Deny),
    ("needs_scope", Expected::NeedsScope),
    ("hidden", Expected::Hidden),
];

/// One expected decision.
#[derive(Debug)]
struct Case {
    name: Option<Located<String>>,
    principal: Principal,
    tool: Located<String>,
    arguments: String,
    approved: bool,
    at: Option<Timestamp>,
    expected: Located<Expected>,
    by: Option<Located<Vec<Located<String>>>>,
}

/// A file of expected decisions.
#[derive(Debug)]
pub struct PolicyTests {
    cases: Vec<Case>,
}

/// How one case went.
#[derive(Debug)]
#[non_exhaustive]
pub struct PolicyTest {
    /// The name of the case, or what it asks.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// What was expected and what was decided instead; nothing when they agree.
    pub failure: Option<String>,
    /// Why it was decided so.
    pub explanation: Explanation,
}

impl PolicyTests {
    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Report> {
        let path = path.as_ref();
        let text = read_text(path, Limits::default().file_bytes).map_err(|why| {
            let remedy = why.remedy("check the name and the permissions");
            let message = format!("{} cannot be read: {why}", path.display());
            Report::new(vec![Finding::error("unreadable_file", message, remedy)])
        })?;
        let (document, errors) = DeTable::parse_recoverable(&text);
        let reading = Reading::new(SourceFile::new(path.display().to_string(), text.as_str()));
        for error in errors {
            let finding = Finding::error(
                "bad_toml",
                format!("this is not TOML: {}", error.message()),
                "correct the syntax; each case is a table `[[case]]`",
            );
            reading.report(error.span().unwrap_or(0..0), finding);
        }
        let cases = read(&reading, document.get_ref());
        let report = Report::new(reading.into_findings());
        if report.has_errors() { Err(report) } else { Ok(Self { cases }) }
    }

    /// Runs all cases in the order of the file.
    ///
    /// # Errors
    /// Cases that ask for what there is not.
    pub fn run(&self, review: &PolicyReview) -> Result<Vec<PolicyTest>, Report> {
        let mut tests = Vec::with_capacity(self.cases.len());
        let mut findings = Vec::new();
        for case in &self.cases {
            match case.run(review) {
                Ok(test) => tests.push(test),
                Err(finding) => findings.push(finding),
            }
        }
        if findings.is_empty() { Ok(tests) } else { Err(Report::new(findings)) }
    }
}

impl Case {
    fn run(&self, review: &PolicyReview) -> Result<PolicyTest, Finding> {
        let refused = |code, message: String, remedy: &str| {
            Finding::error(code, message, remedy).at(self.tool.place().clone())
        };
        let contract = review
            .contract(&self.tool)
            .map_err(|message| refused("unknown_tool", message, "name a tool of the configuration"))?;
        let arguments = Document::parse(self.arguments.as_str(), &JsonLimits::DEFAULT)
            .map_err(|error| refused("bad_arguments", error.to_string(), "write smaller arguments"))?;
        // A call whose arguments do not fit is refused before any policy is asked.
        if !matches!(contract.input().validate(arguments.root()), Verdict::Valid) {
            let message = "the arguments do not fit the input schema of the tool, so no policy is ever asked";
            return Err(refused("bad_arguments", message.to_owned(), "correct the arguments of the case"));
        }
        let mut asked = PolicyCase::new(&self.principal, contract, arguments.root());
        (asked.approved, asked.at) = (self.approved, self.at);
        let explanation = review
            .explain(asked)
            .map_err(|message| refused("bad_case", message, "correct the caller of the case"))?;
        let name = match &self.name {
            Some(name) => name.to_string(),
            None => format!("{} calls {}", self.principal.subject, self.tool.as_str()),
        };
        let failure = self.failure(&explanation);
        Ok(PolicyTest { name, place: self.expected.place().clone(), failure, explanation })
    }

    fn failure(&self, explanation: &Explanation) -> Option<String> {
        let decided = match &explanation.decision {
            // The gate compares scopes before it asks a policy about the call, and those of all callers before it
            // says that there is no such tool.
            _ if !explanation.missing_scopes.is_empty() => Expected::NeedsScope,
            _ if !explanation.visible => Expected::Hidden,
            Decision::Permit { .. } => Expected::Permit,
            Decision::NeedsApproval { .. } => Expected::NeedsApproval,
            _ => Expected::Deny,
        };
        let word = |wanted: Expected| {
            EXPECTED.iter().find(|(_, known)| *known == wanted).map_or("", |(word, _)| word)
        };
        if decided == Expected::NeedsScope && decided != *self.expected {
            let scopes = explanation.missing_scopes.join(" ");
            return Some(format!(
                "expected {}, but the caller is first challenged for the scopes {scopes}",
                word(*self.expected)
            ));
        }
        if decided != *self.expected {
            return Some(format!("expected {}, but it is {}", word(*self.expected), word(decided)));
        }
        let mut expected: Vec<&str> = self.by.as_ref()?.iter().map(|id| id.as_str()).collect();
        expected.sort_unstable();
        let policies: Vec<&str> = explanation.decision.policies().iter().map(String::as_str).collect();
        (expected != policies).then(|| {
            format!(
                "expected to be decided by [{}], but it is by [{}]",
                expected.join(", "),
                policies.join(", ")
            )
        })
    }
}

fn read(reading: &Reading, document: &DeTable<'_>) -> Vec<Case> {
    let mut root = Table::new(reading, document, "the file", 0..0);
    let value = root.value("case");
    let mut cases = Vec::new();
    match value.map(|value| (value, value.get_ref())) {
        Some((_, DeValue::Array(items))) => {
            for item in items.iter() {
                match item.get_ref() {
                    DeValue::Table(table) => {
                        cases.extend(read_case(Table::new(reading, table, "[[case]]", item.span())));
                    }
                    other => root.mismatch("case", item.span(), "a table, as in `[[case]]`", other),
                }
            }
        }
        Some((value, other)) => root.mismatch("case", value.span(), "tables, as in `[[case]]`", other),
        None => {
            root.missing("case", "[{ principal = \"dana\", tool = \"invoice_list\", expect = \"permit\" }]")
        }
    }
    root.finish();
    cases
}

fn read_case(mut table: Table<'_, '_>) -> Option<Case> {
    let reading = table.reading();
    let texts = |list: Option<Located<Vec<Located<String>>>>| {
        list.into_iter().flat_map(Located::into_value).map(|text| text.into_value().into_boxed_str())
    };
    let subject = table.required_string("principal", "\"dana\"");
    let mut principal = Principal::new(subject.as_ref().map_or("", |subject| subject.as_str()));
    principal.tenant = table.string("tenant").map(|tenant| tenant.into_value().into_boxed_str());
    principal.purpose = table.string("purpose").map(|purpose| purpose.into_value().into_boxed_str());
    principal.client = table.string("client").map(|client| client.into_value().into_boxed_str());
    principal.groups = texts(table.strings("groups")).collect();
    principal.scopes = texts(table.strings("scopes")).collect();
    let tool = table.required_string("tool", "\"invoice_list\"");
    let arguments = read_arguments(&mut table);
    if table.value("expect").is_none() {
        table.missing("expect", "\"permit\"");
    }
    let at = table.string("at").and_then(|text| match parse_rfc3339(&text) {
        Ok(time) => Some(time),
        Err(error) => {
            let remedy = "write it as in `\"2026-12-01T10:00:00Z\"`";
            reading.report(text.place().span(), Finding::error("bad_time", error, remedy));
            None
        }
    });
    let (expected, approved) = (table.choice("expect", EXPECTED), table.boolean("approved"));
    let (name, by) = (table.string("name"), table.strings("by"));
    table.finish();
    subject?;
    Some(Case {
        name,
        principal,
        tool: tool?,
        arguments,
        approved: approved.is_some_and(|approved| *approved),
        at,
        expected: expected?,
        by,
    })
}

/// The arguments as one JSON object: a table, or the text of one for what TOML cannot say.
fn read_arguments(table: &mut Table<'_, '_>) -> String {
    let reading = table.reading();
    let Some(value) = table.value("arguments") else { return "{}".to_owned() };
    match value.get_ref() {
        DeValue::String(text) => {
            let parsed = Document::parse(text.as_ref(), &JsonLimits::DEFAULT);
            if parsed.is_ok_and(|document| document.root().kind() == callgate_protocol::json::Kind::Object) {
                return text.to_string();
            }
            let finding = Finding::error(
                "bad_arguments",
                "the arguments are not one JSON object",
                "write a table, as in `arguments = { status = \"open\" }`, or the text of a JSON object",
            );
            reading.report(value.span(), finding);
        }
        DeValue::Table(_) => {
            let mut out = String::new();
            push_toml(reading, value, "", &mut BTreeMap::new(), &mut out);
            return out;
        }
        other => table.mismatch("arguments", value.span(), "a table", other),
    }
    "{}".to_owned()
}
