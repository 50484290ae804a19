//! What a legacy client takes, by its `Accept` header.
//!
//! It must never take a kind for accepted that the client refuses. The compatibility profile asks before it
//! answers; the modern era has a rule of its own, because its clients may name one kind only.

use http::HeaderMap;
use http::header::ACCEPT;

/// True when the client takes all of these kinds. "The client MUST include an `Accept` header, listing both
/// `application/json` and `text/event-stream`": what a request becomes is known only while it runs. Without
/// the header everything is accepted.
pub(super) fn accepts(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let ranges: Vec<Range<'_>> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(Range::of)
        .collect();
    ranges.is_empty() || kinds.iter().all(|kind| takes(&ranges, kind))
}

/// The most exact range that covers a kind decides on it (RFC 9110, section 12.5.1).
fn takes(ranges: &[Range<'_>], kind: &str) -> bool {
    ranges
        .iter()
        .filter_map(|range| Some((range.covers(kind)?, range.is_wanted)))
        .max()
        .is_some_and(|(_, is_wanted)| is_wanted)
}

/// One range of kinds.
struct Range<'h> {
    kinds: &'h str,
    /// False when its weight is zero.
    is_wanted: bool,
}

/// How exactly a range names a kind, the least exact first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cover {
    Everything,
    Family,
    Kind,
}

impl<'h> Range<'h> {
    fn of(text: &'h str) -> Self {
        let mut parts = text.split(';');
        let kinds = parts.next().unwrap_or_default().trim();
        let is_wanted = !parts.any(|parameter| {
            let (name, weight) = parameter.split_once('=').unwrap_or_default();
            let weight = weight.trim();
            name.trim().eq_ignore_ascii_case("q")
                && weight.starts_with('0')
                && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
        });
        Self { kinds, is_wanted }
    }

    fn covers(&self, kind: &str) -> Option<Cover> {
        if self.kinds == "*/*" {
            return Some(Cover::Everything);
        }
        if self.kinds.eq_ignore_ascii_case(kind) {
            return Some(Cover::Kind);
        }
        let (family, _) = kind.split_once('/')?;
        let named = self.kinds.strip_suffix("/*")?;
        named.eq_ignore_ascii_case(family).then_some(Cover::Family)
    }
}
