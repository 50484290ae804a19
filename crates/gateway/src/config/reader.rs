//! Reading typed values from TOML while collecting every error on the way.
//!
//! A derived deserializer stops at its first error and forgets where values stood. This reader takes
//! one key after another, reports what does not fit and goes on; keys that nobody took are reported
//! with the nearest key that would have been taken. It must never guess a value. The parts of the
//! configuration are its callers.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::finding::{Finding, Place, SourceFile};
use super::located::Located;

/// The file being read and what was found in it so far.
pub(crate) struct Reading {
    file: Arc<SourceFile>,
    findings: RefCell<Vec<Finding>>,
}

impl Reading {
    pub(crate) fn new(file: Arc<SourceFile>) -> Self {
        Self { file, findings: RefCell::new(Vec::new()) }
    }

    pub(crate) fn place(&self, span: Range<usize>) -> Place {
        self.file.place(span)
    }

    pub(crate) fn report(&self, span: Range<usize>, finding: Finding) {
        self.findings.borrow_mut().push(finding.at(self.place(span)));
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings.into_inner()
    }

    pub(crate) fn located<T>(&self, span: Range<usize>, value: T) -> Located<T> {
        Located::new(value, self.place(span))
    }
}

/// One table of the file, and which of its keys were taken.
pub(crate) struct Table<'r, 't> {
    reading: &'r Reading,
    table: &'t DeTable<'t>,
    /// How the table is named in messages, for example `[tool.invoice_list]`.
    name: String,
    span: Range<usize>,
    taken: BTreeSet<&'static str>,
}

impl<'r, 't> Table<'r, 't> {
    pub(crate) fn new(
        reading: &'r Reading,
        table: &'t DeTable<'t>,
        name: impl Into<String>,
        span: Range<usize>,
    ) -> Self {
        Self { reading, table, name: name.into(), span, taken: BTreeSet::new() }
    }

    pub(crate) fn reading(&self) -> &'r Reading {
        self.reading
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same table under its full name, where it stands inside another.
    pub(crate) fn named(mut self, name: String) -> Self {
        self.name = name;
        self
    }

