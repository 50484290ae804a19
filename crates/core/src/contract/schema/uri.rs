//! References: RFC 3986 resolution of one identifier against another, as text.
//!
//! A resolved identifier is only a name to look up among the schemas at hand. It must never be
//! opened, fetched or normalized beyond what the RFC asks for. Only the schema compiler calls it.

/// The parts of a reference. The path is always there, though it may be empty.
#[derive(Clone, Copy, Debug, Default)]
struct Parts<'t> {
    scheme: Option<&'t str>,
    authority: Option<&'t str>,
    path: &'t str,
    query: Option<&'t str>,
}

/// Splits a reference at its fragment.
pub(super) fn split_fragment(reference: &str) -> (&str, Option<&str>) {
    match reference.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (reference, None),
    }
}

/// Resolves `reference`, which has no fragment, against `base`, which has none either
/// (RFC 3986, section 5.2). A base without a scheme is allowed: a schema need not name itself.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let base = parts(base);
    let reference = parts(reference);
    if reference.scheme.is_some() {
        return compose(&reference, remove_dots(reference.path));
    }
    let mut target = Parts { scheme: base.scheme, ..reference };
    if reference.authority.is_some() {
        return compose(&target, remove_dots(reference.path));
    }
    target.authority = base.authority;
    if reference.path.is_empty() {
        target.query = reference.query.or(base.query);
        return compose(&target, base.path.to_owned());
    }
    if reference.path.starts_with('/') {
        return compose(&target, remove_dots(reference.path));
    }
    let merged = match base.path.rfind('/') {
        Some(end) => format!("{}/{}", base.path.get(..end).unwrap_or_default(), reference.path),
        None if base.authority.is_some() => format!("/{}", reference.path),
        None => reference.path.to_owned(),
    };
    compose(&target, remove_dots(&merged))
}

/// Resolves percent-encoding. Nothing when the result is not UTF-8 or the encoding is malformed.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

fn parts(reference: &str) -> Parts<'_> {
    let mut parts = Parts::default();
    let mut rest = reference;
    if let Some((scheme, after)) = rest.split_once(':') {
        let mut bytes = scheme.bytes();
        let valid = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
        if valid {
            parts.scheme = Some(scheme);
            rest = after;
        }
    }
    if let Some((before, query)) = rest.split_once('?') {
        parts.query = Some(query);
        rest = before;
    }
    if let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        parts.authority = Some(authority);
        rest = path;
    }
    parts.path = rest;
    parts
}

fn compose(parts: &Parts<'_>, path: String) -> String {
    let mut text = String::new();
    if let Some(scheme) = parts.scheme {
        text.push_str(scheme);
        text.push(':');
    }
    if let Some(authority) = parts.authority {
        text.push_str("//");
        text.push_str(authority);
    }
    text.push_str(&path);
    if let Some(query) = parts.query {
        text.push('?');
        text.push_str(query);
    }
    text
}

fn remove_dots(path: &str) -> String {
    if !path.split('/').any(|segment| segment == "." || segment == "..") {
        return path.to_owned();
    }
    let absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(usize::from(absolute)).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            ".." => {
                kept.pop();
            }
            "." => {}
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if last {
            // A dot segment at the end names a directory.
            kept.push("");
        }
    }
    let joined = kept.join("/");
    if absolute { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::{percent_decode, resolve};

    #[test]
    fn references_resolve_as_the_rfc_shows() {
        // RFC 3986, sections 5.4.1 and 5.4.2, without the lines that only concern fragments.
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
        assert_eq!(resolve("", "b.json"), "b.json");
        assert_eq!(resolve("urn:uuid:1", ""), "urn:uuid:1");
        assert_eq!(resolve("http://a", "b"), "http://a/b");
    }

    #[test]
    fn percent_encoding_is_resolved_or_refused() {
        assert_eq!(percent_decode("a%25b%C3%A9").as_deref(), Some("a%bé"));
        assert_eq!(percent_decode("%"), None);
        assert_eq!(percent_decode("%zz"), None);
        assert_eq!(percent_decode("%ff"), None);
    }
}
