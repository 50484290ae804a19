//! `callgate migrate`: the tables of the store, and the one of each source that is written to, made where they are not
//! there.
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
        let sources = place.plan_sources().map_err(failed)?;
        for (source, sql) in &sources {
            say!("-- source {source}\n{sql};");
        }
        if planned.is_empty() && sources.is_empty() {
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
    for source in place.migrate_sources().map_err(failed)? {
        say!("the source {source} has its table for the keys of effects");
    }
    Ok(())
}
