//! Real clients and a real authorization server against the binary: they authorize, call, and step up.
//!
//! The authorization server is `oidc-provider` in `interop/issuer.mjs`; the file of our server is
//! `interop/auth.toml` on the database of `callgate init`. Each run has both for itself. `interop` calls it.

use std::fmt;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{LIMIT, Setting, count, interpreter};
use crate::failure::{Failure, Place};
use crate::process::{self, Echo, Service};
use crate::tally::Tally;
use crate::{reaper, tree};

const START_LIMIT: Duration = Duration::from_secs(20);
/// The secret of our server at the authorization server, which knows it from its script.
const SECRET: (&str, &str) = ("INTROSPECTION_SECRET", "introspection-secret");

/// One client in one era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    script: &'static str,
    era: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} over HTTP with access tokens, {}", self.script, self.era)
    }
}

/// Every client in both eras.
pub(super) fn cases() -> Vec<Case> {
    let eras = |script| ["modern", "legacy"].map(|era| Case { script, era });
    ["ts_auth.mjs", "py_auth.py"].into_iter().flat_map(eras).collect()
}

/// Runs one case with a server and an authorization server of its own.
pub(super) fn one(setting: &Setting, case: Case) -> Result<Tally, Failure> {
    let scratch = tempfile::Builder::new().prefix("callgate-auth-").tempdir().at("a temporary directory")?;
    reaper::guard_directory(scratch.path())?;
    let mut issuer = Command::new(&setting.npm.node);
    issuer.arg(setting.npm.directory.join("issuer.mjs"));
    let mut issuer = Service::start(&mut issuer, Echo::Kept)?;
    let issuer_url = issuer.wait_for_line(START_LIMIT, announced).at("the authorization server")?;
    let server = serve(&setting.callgate, scratch.path(), &issuer_url)?;
    let mut command = interpreter(setting, case.script);
    command.args([case.era, "--url", &server.resource]).env("ISSUER", &issuer_url);
    let finished = process::run(&mut command, LIMIT, Echo::Kept)?;
    let mut tally = count(&finished.lines);
    if !finished.succeeded() && tally.failed == 0 {
        tally.failed = 1;
    }
    // One write, so that the lines of two lanes do not mix.
    let mut report = format!("== {case}: {tally}\n{}", finished.text());
    if tally.failed > 0 {
        report.push_str(&format!("\n    {}", finished.ending()));
        for (name, service) in [("server", &server.service), ("authorization server", &issuer)] {
            report.push_str(&format!("\nthe {name} wrote:\n{}", service.lines().join("\n")));
        }
    }
    println!("{report}");
    reaper::release_directory(scratch.path());
    Ok(tally)
}

/// A running server and the URL by which clients know it.
struct Server {
    service: Service,
    resource: String,
}

fn serve(callgate: &Path, directory: &Path, issuer: &str) -> Result<Server, Failure> {
    process::must(Command::new(callgate).arg("init").arg(directory), START_LIMIT)?;
    // The resource has the port in it, so the port is chosen before the server takes it.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).at("a free port")?.port();
    let resource = format!("http://127.0.0.1:{port}/mcp");
    let template = tree::root().join("interop").join("auth.toml");
    let text = std::fs::read_to_string(&template).at(template.display())?;
    let text =
        text.replace("\"ISSUER", &format!("\"{issuer}")).replace("\"RESOURCE\"", &format!("\"{resource}\""));
    let policy = tree::root().join("interop").join("callers.cedar");
    std::fs::copy(&policy, directory.join("callers.cedar")).at(policy.display())?;
    let path = directory.join("callgate.toml");
    std::fs::write(&path, text).at(path.display())?;
    let mut command = Command::new(callgate);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    command.current_dir(directory).env(SECRET.0, SECRET.1);
    let mut service = Service::start(&mut command, Echo::Kept)?;
    service.wait_for_line(START_LIMIT, announced).at("callgate serve")?;
    Ok(Server { service, resource })
}

/// The URL in `listening on URL`.
fn announced(line: &str) -> Option<String> {
    let (_, url) = line.split_once("listening on ")?;
    url.starts_with("http://").then(|| url.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{announced, cases};

    #[test]
    fn every_client_authorizes_in_both_eras() {
        let cases = cases();
        assert_eq!(cases.len(), 4);
        assert_eq!(cases[0].to_string(), "ts_auth.mjs over HTTP with access tokens, modern");
        assert_eq!(announced("x listening on http://127.0.0.1:1").as_deref(), Some("http://127.0.0.1:1"));
        assert_eq!(announced("listening"), None);
    }
}
