//! The commands, one file each.

pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod generate;
pub(crate) mod init;
pub(crate) mod migrate;
pub(crate) mod policy;
pub(crate) mod seal;
pub(crate) mod serve;

mod client;
mod files;
mod pretty;
mod shell;
