//! Step 2: whether there is room for one more call.
//!
//! It must never queue: a caller who has to wait is told so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::authenticate::Authenticated;
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// The count of calls in flight and its bound.
#[derive(Debug)]
pub struct Admission {
    in_flight: Arc<AtomicUsize>,
    max: usize,
}

impl Admission {
    pub(crate) fn new(max: usize) -> Self {
        Self { in_flight: Arc::new(AtomicUsize::new(0)), max }
    }
}

/// Evidence: this call holds one of the places.
#[derive(Debug)]
#[must_use]
pub struct Admitted {
    authenticated: Authenticated,
    _place: Place,
}

impl Admitted {
    pub(in crate::stage) fn principal(&self) -> &Arc<Principal> {
        self.authenticated.principal()
    }
}

/// A place in the count, given back when the call ends in any way.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Takes a place for the call.
pub fn admit(admission: &Admission, authenticated: Authenticated) -> Result<Admitted, Refusal> {
    let before = admission.in_flight.fetch_add(1, Ordering::Acquire);
    // From here on the place is given back, whatever happens.
    let place = Place(Arc::clone(&admission.in_flight));
    if before >= admission.max {
        return Err(Refusal::new(Code::Busy, "too many calls are in flight"));
    }
    Ok(Admitted { authenticated, _place: place })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Admission, admit};
    use crate::call::Call;
    use crate::limits::Limits;
    use crate::port::{Credentials, LocalIdentity, SilentPeer, Transport};
    use crate::principal::Principal;
    use crate::refusal::Code;
    use crate::stage::authenticate::authenticate;
    use callgate_protocol::json::Document;

    #[tokio::test]
    async fn the_last_place_is_given_and_one_more_is_refused_until_one_comes_back() {
        let identity = LocalIdentity::new(Principal::new("dana"));
        let call = Call::new(
            "t",
            Document::empty_object().root(),
            Credentials::new(Transport::Stdio, None),
            &SilentPeer,
        );
        let admission = Admission::new(2);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(
                admit(&admission, authenticate(&Limits::default(), &identity, &call).await.unwrap()).unwrap(),
            );
        }
        let refused =
            admit(&admission, authenticate(&Limits::default(), &identity, &call).await.unwrap()).unwrap_err();
        assert_eq!(refused.code(), Code::Busy);
        held.pop();
        assert!(admit(&admission, authenticate(&Limits::default(), &identity, &call).await.unwrap()).is_ok());
        assert_eq!(Arc::strong_count(&admission.in_flight), 2);
    }
}
