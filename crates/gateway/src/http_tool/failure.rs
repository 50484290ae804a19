//! What a caller may know of an exchange that gave no result; the rest goes to the log.
//!
//! It must never show an address, a header or a word of the service. The HTTP tool calls it.

use std::time::Duration;

use callgate_adapters::http::{BodyFault, Failure, Response, no_credential};
use callgate_core::refusal::{Code, Refusal};
use http::header::RETRY_AFTER;

use super::result::Malformed;

/// The longest wait that a service may ask a caller for.
const WAIT: Duration = Duration::from_secs(3600);

/// No response came.
pub(super) fn without_response(failure: &Failure) -> Refusal {
    let refusal = match failure {
        Failure::Busy => Refusal::new(Code::Busy, "all places for requests to the service are in use"),
        Failure::Credential(fault) => return no_credential(fault),
        Failure::Request(why) => Refusal::new(
            Code::InvalidArguments,
            "the arguments make a request that cannot be sent; shorten them",
        )
        .with_detail(why),
        Failure::Address(_) => {
            Refusal::new(Code::SourceUnavailable, "the service is not where it may be reached")
        }
        Failure::Connect(_) => Refusal::new(Code::SourceUnavailable, "the service cannot be reached"),
        Failure::Timeout => Refusal::new(Code::Timeout, "the service did not answer in time"),
        Failure::Reset(_) => {
            Refusal::new(Code::SourceUnavailable, "the service broke off before it answered")
        }
        _ => Refusal::new(Code::Internal, "the request failed"),
    };
    if refusal.detail().is_some() { refusal } else { refusal.with_detail(failure) }
}

/// The service answered with a status that is no success.
pub(super) fn of_status(response: &Response) -> Refusal {
    let status = response.status.as_u16();
    let refusal = match status {
        400 | 406 | 411 | 413..=417 | 422 | 428 | 431 => {
            Refusal::new(Code::ToolFailed, "the service does not accept the request; check the arguments")
        }
        401 => {
            Refusal::new(Code::SourceUnavailable, "the service does not accept the credential of this server")
        }
        402 | 403 | 451 => Refusal::new(Code::ToolFailed, "the service does not permit it"),
        404 | 410 => Refusal::new(Code::ToolFailed, "the service knows nothing of that name"),
        405 | 501 | 505 => {
            Refusal::new(Code::ToolFailed, "the service does not offer what this tool asks for")
        }
        408 | 504 => Refusal::new(Code::Timeout, "the service did not finish in time"),
        409 | 412 | 423 => Refusal::new(
            Code::ToolFailed,
            "the service is in another state than the request expects; look again",
        ),
        429 => waits(Refusal::new(Code::RateLimited, "the service takes no more requests for now"), response),
        503 => waits(Refusal::new(Code::SourceUnavailable, "the service is not available"), response),
        425 | 502 => Refusal::new(Code::SourceUnavailable, "the service is not available"),
        300..=399 => Refusal::new(Code::ToolFailed, "the service points elsewhere, and that is not followed"),
        _ => Refusal::new(Code::ToolFailed, "the service failed"),
    };
    refusal.with_detail(format!("the service answered with status {status}"))
}

/// What the service says of when to come back, where it says it in seconds.
fn waits(refusal: Refusal, response: &Response) -> Refusal {
    let seconds =
        response.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    match seconds {
        Some(seconds) => refusal.with_retry_after(Duration::from_secs(seconds).min(WAIT)),
        None => refusal,
    }
}

/// The response was a success whose body cannot be read.
pub(super) fn of_body(fault: BodyFault) -> Refusal {
    let refusal = match fault {
        BodyFault::Truncated => Refusal::new(Code::SourceUnavailable, "the answer of the service broke off"),
        BodyFault::Late => Refusal::new(Code::Timeout, "the answer of the service did not arrive in time"),
        BodyFault::TooLarge => {
            Refusal::new(Code::OutputTooLarge, "the answer of the service is larger than this tool may take")
        }
        _ => Refusal::new(Code::OutputInvalid, "the answer of the service cannot be read"),
    };
    refusal.with_detail(fault)
}

/// The response was a success whose body is not what the file says.
pub(super) fn malformed(malformed: &Malformed) -> Refusal {
    let refusal = match malformed {
        Malformed::RowTooLarge => {
            Refusal::new(Code::OutputTooLarge, "one row is larger than this tool may return")
        }
        Malformed::Media | Malformed::Json(_) | Malformed::Missing(_) | Malformed::NotRows => {
            Refusal::new(Code::OutputInvalid, "the answer of the service is not what this tool expects")
        }
    };
    refusal.with_detail(malformed)
}
