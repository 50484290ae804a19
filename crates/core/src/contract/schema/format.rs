//! Formats: what the keyword `format` asserts.
//!
//! Each check is our own, exact, and linear in the text; none resolves a name or knows a locale. It
//! must never accept more than the specification that a format names. The evaluator calls it.

use super::SchemaLimits;
use super::pattern::is_regular_expression;

mod name;
mod pointer;
mod resource;
mod set;
mod time;

pub(super) use time::is_date;

/// A format that is asserted, in both dialects.
///
/// | `format` | what is accepted |
/// | --- | --- |
/// | `date-time` | RFC 3339 `date-time`, with a zone; second 60 only where a leap second can be |
/// | `date` | RFC 3339 `full-date`, a day that exists |
/// | `time` | RFC 3339 `full-time`, with a zone |
/// | `duration` | RFC 3339 appendix A `duration` |
/// | `email` | RFC 5321 `Mailbox` |
/// | `idn-email` | RFC 6531 `Mailbox`: letters beyond ASCII, otherwise as `email` |
/// | `hostname` | RFC 1123 host name: labels of 1 to 63, 253 in all |
/// | `ipv4` | dotted quad without leading zeros |
/// | `ipv6` | RFC 4291 section 2.2, without zone |
/// | `uri`, `uri-reference` | RFC 3986 |
/// | `iri`, `iri-reference` | RFC 3987 |
/// | `uri-template` | RFC 6570 |
/// | `uuid` | RFC 9562 text form, either case |
/// | `json-pointer` | RFC 6901 |
/// | `relative-json-pointer` | the draft that JSON Schema names |
/// | `regex` | ECMA-262 pattern, also where it could not run in linear time |
///
/// Every other name, `idn-hostname` among them (its rules need tables of IDNA 2008), is an annotation,
/// and the compiler leaves a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// `date-time`
    DateTime,
    /// `date`
    Date,
    /// `time`
    Time,
    /// `duration`
    Duration,
    /// `email`
    Email,
    /// `idn-email`
    IdnEmail,
    /// `hostname`
    Hostname,
    /// `ipv4`
    Ipv4,
    /// `ipv6`
    Ipv6,
    /// `uri`
    Uri,
    /// `uri-reference`
    UriReference,
    /// `iri`
    Iri,
    /// `iri-reference`
    IriReference,
    /// `uri-template`
    UriTemplate,
    /// `uuid`
    Uuid,
    /// `json-pointer`
    JsonPointer,
    /// `relative-json-pointer`
    RelativeJsonPointer,
    /// `regex`
    Regex,
}

impl Format {
    /// Every asserted format.
    pub const ALL: [Self; 18] = [
        Self::DateTime,
        Self::Date,
        Self::Time,
        Self::Duration,
        Self::Email,
        Self::IdnEmail,
        Self::Hostname,
        Self::Ipv4,
        Self::Ipv6,
        Self::Uri,
        Self::UriReference,
        Self::Iri,
        Self::IriReference,
        Self::UriTemplate,
        Self::Uuid,
        Self::JsonPointer,
        Self::RelativeJsonPointer,
        Self::Regex,
    ];

