//! The trace that a call belongs to, for executors that speak to other services.
//!
//! A malformed value must never be passed on. The invocation makes it when it is asked.

use std::borrow::Cow;

use callgate_protocol::json::Value;
use callgate_protocol::meta::{TRACE_PARENT, TRACE_STATE, is_trace_parent, is_trace_state};

use crate::call::{Header, MirroredHeaders};

/// A W3C trace context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext<'c> {
    /// `traceparent`, well-formed.
    pub parent: Cow<'c, str>,
    /// `tracestate`, well-formed.
    pub state: Option<Cow<'c, str>>,
}

impl<'c> TraceContext<'c> {
    /// The context in the metadata of a request, or else in its headers. The parts of one are never mixed with
    /// those of the other.
    pub(super) fn of(meta: Option<Value<'c>>, headers: Option<&'c dyn MirroredHeaders>) -> Option<Self> {
        let in_meta = |name: &str| meta?.get(name)?.as_str();
        let in_headers = |name: &str| match headers?.header(name) {
            Header::One(bytes) => {
                std::str::from_utf8(bytes).ok().map(|text| Cow::Borrowed(text.trim_ascii()))
            }
            Header::Absent | Header::Several => None,
        };
        Self::judged(in_meta(TRACE_PARENT), || in_meta(TRACE_STATE))
            .or_else(|| Self::judged(in_headers(TRACE_PARENT), || in_headers(TRACE_STATE)))
    }

    fn judged(parent: Option<Cow<'c, str>>, state: impl FnOnce() -> Option<Cow<'c, str>>) -> Option<Self> {
        let parent = parent.filter(|parent| is_trace_parent(parent))?;
        Some(Self { parent, state: state().filter(|state| is_trace_state(state)) })
    }
}

#[cfg(test)]
mod tests {
    use callgate_protocol::json::{Document, Limits};

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-00";

    struct Headers(&'static str);

    impl MirroredHeaders for Headers {
        fn header(&self, name: &str) -> Header<'_> {
            match name {
                "traceparent" => Header::One(self.0.as_bytes()),
                "tracestate" => Header::One(b"from=header"),
                _ => Header::Absent,
            }
        }
    }

    #[test]
    fn the_metadata_comes_before_the_headers_and_nothing_malformed_is_passed_on() {
        let cases = [
            (
                format!(r#"{{"traceparent":"{PARENT}","tracestate":"a=1"}}"#),
                OTHER,
                Some((PARENT, Some("a=1"))),
            ),
            (format!(r#"{{"traceparent":"{PARENT}"}}"#), OTHER, Some((PARENT, None))),
            (format!(r#"{{"traceparent":"{PARENT}","tracestate":"A"}}"#), OTHER, Some((PARENT, None))),
            (
                r#"{"traceparent":"x\r\ny: z","tracestate":"a=1"}"#.to_owned(),
                OTHER,
                Some((OTHER, Some("from=header"))),
            ),
            ("{}".to_owned(), "00-0-0-0", None),
        ];
        for (meta, header, expected) in cases {
            let document = Document::parse(meta, &Limits::default()).unwrap();
            let headers = Headers(header);
            let found = TraceContext::of(Some(document.root()), Some(&headers));
            let found = found.as_ref().map(|found| (&*found.parent, found.state.as_deref()));
            assert_eq!(found, expected, "{}", document.text());
        }
        assert!(TraceContext::of(None, None).is_none());
    }
}
