//! Reminders for invoices that are overdue.

use crate::invoice::amount_due;

/// The text of a reminder; nothing when nothing is due.
pub fn reminder(reference: &str, lines: &[i64], paid: i64) -> Option<String> {
    let due = amount_due(lines, paid);
    (due > 0).then(|| format!("{reference}: {due} is due"))
}
