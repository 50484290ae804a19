//! What a client can do, as a set that is cheap to copy and the raw text it was read from.
//!
//! It must never add a capability that was not declared. Modern requests declare them each time,
//! legacy sessions once.

use crate::json::{Kind, Value};

/// A capability of a client that a server may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Capability {
    /// Elicitation by a form; `"elicitation": {}` alone means this.
    ElicitationForm,
    /// Elicitation by a URL.
    ElicitationUrl,
    /// Sampling.
    Sampling,
    /// Sampling with tools.
    SamplingTools,
    /// Sampling with context of servers.
    SamplingContext,
    /// Roots.
    Roots,
    /// Notices of changed roots; legacy.
    RootsListChanged,
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CapabilitySet(u8);

impl CapabilitySet {
    /// The set without members.
    pub const EMPTY: Self = Self(0);

    /// The set with one more member.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | 1 << capability as u8)
    }

    /// True when the capability was declared.
    #[must_use]
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }

    /// True when nothing was declared.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The capabilities that a client declared.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientCapabilities<'d> {
    set: CapabilitySet,
    raw: Option<Value<'d>>,
}

impl<'d> ClientCapabilities<'d> {
    /// Reads a `ClientCapabilities` object; nothing if it is none, or a capability in it is no object.
    #[must_use]
    pub fn read(value: Value<'d>) -> Option<Self> {
        if value.kind() != Kind::Object {
            return None;
        }
        let mut set = CapabilitySet::EMPTY;
        for (name, declared) in value.members() {
            let name = name.as_str().unwrap_or_default();
            let known =
                matches!(&*name, "elicitation" | "sampling" | "roots" | "extensions" | "experimental");
            if known && declared.kind() != Kind::Object {
                return None;
            }
            let has = |member: &str| declared.get(member).is_some_and(|value| value.kind() == Kind::Object);
            match &*name {
                "elicitation" => {
                    if has("url") {
                        set = set.with(Capability::ElicitationUrl);
                    }
                    // "An empty capabilities object is equivalent to declaring support for form mode only."
                    if has("form") || !has("url") {
                        set = set.with(Capability::ElicitationForm);
                    }
                }
                "sampling" => {
                    set = set.with(Capability::Sampling);
                    if has("tools") {
                        set = set.with(Capability::SamplingTools);
                    }
                    if has("context") {
                        set = set.with(Capability::SamplingContext);
                    }
                }
                "roots" => {
                    set = set.with(Capability::Roots);
                    if declared.get("listChanged").and_then(Value::as_bool) == Some(true) {
                        set = set.with(Capability::RootsListChanged);
                    }
                }
                _ => {}
            }
        }
        Some(Self { set, raw: Some(value) })
    }

    /// The set, which outlives the message.
    #[must_use]
    pub fn set(&self) -> CapabilitySet {
        self.set
    }

    /// True when the capability was declared.
    #[must_use]
    pub fn contains(&self, capability: Capability) -> bool {
        self.set.contains(capability)
    }

    /// The settings of an extension, if the client declared it.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<Value<'d>> {
        self.raw?.get("extensions")?.get(id)
    }

    /// The object as received.
    #[must_use]
    pub fn raw(&self) -> Option<Value<'d>> {
        self.raw
    }
}

/// Appends the `data` of an error -32021: the capabilities that a request would have had to declare.
pub fn push_required_capabilities(out: &mut String, required: CapabilitySet) {
    let groups = [
        (
            "elicitation",
            None,
            [(Capability::ElicitationForm, "form"), (Capability::ElicitationUrl, "url")].as_slice(),
        ),
        (
            "sampling",
            Some(Capability::Sampling),
            [(Capability::SamplingTools, "tools"), (Capability::SamplingContext, "context")].as_slice(),
        ),
        ("roots", Some(Capability::Roots), [].as_slice()),
    ];
    out.push_str("{\"requiredCapabilities\":{");
    let mut first = true;
    for (name, itself, modes) in groups {
        let needed = itself.is_some_and(|capability| required.contains(capability))
            || modes.iter().any(|(capability, _)| required.contains(*capability));
        if !needed {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        out.push('"');
        out.push_str(name);
        out.push_str("\":{");
        let mut first_mode = true;
        for (_, mode) in modes.iter().filter(|(capability, _)| required.contains(*capability)) {
            if !first_mode {
                out.push(',');
            }
            first_mode = false;
            out.push('"');
            out.push_str(mode);
            out.push_str("\":{}");
        }
        out.push('}');
    }
    out.push_str("}}");
}
