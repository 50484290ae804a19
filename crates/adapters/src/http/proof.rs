//! What each end of an exchange proves of the effect that was asked for.
//!
//! A lost answer is no rollback, and a status is a statement of the service about itself: only those that are
//! defined as "not carried out" prove it. The table is in `docs/http-tools.md`; whoever carries out a tool reads
//! it here.

use super::{BodyFault, Failure};

/// What is known of the effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing was sent.
    NotSent,
    /// The service was asked and says that it did nothing.
    Refused,
    /// The service says that it did it.
    Done,
    /// Nobody knows.
    Unknown,
}

/// Statuses that a service defines otherwise than the protocol does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses {
    /// With these it did nothing.
    pub refused: Vec<u16>,
    /// With these nobody knows.
    pub unknown: Vec<u16>,
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug)]
pub enum End<'e> {
    /// Without a response.
    Failed(&'e Failure),
    /// With a status; the body does not matter, or is whole and good.
    Status(u16),
    /// With a status, and a body that cannot be read.
    Body(u16, BodyFault),
    /// With a status, and a whole body that is not what was declared: its media type, its JSON, its fields.
    Malformed(u16),
}

/// What an end proves.
#[must_use]
pub fn proof(end: End<'_>, statuses: &Statuses) -> Proof {
    match end {
        End::Failed(
            Failure::Busy
            | Failure::Credential(_)
            | Failure::Request(_)
            | Failure::Address(_)
            | Failure::Connect(_),
        ) => Proof::NotSent,
        End::Failed(Failure::Timeout | Failure::Reset(_)) => Proof::Unknown,
        End::Status(status) | End::Malformed(status) => of_status(status, statuses),
        // A service may begin to answer before it is done, and say at the end that it failed.
        End::Body(
            status,
            BodyFault::Truncated | BodyFault::Late | BodyFault::TooLarge | BodyFault::Encoding,
        ) => match of_status(status, statuses) {
            Proof::Done => Proof::Unknown,
            other => other,
        },
    }
}

fn of_status(status: u16, statuses: &Statuses) -> Proof {
    if statuses.unknown.contains(&status) {
        return Proof::Unknown;
    }
    if statuses.refused.contains(&status) {
        return Proof::Refused;
    }
    match status {
        200..=299 => Proof::Done,
        // The method is to be repeated elsewhere, so it was not carried out here.
        307 | 308 => Proof::Refused,
        // Refused before it was looked at: who asks, what is asked of, how it is written, how much, how often.
        400 | 401 | 402 | 403 | 404 | 405 | 410 | 411 | 412 | 413 | 414 | 415 | 416 | 417 | 421 | 422
        | 425 | 426 | 428 | 429 | 431 | 451 | 501 | 505 => Proof::Refused,
        // A conflict may be one with the first try of the same request, a redirect the form in which a service
        // says that it is done, and a failure of the server or of what stands before it says nothing.
        _ => Proof::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::CredentialFault;

    fn of(end: End<'_>) -> Proof {
        proof(end, &Statuses::default())
    }

    #[test]
    fn what_failed_before_a_request_left_proves_that_nothing_was_sent() {
        for failure in [
            Failure::Busy,
            Failure::Credential(CredentialFault::NoToken),
            Failure::Request("too long"),
            Failure::Address("127.0.0.1".to_owned()),
            Failure::Connect("refused".to_owned()),
        ] {
            assert_eq!(of(End::Failed(&failure)), Proof::NotSent, "{failure}");
        }
    }

    #[test]
    fn silence_and_a_lost_connection_prove_nothing() {
        assert_eq!(of(End::Failed(&Failure::Timeout)), Proof::Unknown);
        assert_eq!(of(End::Failed(&Failure::Reset("closed".to_owned()))), Proof::Unknown);
    }

    #[test]
    fn each_status_proves_what_its_definition_says() {
        for (statuses, expected) in [
            (&[200, 201, 202, 204, 206, 299][..], Proof::Done),
            (&[307, 308], Proof::Refused),
            (&[300, 301, 302, 303, 304], Proof::Unknown),
            (&[400, 401, 402, 403, 404, 405, 410, 411, 412, 413, 414, 415, 416, 417], Proof::Refused),
            (&[421, 422, 425, 426, 428, 429, 431, 451], Proof::Refused),
            (&[406, 407, 408, 409, 418, 423, 424, 499], Proof::Unknown),
            (&[501, 505], Proof::Refused),
            (&[500, 502, 503, 504, 507, 508, 511, 599], Proof::Unknown),
            (&[100, 101, 600, 999], Proof::Unknown),
        ] {
            for status in statuses {
                assert_eq!(of(End::Status(*status)), expected, "{status}");
            }
        }
    }

    #[test]
    fn a_service_may_define_its_statuses_otherwise() {
        let statuses = Statuses { refused: vec![409, 503], unknown: vec![400, 200] };
        for (status, expected) in [
            (409, Proof::Refused),
            (503, Proof::Refused),
            (400, Proof::Unknown),
            (200, Proof::Unknown),
            (201, Proof::Done),
        ] {
            assert_eq!(proof(End::Status(status), &statuses), expected, "{status}");
        }
    }

    #[test]
    fn a_body_that_is_not_whole_takes_the_proof_of_success_away_and_no_other() {
        for fault in [BodyFault::Truncated, BodyFault::Late, BodyFault::TooLarge, BodyFault::Encoding] {
            assert_eq!(of(End::Body(201, fault)), Proof::Unknown, "{fault}");
            assert_eq!(of(End::Body(403, fault)), Proof::Refused, "{fault}");
            assert_eq!(of(End::Body(500, fault)), Proof::Unknown, "{fault}");
        }
    }

    #[test]
    fn a_whole_body_that_is_not_what_was_declared_does_not_undo_what_the_status_says() {
        assert_eq!(of(End::Malformed(201)), Proof::Done);
        assert_eq!(of(End::Malformed(422)), Proof::Refused);
        assert_eq!(of(End::Malformed(502)), Proof::Unknown);
    }
}
