//! `callgate init`: a working project to start from.

use super::files::{self, Existing};
use super::shell::word;
use crate::args::Init;
use crate::exit::Failure;
use crate::print::say;

pub(crate) fn run(init: &Init) -> Result<(), Failure> {
    let example = files::write(&init.directory, Existing::Refuse)?;
    say!("wrote {} and {}", example.configuration.display(), example.database.display());
    let configuration = word(&example.configuration);
    say!();
    say!("  callgate check {configuration}              judge it");
    say!("  callgate serve --config {configuration}     serve it over stdio");
    say!("  callgate serve --config {configuration} --listen 127.0.0.1:8300");
    Ok(())
}
