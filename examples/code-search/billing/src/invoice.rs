//! Invoices.

/// The amount that is due, in minor units.
pub fn amount_due(lines: &[i64], paid: i64) -> i64 {
    lines.iter().sum::<i64>() - paid
}