    /// The format of that name, or nothing if it is not asserted.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The name in schemas.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DateTime => "date-time",
            Self::Date => "date",
            Self::Time => "time",
            Self::Duration => "duration",
            Self::Email => "email",
            Self::IdnEmail => "idn-email",
            Self::Hostname => "hostname",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Uri => "uri",
            Self::UriReference => "uri-reference",
            Self::Iri => "iri",
            Self::IriReference => "iri-reference",
            Self::UriTemplate => "uri-template",
            Self::Uuid => "uuid",
            Self::JsonPointer => "json-pointer",
            Self::RelativeJsonPointer => "relative-json-pointer",
            Self::Regex => "regex",
        }
    }

    /// What a value of the format looks like, for messages.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::DateTime => "a date and time with zone, such as 2026-03-01T09:30:00Z",
            Self::Date => "a date, such as 2026-03-01",
            Self::Time => "a time with zone, such as 09:30:00Z",
            Self::Duration => "a duration, such as P3D or PT1H30M",
            Self::Email | Self::IdnEmail => "an email address",
            Self::Hostname => "a host name",
            Self::Ipv4 => "an IPv4 address",
            Self::Ipv6 => "an IPv6 address",
            Self::Uri => "an absolute URI",
            Self::UriReference => "a URI or a relative reference",
            Self::Iri => "an absolute IRI",
            Self::IriReference => "an IRI or a relative reference",
            Self::UriTemplate => "a URI template",
            Self::Uuid => "a UUID",
            Self::JsonPointer => "a JSON pointer, such as /a/0",
            Self::RelativeJsonPointer => "a relative JSON pointer, such as 1/a",
            Self::Regex => "a regular expression",
        }
    }

    /// Whether the text has this format.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::DateTime => time::is_date_time(text),
            Self::Date => is_date(text.as_bytes()),
            Self::Time => time::is_time(text),
            Self::Duration => time::is_duration(text),
            Self::Email => name::is_email(text, name::Letters::Ascii),
            Self::IdnEmail => name::is_email(text, name::Letters::Any),
            Self::Hostname => name::is_hostname(text),
            Self::Ipv4 => name::is_ipv4(text),
            Self::Ipv6 => name::is_ipv6(text),
            Self::Uri => resource::is_uri(text),
            Self::UriReference => resource::is_uri_reference(text),
            Self::Iri => resource::is_iri(text),
            Self::IriReference => resource::is_iri_reference(text),
            Self::UriTemplate => resource::is_uri_template(text),
            Self::Uuid => name::is_uuid(text),
            Self::JsonPointer => pointer::is_json_pointer(text),
            Self::RelativeJsonPointer => pointer::is_relative_json_pointer(text),
            Self::Regex => is_regular_expression(text, &SchemaLimits::DEFAULT),
        }
    }

    /// Steps that [`Format::accepts`] takes for that many bytes, in the currency of the budget.
    pub(super) fn cost(self, bytes: usize) -> u64 {
        match self {
            // A Unicode property is looked up in a table for each few bytes of the pattern.
            Self::Regex => 1 + 64 * bytes as u64,
            _ => 1 + bytes as u64 / 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(Format::of_name(format.name()), Some(format));
        }
        assert_eq!(Format::of_name("idn-hostname"), None);
        assert_eq!(Format::of_name("Date"), None);
    }

    #[test]
    fn formats_accept_and_refuse_at_their_edges() {
        for (format, accepted, refused) in [
            (Format::Date, "2024-02-29", "2023-02-29"),
            (Format::Date, "2000-02-29", "1900-02-29"),
            (Format::Date, "0000-01-01", "2026-13-01"),
            (Format::DateTime, "2016-12-31T23:59:60Z", "2016-12-30T23:58:60Z"),
            (Format::DateTime, "2026-03-01T09:30:00.5+05:30", "2026-03-01 09:30:00Z"),
            (Format::Time, "00:00:00Z", "00:00:00"),
            (Format::Duration, "P1Y2M3DT4H5M6S", "P1Y3D"),
            (Format::Duration, "PT1H", "PT1H6S"),
            (Format::Email, "a@[IPv6:::1]", "a@b@c"),
            (Format::IdnEmail, "é@exämple.com", "é@-.com"),
            (Format::Hostname, "a.b-c", "a..b"),
            (Format::Hostname, "xn--nxasmq6b", "a."),
            (Format::Ipv4, "192.168.0.255", "192.168.0.0255"),
            (Format::Ipv6, "::ffff:1.2.3.4", "1::2::3"),
            (Format::Ipv6, "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9"),
            (Format::Uri, "urn:a:b", "a/b"),
            (Format::Uri, "http://[::1]:80/", "http://[::1/"),
            (Format::Uri, "http://a/%41", "http://a/%4"),
            (Format::UriReference, "", "\\"),
            (Format::UriReference, "a/b:c", "1a:b"),
            (Format::Iri, "http://é/ü", "http://é/ ü"),
            (Format::UriTemplate, "/a{?q,r*,s:3}", "/a{"),
            (Format::UriTemplate, "{+a.b}", "{}"),
            (Format::Uuid, "2EB8AA08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08aa9811eab4aa73b441d16380"),
            (Format::JsonPointer, "/a~0/~1", "/a~2"),
            (Format::JsonPointer, "", "a"),
            (Format::RelativeJsonPointer, "0#", "01"),
            (Format::RelativeJsonPointer, "12/a", "-1/a"),
            (Format::Regex, "(?=a)b\\1", "("),
        ] {
            assert!(format.accepts(accepted), "{format:?} {accepted}");
            assert!(!format.accepts(refused), "{format:?} {refused}");
        }
    }
}
