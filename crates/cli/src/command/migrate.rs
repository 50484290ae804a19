//! `callgate migrate`: the tables of the store, made where they are not there.
//!
//! Nothing else makes them, so that nobody finds tables in a database without having asked for them.

use callgate_gateway::store::Place;

use super::check;
use crate::args::Migrate;
use crate::exit::Failure;
use crate::print::say;

pub(crate) fn run(arguments: &Migrate) -> Result<(), Failure> {
    let failed = |report| {
        check::show(&report);
        Failure::Configuration
    };
    let place = Place::of(&arguments.config).map_err(failed)?;
    if arguments.dry_run {
        let planned = place.plan().map_err(failed)?;
        for planned in &planned {
            say!("-- {}\n{};", planned.part, planned.sql);
        }
        if planned.is_empty() {
            say!("-- the store is up to date");
        }
        return Ok(());
    }
    let changed = place.migrate().map_err(failed)?;
    if changed.is_empty() {
        say!("the store is up to date");
    } else {
        say!("the store has its tables for: {}", changed.join(", "));
    }
    Ok(())
}
