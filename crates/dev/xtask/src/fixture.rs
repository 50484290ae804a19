//! The server that holds the conformance fixtures, built and started for one run.
//!
//! It is an example of `callgate-server`: with `--listen ADDR` it serves HTTP and says where on standard error, with
//! no arguments it speaks stdio. It always gets a free loopback port. `conformance` and `interop` call it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::{Failure, Place};
use crate::process::{self, Echo, Service};
use crate::tree;

const BUILD_LIMIT: Duration = Duration::from_secs(25 * 60);
const START_LIMIT: Duration = Duration::from_secs(20);

/// A running fixture server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Fixture {
    service: Service,
    port: u16,
}

impl Fixture {
    /// Builds the example and says where its binary is.
    pub(crate) fn build() -> Result<PathBuf, Failure> {
        let mut command = Command::new(tree::cargo());
        command.args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "callgate-server",
            "--example",
            "conformance",
        ]);
        command.current_dir(tree::root());
        process::must(&mut command, BUILD_LIMIT).at("building the conformance example")?;
        Ok(tree::target()?.join("debug").join("examples").join("conformance"))
    }

    /// Starts the built example on a free port.
    pub(crate) fn start(binary: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        let mut command = Command::new(binary);
        command.args(["--listen", "127.0.0.1:0"]).args(arguments).current_dir(tree::root());
        let mut service = Service::start(&mut command, Echo::Kept)?;
        let port = service.wait_for_line(START_LIMIT, port_in).at("the conformance example")?;
        Ok(Self { service, port })
    }

    /// The endpoint by its name: the suite's checks of Host and Origin need `localhost`.
    pub(crate) fn url(&self) -> String {
        format!("http://localhost:{}/mcp", self.port)
    }

    /// What the server wrote, for the report of a failed run.
    pub(crate) fn log(&self) -> String {
        self.service.lines().join("\n")
    }
}

/// The port in `listening on http://127.0.0.1:PORT/mcp`, wherever a log puts it in its line.
fn port_in(line: &str) -> Option<u16> {
    let (_, address) = line.split_once("listening on http://127.0.0.1:")?;
    address.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::port_in;

    #[test]
    fn the_port_is_read_from_the_line_that_announces_it() {
        assert_eq!(port_in("INFO listening on http://127.0.0.1:4711/mcp"), Some(4711));
        assert_eq!(port_in("listening on nothing"), None);
    }
}
