//! `callgate check`: everything that is wrong with a configuration, or should be better.

use callgate_gateway::config::{Finding, Report, Severity};
use callgate_protocol::json::{push_integer, push_string};
use miette::GraphicalReportHandler;

use crate::args::Check;
use crate::exit::Failure;
use crate::print::say;

pub(crate) fn run(check: &Check) -> Result<(), Failure> {
    let config = check.config.as_ref().unwrap_or(&check.file);
    let report = callgate_gateway::check(config);
    if check.json {
        for finding in report.findings() {
            say!("{}", json_line(finding));
        }
    } else {
        show(&report);
        let count =
            |severity| report.findings().iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let plural = |count| if count == 1 { "" } else { "s" };
        let config = config.display();
        say!("{config}: {errors} error{}, {warnings} warning{}", plural(errors), plural(warnings));
    }
    let refused = report.has_errors() || (check.strict && !report.findings().is_empty());
    if refused { Err(Failure::Configuration) } else { Ok(()) }
}

/// Shows findings with source line and caret, on standard output.
pub(crate) fn show(report: &Report) {
    let handler = GraphicalReportHandler::new();
    for finding in report.findings() {
        let mut text = String::new();
        // Rendering into a string fails only where a source cannot be read, and then the plain form is shown.
        match handler.render_report(&mut text, finding) {
            Ok(()) => say!("{text}"),
            Err(_) => say!("{finding}\n  help: {}\n", finding.remedy),
        }
    }
}

/// One finding as one JSON object.
fn json_line(finding: &Finding) -> String {
    let mut line = String::from("{\"severity\":");
    push_string(&mut line, if finding.severity == Severity::Error { "error" } else { "warning" });
    for (name, text) in [("code", finding.code), ("message", &finding.message), ("remedy", &finding.remedy)] {
        line.push(',');
        push_string(&mut line, name);
        line.push(':');
        push_string(&mut line, text);
    }
    if let Some(place) = &finding.place {
        line.push_str(",\"file\":");
        push_string(&mut line, place.file().name());
        line.push_str(",\"line\":");
        push_integer(&mut line, place.line());
        line.push_str(",\"column\":");
        push_integer(&mut line, place.column());
    }
    line.push('}');
    line
}
