//! The manual page of refusals, generated from the codes so that it cannot be wrong.
//!
//! `cargo xtask generate` writes it to `docs/refusals.md`.

use callgate_core::refusal::{Code, Retry};

use super::{Wire, wire};

/// `docs/refusals.md`: every code, who has to change something, how it travels, and what to do next.
#[must_use]
pub fn refusals_manual() -> String {
    let mut page = String::from(
        "# Refusals

A call that is not carried out as asked ends with one of these codes. Codes never change their meaning.

- A code that travels as a *result* is a tool result with `isError: true`. Its text names the code, each failing
  place with what was expected, whether to retry, and the next safe step;
  `_meta[\"dev.callgate/refusal\"]` holds the same as JSON.
- A code that travels as an *error* is a JSON-RPC error. Its `data` holds the same JSON, unless the specification
  says what it holds.

Neither ever holds a value of an argument, and what went wrong inside goes to the log and the audit record only.

| code | who has to act | travels as | retry | next safe step |
| --- | --- | --- | --- | --- |
",
    );
    for code in Code::ALL {
        let travels = match wire(code) {
            Wire::Error(error, status) => format!("error {}, HTTP {status}", error.number()),
            Wire::Result => "result".to_owned(),
        };
        let retry = match code.retry() {
            Retry::After(wait) => format!("after {} s", wait.as_secs()),
            other => other.as_str().to_owned(),
        };
        let party = code.party().as_str();
        page.push_str(&format!("| `{code}` | {party} | {travels} | {retry} | {} |\n", code.next_step()));
    }
    page
}
