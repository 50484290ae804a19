//! `callgate init`: a working project to start from.

use super::files::{self, Existing};
use crate::args::Init;
use crate::exit::Failure;

pub(crate) fn run(init: &Init) -> Result<(), Failure> {
    let example = files::write(&init.directory, Existing::Refuse)?;
    let configuration = example.configuration.display();
    println!("wrote {configuration} and {}", example.database.display());
    println!();
    println!("  callgate check {configuration}              judge it");
    println!("  callgate serve --config {configuration}     serve it over stdio");
    println!("  callgate serve --config {configuration} --listen 127.0.0.1:8300");
    Ok(())
}
