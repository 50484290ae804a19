//! Tokens of SQL, as coarse as finding parameters allows.
//!
//! What it does not understand is passed on as it is; what could hide a parameter or a second
//! statement (an unterminated string, a placeholder of another style) is a fault. `Template` calls it.

use std::ops::Range;

use callgate_core::port::Fault;

/// Whose lexical rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Names in backticks and brackets, comments that do not nest.
    Sqlite,
    /// Dollar quotes, `E''` strings, comments that nest, casts with `::`.
    Postgres,
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// `:name`, without the colon.
    Parameter(String),
    /// A word that is no quoted name.
    Word,
    /// A semicolon.
    Semicolon,
    /// White space or a comment.
    Blank,
    /// Everything else.
    Other,
}

/// Splits a statement. The ranges of the tokens cover the text without gaps.
pub(crate) fn tokens(sql: &str, dialect: Dialect) -> Result<Vec<(Token, Range<usize>)>, Fault> {
    let mut lexer = Lexer { sql, at: 0, dialect };
    let mut tokens = Vec::new();
    while lexer.at < sql.len() {
        let start = lexer.at;
        let token = lexer.next()?;
        tokens.push((token, start..lexer.at));
    }
    Ok(tokens)
}

struct Lexer<'s> {
    sql: &'s str,
    at: usize,
    dialect: Dialect,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.sql.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Token, Fault> {
        let start = self.at;
        let mut characters = self.rest().chars();
        let first = characters.next().unwrap_or_default();
        let second = characters.next().unwrap_or_default();
        match (first, second) {
            ('-', '-') => {
                self.at += self.rest().find('\n').map_or(self.rest().len(), |end| end + 1);
                Ok(Token::Blank)
            }
            ('/', '*') => self.block_comment().map(|()| Token::Blank),
            ('\'', _) => self.quoted('\'', self.escapes_before(start)),
            ('"', _) => self.quoted('"', Backslash::Plain),
            ('`', _) if self.dialect == Dialect::Sqlite => self.quoted('`', Backslash::Plain),
            ('[', _) if self.dialect == Dialect::Sqlite => self.quoted(']', Backslash::Plain),
            ('$', _) if self.dialect == Dialect::Postgres && self.dollar_quote()? => Ok(Token::Other),
            (':', ':') => self.take(2, Token::Other),
            (':', next) if is_start(next) => {
                self.at += 1;
                let name = self.word();
                Ok(Token::Parameter(name))
            }
            ('$', next) if next.is_alphanumeric() => Err(self.foreign_parameter()),
            ('@', next) if self.dialect == Dialect::Sqlite && is_start(next) => Err(self.foreign_parameter()),
            ('?', _) if self.dialect == Dialect::Sqlite => Err(self.foreign_parameter()),
            (';', _) => self.take(1, Token::Semicolon),
            ('\0', _) => {
                Err(self.fault("the statement holds a NUL character", "remove it", start..start + 1))
            }
            (space, _) if space.is_whitespace() => {
                let blank = self.rest().chars().take_while(|next| next.is_whitespace());
                self.at += blank.map(char::len_utf8).sum::<usize>();
                Ok(Token::Blank)
            }
            (letter, _) if is_start(letter) => {
                self.word();
                Ok(Token::Word)
            }
            (digit, _) if digit.is_ascii_digit() => {
                // A number takes its letters along, so that `1e5` is one token.
                self.word();
                Ok(Token::Other)
            }
            (other, _) => self.take(other.len_utf8(), Token::Other),
        }
    }

    fn take(&mut self, bytes: usize, token: Token) -> Result<Token, Fault> {
        self.at += bytes;
        Ok(token)
    }

    fn word(&mut self) -> String {
        let word: String = self.rest().chars().take_while(|next| is_part(*next)).collect();
        self.at += word.len();
        word
    }

    /// Whether a string that starts here has escapes with a backslash: PostgreSQL's `E'...'`.
    fn escapes_before(&self, start: usize) -> Backslash {
        let before = self.sql.get(..start).unwrap_or_default();
        let mut back = before.chars().rev();
        let marked = matches!(back.next(), Some('e' | 'E')) && !back.next().is_some_and(is_part);
        if marked && self.dialect == Dialect::Postgres { Backslash::Escapes } else { Backslash::Plain }
    }

    fn quoted(&mut self, close: char, backslash: Backslash) -> Result<Token, Fault> {
        let start = self.at;
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character == '\\' && backslash == Backslash::Escapes {
                characters.next();
            } else if character == close {
                // A doubled quote stands for itself; brackets have no such rule.
                if close != ']' && characters.peek().is_some_and(|(_, next)| *next == close) {
                    characters.next();
                } else {
                    self.at = start + at + close.len_utf8();
                    return Ok(Token::Other);
                }
            }
        }
        Err(self.fault("this quote is not closed", "close it", start..start + 1))
    }

    fn block_comment(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let mut depth = 0_usize;
        let mut at = 0;
        loop {
            let rest = self.rest().get(at..).unwrap_or_default();
            if rest.starts_with("/*") && (depth == 0 || self.dialect == Dialect::Postgres) {
                depth += 1;
                at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                at += 2;
            } else if let Some(character) = rest.chars().next() {
                at += character.len_utf8();
            } else {
                return Err(self.fault("this comment is not closed", "close it with `*/`", start..start + 2));
            }
            if depth == 0 {
                self.at += at;
                return Ok(());
            }
        }
    }

    /// Skips `$tag$ ... $tag$` if one starts here.
    fn dollar_quote(&mut self) -> Result<bool, Fault> {
        let start = self.at;
        let rest = self.rest();
        let Some(end) = rest.get(1..).and_then(|tag| tag.find('$')) else { return Ok(false) };
        let tag = rest.get(1..=end).unwrap_or_default();
        let named = tag.chars().next().is_none_or(|first| is_start(first) && first != '$');
        if !named || !tag.chars().all(is_part) {
            return Ok(false);
        }
        let mark = rest.get(..end + 2).unwrap_or_default();
        let inner = rest.get(end + 2..).unwrap_or_default();
        let Some(close) = inner.find(mark) else {
            return Err(self.fault("this dollar quote is not closed", "close it", start..start + end + 2));
        };
        self.at += end + 2 + close + mark.len();
        Ok(true)
    }

    fn foreign_parameter(&self) -> Fault {
        let length = 1 + self.rest().chars().skip(1).take_while(|next| is_part(*next)).count();
        self.fault(
            "this placeholder has no name of the input",
            "write parameters as `:name`, after the property of the input that they take",
            self.at..self.at + length,
        )
    }

    fn fault(&self, message: &str, remedy: &str, at: Range<usize>) -> Fault {
        Fault { code: "sql_syntax", message: message.to_owned(), remedy: remedy.to_owned(), at: Some(at) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Plain,
    Escapes,
}

fn is_start(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
