//! Columns of text for people.
//!
//! What a client sent may hold anything; nothing of it reaches a terminal as a control. The audit
//! commands print through it.

use std::fmt;

/// The widest cell that is shown whole, in characters.
const WIDEST: usize = 44;

/// Rows of so many columns under a heading.
pub(in crate::command) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(in crate::command) fn new(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)] }
    }

    pub(in crate::command) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| shortened(&visible(&cell))));
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
                match at + 1 == N {
                    true => f.write_str(cell)?,
                    false => write!(f, "{cell:<width$}  ")?,
                }
            }
        }
        Ok(())
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDEST {
        return text.to_owned();
    }
    text.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// The text with every character that a terminal would obey, or that people cannot see, written out.
pub(in crate::command) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let hidden = character.is_control()
            || matches!(
                character,
                '\u{AD}'
                    | '\u{61C}'
                    | '\u{180E}'
                    | '\u{200B}'..='\u{200F}'
                    | '\u{2028}'..='\u{202E}'
                    | '\u{2060}'..='\u{206F}'
                    | '\u{FE00}'..='\u{FE0F}'
                    | '\u{FEFF}'
                    | '\u{FFF9}'..='\u{FFFB}'
                    | '\u{E0000}'..='\u{E0FFF}'
            );
        if hidden {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Table, visible};

    #[test]
    fn nothing_in_a_name_moves_the_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\u{202e}d\u{e0041}é"), "a\\u{1b}[2Jb\\u{a}c\\u{202e}d\\u{e0041}é");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["A", "BB", "C"]);
        table.row(["é".to_owned(), "x".repeat(60), "z".to_owned()]);
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("A  BB{}  C", " ".repeat(42)));
        assert_eq!(lines[1], format!("é  {}…  z", "x".repeat(43)));
    }
}
