//! The little that both stores need to know of SQL text: where its parameters are.
//!
//! This is a lexer, no parser: it skips strings, quoted names and comments, finds `:name`, and knows
//! where the one statement ends. It must never change anything but parameters. Both sources call it.

mod lexer;
mod order;
mod template;

pub use lexer::Dialect;
pub use order::directions;
#[cfg(feature = "postgres")]
pub(crate) use order::{parse, visit};
pub use template::{Offsets, Template};

/// The statement without its semicolon and what follows it, so that it can stand inside another one.
/// A statement that was never accepted comes back as it is.
#[must_use]
pub fn without_end(sql: &str, dialect: Dialect) -> String {
    match Template::parse(sql, dialect) {
        Ok(template) => template.render_named(),
        Err(_) => sql.to_owned(),
    }
}
