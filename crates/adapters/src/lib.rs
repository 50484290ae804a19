//! SQLite and PostgreSQL behind the ports of `callgate-core`, one folder and one feature each.
//!
//! Both are only ever read from. No value enters the text of a statement, and a caller who leaves
//! takes the running statement along. The gateway is the caller.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod cell;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod paging;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod rows;
pub mod sql;

#[cfg(feature = "cedar")]
pub mod cedar;

#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "oauth")]
pub mod secret;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[doc(hidden)]
pub mod fuzzing;