    /// The value under a key, which counts as known from here on.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.taken.insert(key);
        self.table.get(key)
    }

    /// The value under a key that does not belong here and is reported by who asks, once.
    pub(crate) fn foreign(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        let value = self.table.get(key)?;
        self.taken.insert(key);
        Some(value)
    }

    /// Reports that a key which must be there is not.
    pub(crate) fn missing(&self, key: &str, example: &str) {
        self.reading.report(
            self.span(),
            Finding::error(
                "missing_key",
                format!("{} lacks the key `{key}`", self.name),
                format!("add it, for example `{key} = {example}`"),
            ),
        );
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<Located<String>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(self.reading.located(value.span(), text.to_string())),
            other => {
                self.mismatch(key, value.span(), "a string", other);
                None
            }
        }
    }

    /// A string that is there and not blank.
    pub(crate) fn required_string(&mut self, key: &'static str, example: &str) -> Option<Located<String>> {
        if self.table.get(key).is_none() {
            self.taken.insert(key);
            self.missing(key, example);
            return None;
        }
        let text = self.string(key)?;
        if text.trim().is_empty() {
            self.reading.report(
                text.place().span(),
                Finding::error(
                    "empty_value",
                    format!("`{key}` of {} is empty", self.name),
                    format!("give it a text, for example `{key} = {example}`"),
                ),
            );
            return None;
        }
        Some(text)
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<Located<bool>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(self.reading.located(value.span(), *flag)),
            other => {
                self.mismatch(key, value.span(), "`true` or `false`", other);
                None
            }
        }
    }

    pub(crate) fn integer(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<Located<u64>> {
        let value = self.value(key)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            self.mismatch(key, value.span(), "an integer", value.get_ref());
            return None;
        };
        match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) if range.contains(&number) => Some(self.reading.located(value.span(), number)),
            _ => {
                self.reading.report(
                    value.span(),
                    Finding::error(
                        "out_of_range",
                        format!("`{key}` of {} is out of range", self.name),
                        format!("choose a number from {} to {}", range.start(), range.end()),
                    ),
                );
                None
            }
        }
    }

    /// One of a small set of words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<Located<T>> {
        self.choice_among(key, choices, |_| true)
    }

    /// One of a list of words, of which only some are offered to who wrote another word.
    pub(crate) fn choice_among<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        offered: impl Fn(T) -> bool,
    ) -> Option<Located<T>> {
        let word = self.string(key)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word.as_str()) {
            return Some(Located::new(*value, word.place().clone()));
        }
        let names: Vec<&str> =
            choices.iter().filter(|(_, value)| offered(*value)).map(|(name, _)| *name).collect();
        self.reading.report(
            word.place().span(),
            Finding::error(
                "unknown_value",
                format!("`{key}` of {} cannot be {:?}{}", self.name, word.as_str(), meant(&word, &names)),
                format!("use one of {}", listed(&names)),
            ),
        );
        None
    }

    pub(crate) fn strings(&mut self, key: &'static str) -> Option<Located<Vec<Located<String>>>> {
        let value = self.value(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            self.mismatch(key, value.span(), "an array of strings", value.get_ref());
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items.iter() {
            match item.get_ref() {
                DeValue::String(text) => texts.push(self.reading.located(item.span(), text.to_string())),
                other => self.mismatch(key, item.span(), "a string here", other),
            }
        }
        Some(self.reading.located(value.span(), texts))
    }

    /// An array of integers.
    pub(crate) fn integers(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<Located<Vec<Located<u64>>>> {
        let value = self.value(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            self.mismatch(key, value.span(), "an array of integers", value.get_ref());
            return None;
        };
        let mut numbers = Vec::with_capacity(items.len());
        for item in items.iter() {
            let DeValue::Integer(integer) = item.get_ref() else {
                self.mismatch(key, item.span(), "an integer here", item.get_ref());
                continue;
            };
            match u64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) if range.contains(&number) => {
                    numbers.push(self.reading.located(item.span(), number));
                }
                _ => self.reading.report(
                    item.span(),
                    Finding::error(
                        "out_of_range",
                        format!("a number of `{key}` of {} is out of range", self.name),
                        format!("choose numbers from {} to {}", range.start(), range.end()),
                    ),
                ),
            }
        }
        Some(self.reading.located(value.span(), numbers))
    }

    /// The strings under a key whose members have names of the user's choice, in the order of the file.
    pub(crate) fn named_strings(
        &mut self,
        key: &'static str,
    ) -> Option<Vec<(Located<String>, Located<String>)>> {
        let value = self.value(key)?;
        let DeValue::Table(table) = value.get_ref() else {
            self.mismatch(key, value.span(), "a table of names and strings", value.get_ref());
            return None;
        };
        let mut strings = Vec::with_capacity(table.len());
        for (name, value) in in_file_order(table) {
            match value.get_ref() {
                DeValue::String(text) => strings.push((
                    self.reading.located(name.span(), name.get_ref().to_string()),
                    self.reading.located(value.span(), text.to_string()),
                )),
                other => self.mismatch(&format!("{key}.{}", name.get_ref()), value.span(), "a string", other),
            }
        }
        Some(strings)
    }

    /// The table under a key.
    pub(crate) fn table(&mut self, key: &'static str, name: impl Into<String>) -> Option<Table<'r, 't>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Table::new(self.reading, table, name, value.span())),
            other => {
                self.mismatch(key, value.span(), "a table", other);
                None
            }
        }
    }

    /// The tables under a key whose members have names of the user's choice, in the order of the file.
    pub(crate) fn named_tables(&mut self, key: &'static str) -> Vec<(Located<String>, Table<'r, 't>)> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let DeValue::Table(table) = value.get_ref() else {
            self.mismatch(key, value.span(), &format!("a table, as in `[{key}.name]`"), value.get_ref());
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (name, value) in in_file_order(table) {
            let full = format!("[{key}.{}]", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => {
                    let located = self.reading.located(name.span(), name.get_ref().to_string());
                    tables.push((located, Table::new(self.reading, inner, full, value.span())));
                }
                other => self.reading.report(
                    value.span(),
                    Finding::error(
                        "wrong_type",
                        format!("`{key}.{}` must be a table, not {}", name.get_ref(), article(other)),
                        format!("write its keys under a header `{full}`"),
                    ),
                ),
            }
        }
        tables
    }

    /// The tables of an array, in the order of the file.
    pub(crate) fn tables(&mut self, key: &'static str, example: &str) -> Option<Located<Vec<Table<'r, 't>>>> {
        let value = self.value(key)?;
        let DeValue::Array(items) = value.get_ref() else {
            self.mismatch(
                key,
                value.span(),
                &format!("an array of tables, as in `{example}`"),
                value.get_ref(),
            );
            return None;
        };
        let mut tables = Vec::with_capacity(items.len());
        for item in items.iter() {
            match item.get_ref() {
                DeValue::Table(table) => {
                    let name = format!("an entry of `{key}` of {}", self.name);
                    tables.push(Table::new(self.reading, table, name, item.span()));
                }
                other => self.mismatch(key, item.span(), &format!("a table here, as in `{example}`"), other),
            }
        }
        Some(self.reading.located(value.span(), tables))
    }

    /// Lists of strings under names of the user's choice, in the order of the file.
    pub(crate) fn lists(&mut self, key: &'static str) -> Vec<(Located<String>, Vec<Located<String>>)> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let DeValue::Table(table) = value.get_ref() else {
            self.mismatch(key, value.span(), "a table of arrays", value.get_ref());
            return Vec::new();
        };
        let mut lists = Vec::new();
        for (name, value) in in_file_order(table) {
            let DeValue::Array(items) = value.get_ref() else {
                self.mismatch(name.get_ref(), value.span(), "an array of strings", value.get_ref());
                continue;
            };
            let mut texts = Vec::with_capacity(items.len());
            for item in items.iter() {
                match item.get_ref() {
                    DeValue::String(text) => texts.push(self.reading.located(item.span(), text.to_string())),
                    other => self.mismatch(name.get_ref(), item.span(), "a string here", other),
                }
            }
            lists.push((self.reading.located(name.span(), name.get_ref().to_string()), texts));
        }
        lists
    }

    /// Reports a value of the wrong type.
    pub(crate) fn mismatch(&self, key: &str, span: Range<usize>, expected: &str, found: &DeValue<'_>) {
        self.reading.report(
            span,
            Finding::error(
                "wrong_type",
                format!("`{key}` of {} must be {expected}, not {}", self.name, article(found)),
                match found {
                    DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_)
                        if expected.contains("string") =>
                    {
                        "put it in quotes".to_owned()
                    }
                    DeValue::String(_) if expected.contains("integer") || expected.contains("true") => {
                        "remove the quotes".to_owned()
                    }
                    _ => format!("write {expected}"),
                },
            ),
        );
    }

    /// Reports every key that nobody took.
    pub(crate) fn finish(self) {
        let known: Vec<&str> = self.taken.iter().copied().collect();
        for (key, _) in in_file_order(self.table) {
            if !self.taken.contains(key.get_ref().as_ref()) {
                self.reading.report(
                    key.span(),
                    Finding::error(
                        "unknown_key",
                        format!(
                            "unknown key `{}` in {}{}",
                            key.get_ref(),
                            self.name,
                            meant(key.get_ref(), &known)
                        ),
                        format!("remove it or use one of {}", listed(&known)),
                    ),
                );
            }
        }
    }
}

/// The members of a table in the order in which the file has them.
pub(crate) fn in_file_order<'a, 't>(
    table: &'a DeTable<'t>,
) -> Vec<(&'a Spanned<Cow<'t, str>>, &'a Spanned<DeValue<'t>>)> {
    let mut members: Vec<_> = table.iter().collect();
    members.sort_by_key(|(key, _)| key.span().start);
    members
}

/// `; did you mean ...?` when a known word is near.
pub(crate) fn meant(word: &str, known: &[&str]) -> String {
    nearest(word, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// The known word nearest to this one, if one is near enough to have been meant.
pub(crate) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word.to_lowercase(), candidate), *candidate))
        .filter(|(distance, _)| (1..=allowed).contains(distance))
        .min()
        .map(|(_, candidate)| candidate)
}

/// The words in code quotes, separated by commas.
pub(crate) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// What a value is, with its article.
pub(crate) fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
