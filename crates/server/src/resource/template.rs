//! URI templates of level 1: literal text and variables in braces. Source: RFC 6570, section 3.2.2.
//!
//! A variable matches one or more characters that are no separators, so that no variable spans more than
//! its author meant.

use std::collections::BTreeMap;
use std::fmt;

use super::uri::decode;

/// A parsed template: text, then a variable and text, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    prefix: String,
    parts: Vec<(String, String)>,
}

/// Why a text is no template that is supported here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplateFault {
    /// A brace without its partner.
    Unbalanced,
    /// A variable with a name that is empty, has an operator, or stands twice.
    Variable(String),
    /// Two variables with nothing between them, so that nobody can tell where one ends.
    Adjacent,
    /// Without variables it is a resource, not a template.
    Fixed,
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbalanced => f.write_str("a brace has no partner"),
            Self::Variable(name) => {
                write!(
                    f,
                    "`{{{name}}}` is no variable: write each name once, of letters, digits and underscores"
                )
            }
            Self::Adjacent => f.write_str("two variables stand side by side"),
            Self::Fixed => f.write_str("there is no variable; use a resource instead"),
        }
    }
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, TemplateFault> {
        let (prefix, mut rest) = text.split_once('{').ok_or(TemplateFault::Fixed)?;
        let mut parts: Vec<(String, String)> = Vec::new();
        loop {
            let (name, after) = rest.split_once('}').ok_or(TemplateFault::Unbalanced)?;
            let is_name = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && parts.iter().all(|(known, _)| known != name);
            if !is_name {
                return Err(TemplateFault::Variable(name.to_owned()));
            }
            let (literal, next) = match after.split_once('{') {
                Some((literal, next)) => (literal, Some(next)),
                None => (after, None),
            };
            if literal.contains('}') || prefix.contains('}') {
                return Err(TemplateFault::Unbalanced);
            }
            if literal.is_empty() && next.is_some() {
                return Err(TemplateFault::Adjacent);
            }
            parts.push((name.to_owned(), literal.to_owned()));
            match next {
                Some(next) => rest = next,
                None => return Ok(Self { prefix: prefix.to_owned(), parts }),
            }
        }
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// The variables of a URI that follows the template.
    pub(super) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut rest = uri.strip_prefix(&self.prefix)?;
        let mut variables = BTreeMap::new();
        let last = self.parts.len().saturating_sub(1);
        for (at, (name, literal)) in self.parts.iter().enumerate() {
            // The last variable ends where the rest of the template begins, each other one at the first
            // place where the text after it stands.
            let end = if at == last { rest.strip_suffix(literal)?.len() } else { rest.find(literal)? };
            let value = rest.get(..end)?;
            if value.is_empty() || value.contains(['/', '?', '#']) {
                return None;
            }
            let value = decode(value)?;
            if matches!(&*value, "." | "..") || value.contains(['/', '\\', '\0']) {
                return None;
            }
            variables.insert(name.clone(), value);
            rest = rest.get(end + literal.len()..)?;
        }
        rest.is_empty().then_some(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::{Template, TemplateFault};

    fn read(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let variables = Template::parse(template).unwrap().matches(uri)?;
        Some(variables.into_iter().collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn variables_are_read_and_decoded() {
        assert_eq!(read("test://template/{id}/data", "test://template/123/data"), pairs(&[("id", "123")]));
        assert_eq!(read("a:{x}-{y}", "a:1-2-3"), pairs(&[("x", "1"), ("y", "2-3")]));
        assert_eq!(read("a:{x}", "a:b%20c"), pairs(&[("x", "b c")]));
    }

    /// Requirements: RES-13, RES-16
    #[test]
    fn a_variable_never_spans_a_separator_or_climbs() {
        for uri in
            ["a:", "a:b/c", "a:b?c", "a:b%2fc", "a:..", "a:%2e%2e", "a:b%5cc", "a:b%00", "a:%ff", "b:c"]
        {
            assert_eq!(read("a:{x}", uri), None, "{uri}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        assert_eq!(Template::parse("a:b"), Err(TemplateFault::Fixed));
        assert_eq!(Template::parse("a:{x"), Err(TemplateFault::Unbalanced));
        assert_eq!(Template::parse("a:{x}}"), Err(TemplateFault::Unbalanced));
        assert_eq!(Template::parse("a:{x}{y}"), Err(TemplateFault::Adjacent));
        for name in ["", "+x", "x*", "x,y"] {
            assert_eq!(
                Template::parse(&format!("a:{{{name}}}")),
                Err(TemplateFault::Variable(name.to_owned()))
            );
        }
        assert_eq!(Template::parse("a:{x}-{x}"), Err(TemplateFault::Variable("x".into())));
    }
}
