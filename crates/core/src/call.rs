//! One tool call as the gate receives it: decoded, but judged by nobody yet.
//!
//! It borrows from the request, which the transport keeps until the answer is written. Transports make
//! it; only the pipeline reads it.

use std::fmt;

use callgate_protocol::json::Value;

use crate::invocation::CapabilitySet;
use crate::port::{Credentials, Peer};
use crate::refusal::Code;

/// A call of one tool.
#[non_exhaustive]
pub struct Call<'r> {
    /// The name of the tool, as requested.
    pub name: &'r str,
    /// The arguments; `{}` when none were sent.
    pub arguments: Value<'r>,
    /// Answers to the questions of the round before: an object, or nothing.
    pub input_responses: Option<Value<'r>>,
    /// The metadata of the request, `_meta`: an object, or nothing.
    pub meta: Option<Value<'r>>,
    /// The sealed state of the round before.
    pub request_state: Option<&'r str>,
    /// What proves who calls.
    pub credentials: Credentials<'r>,
    /// The mirrored headers, on a transport that has headers and at a revision that mirrors.
    pub headers: Option<&'r dyn MirroredHeaders>,
    /// What the client declared that it can be asked for, with this request.
    pub declared: CapabilitySet,
    /// Why the transport could not read the call, and what its caller may read of that. Such a call is known by
    /// its caller, counted, refused and recorded like any other, and no tool is looked up for it.
    pub refused: Option<(Code, &'r str)>,
    /// The client.
    pub peer: &'r dyn Peer,
}

impl<'r> Call<'r> {
    /// A call without mirrored headers, answers, state and capabilities.
    #[must_use]
    pub fn new(
        name: &'r str,
        arguments: Value<'r>,
        credentials: Credentials<'r>,
        peer: &'r dyn Peer,
    ) -> Self {
        Self {
            name,
            arguments,
            input_responses: None,
            meta: None,
            request_state: None,
            credentials,
            headers: None,
            declared: CapabilitySet::NONE,
            refused: None,
            peer,
        }
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A header as a transport found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'r> {
    /// It was not sent.
    Absent,
    /// It was sent once, with these bytes.
    One(&'r [u8]),
    /// It was sent more than once.
    Several,
}

/// The headers of a request, by name in lower case.
pub trait MirroredHeaders: Sync {
    /// The header of that name.
    fn header(&self, name: &str) -> Header<'_>;
}
