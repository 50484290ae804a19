//! What a call carries from one round to the next, inside one sealed text: the approval and the tool's own state.
//!
//! It must never let a state that was made without an approval pass for one that has it. The validate step reads
//! it, the approve and check steps write it.

use crate::contract::digest::Digest;
use crate::receipt::CallId;

/// The length of a call's id and of a digest.
const ID: usize = 16;
const DIGEST: usize = 32;

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::stage) enum Carried {
    /// The tool asked something, and no approval was needed.
    Plain(Vec<u8>),
    /// Whoever calls was asked to approve the call.
    Question(Ticket),
    /// The call was approved, and then the tool asked something.
    Approved(Ticket, Option<Vec<u8>>),
}

/// What a round says of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stage) struct Ticket {
    /// The call whose round this was. Its answer counts once.
    pub(in crate::stage) asked_by: CallId,
    /// The approval: the call that asked for it.
    pub(in crate::stage) approval: CallId,
    /// The policy that was in force.
    pub(in crate::stage) policy: Digest,
}

impl Carried {
    /// The text that is sealed.
    pub(in crate::stage) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 + 2 * ID + DIGEST + self.state().map_or(0, <[u8]>::len));
        let (tag, ticket, state) = match self {
            Self::Plain(state) => (0, None, Some(state)),
            Self::Question(ticket) => (1, Some(ticket), None),
            Self::Approved(ticket, None) => (2, Some(ticket), None),
            Self::Approved(ticket, Some(state)) => (3, Some(ticket), Some(state)),
        };
        out.push(tag);
        if let Some(ticket) = ticket {
            out.extend_from_slice(ticket.asked_by.as_bytes());
            out.extend_from_slice(ticket.approval.as_bytes());
            out.extend_from_slice(ticket.policy.as_bytes());
        }
        out.extend(state.into_iter().flatten());
        out
    }

    /// Reads what [`Carried::encode`] wrote; nothing for any other text.
    pub(in crate::stage) fn decode(text: &[u8]) -> Option<Self> {
        let (tag, rest) = text.split_first()?;
        if *tag == 0 {
            return Some(Self::Plain(rest.to_vec()));
        }
        let (asked_by, rest) = rest.split_first_chunk::<ID>()?;
        let (approval, rest) = rest.split_first_chunk::<ID>()?;
        let (policy, state) = rest.split_first_chunk::<DIGEST>()?;
        let ticket = Ticket {
            asked_by: CallId::from_bytes(*asked_by),
            approval: CallId::from_bytes(*approval),
            policy: Digest::from_bytes(*policy),
        };
        match tag {
            1 if state.is_empty() => Some(Self::Question(ticket)),
            2 if state.is_empty() => Some(Self::Approved(ticket, None)),
            3 => Some(Self::Approved(ticket, Some(state.to_vec()))),
            _ => None,
        }
    }

    /// What the tool kept.
    pub(in crate::stage) fn state(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(state) | Self::Approved(_, Some(state)) => Some(state),
            Self::Question(_) | Self::Approved(_, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Carried, Ticket};
    use crate::contract::digest::Digest;
    use crate::receipt::CallId;

    #[test]
    fn what_is_carried_comes_back_and_nothing_else_is_read() {
        let ticket = Ticket {
            asked_by: CallId::new(1, &[1; 10]),
            approval: CallId::new(2, &[2; 10]),
            policy: Digest::of_bytes(b"p"),
        };
        let all = [
            Carried::Plain(Vec::new()),
            Carried::Plain(b"state".to_vec()),
            Carried::Question(ticket),
            Carried::Approved(ticket, None),
            Carried::Approved(ticket, Some(Vec::new())),
            Carried::Approved(ticket, Some(b"state".to_vec())),
        ];
        for carried in all {
            let text = carried.encode();
            for end in 0..text.len() {
                let cut = Carried::decode(&text[..end]);
                assert_ne!(cut.as_ref(), Some(&carried), "{end}");
            }
            assert_eq!(Carried::decode(&text), Some(carried));
        }
        assert_eq!(Carried::decode(&[4; 65]), None);
        assert_eq!(Carried::decode(&[1; 66]), None, "a question has no state");
    }
}
