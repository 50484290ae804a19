//! Who keeps a place and who loses it.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::principal::Principal;
use callgate_protocol::Revision;
use futures_util::future::AbortHandle;
use tokio::time::advance;

use super::{Client, Full, Registry};
use crate::legacy::{LegacyLimits, Session};

const MINUTE: Duration = Duration::from_secs(60);

fn limits() -> LegacyLimits {
    LegacyLimits { sessions: 2, idle: 30 * MINUTE, unused: MINUTE, ..LegacyLimits::default() }
}

fn open(registry: &Registry, id: &str) -> Result<(), Full> {
    open_as(registry, id, owner())
}

fn open_as(registry: &Registry, id: &str, principal: Principal) -> Result<(), Full> {
    let session = Session::new(Revision::V2025_11_25, "{}".to_owned(), None, limits());
    registry.insert(Client::new(id.to_owned(), session, Arc::new(principal), registry))
}

fn owner() -> Principal {
    Principal::new("owner")
}

fn is_there(registry: &Registry, id: &str) -> bool {
    registry.find(id, &owner()).is_some()
}

#[tokio::test(start_paused = true)]
async fn the_oldest_session_that_was_never_used_makes_room_and_a_used_one_never_does() {
    let registry = Registry::new(limits());
    open(&registry, "used").unwrap();
    assert!(is_there(&registry, "used"));
    for id in ["a", "b", "c"] {
        advance(Duration::from_secs(1)).await;
        open(&registry, id).unwrap();
    }
    assert!(!is_there(&registry, "a") && !is_there(&registry, "b"));
    assert!(is_there(&registry, "used") && is_there(&registry, "c"));
    assert!(open(&registry, "d").is_err());
    assert!(is_there(&registry, "used") && is_there(&registry, "c"));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_never_used_ends_after_its_own_time() {
    let registry = Registry::new(limits());
    open(&registry, "used").unwrap();
    open(&registry, "unused").unwrap();
    advance(MINUTE / 2).await;
    assert!(is_there(&registry, "used"));
    advance(MINUTE / 2).await;
    assert!(!is_there(&registry, "unused"));
    advance(29 * MINUTE).await;
    assert!(is_there(&registry, "used"));
    advance(30 * MINUTE).await;
    assert!(!is_there(&registry, "used"));
}

#[tokio::test(start_paused = true)]
async fn a_refused_client_is_told_when_there_will_be_room() {
    let registry = Registry::new(limits());
    for id in ["a", "b"] {
        open(&registry, id).unwrap();
        assert!(is_there(&registry, id));
        advance(MINUTE).await;
    }
    let room_in = 28 * MINUTE;
    assert_eq!(open(&registry, "c"), Err(Full { room_in }));
    advance(room_in - Duration::from_millis(1)).await;
    assert_eq!(open(&registry, "c"), Err(Full { room_in: Duration::from_millis(1) }));
    advance(Duration::from_millis(1)).await;
    open(&registry, "c").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_request_in_flight_keeps_its_place() {
    let registry = Registry::new(limits());
    for id in ["a", "b"] {
        open(&registry, id).unwrap();
        let client = registry.find(id, &owner()).unwrap();
        let request = callgate_protocol::Id::number(1);
        client.begin(&request, AbortHandle::new_pair().0).unwrap();
    }
    advance(60 * MINUTE).await;
    assert_eq!(open(&registry, "c"), Err(Full { room_in: 30 * MINUTE }));
}

/// Who knows the id of a session and is not its owner keeps it from nothing.
#[tokio::test(start_paused = true)]
async fn a_session_is_used_by_its_owner_only() {
    let registry = Registry::new(limits());
    open(&registry, "a").unwrap();
    assert!(registry.find("a", &Principal::new("somebody else")).is_none());
    advance(MINUTE).await;
    assert!(!is_there(&registry, "a"));
}

#[tokio::test(start_paused = true)]
async fn a_principal_with_as_many_sessions_as_it_may_have_keeps_nobody_else_out() {
    let limits = LegacyLimits { sessions: 4, sessions_per_principal: 2, ..limits() };
    let registry = Registry::new(limits);
    let other = || Principal::new("owner").with_tenant("another");
    open_as(&registry, "other", other()).unwrap();
    for id in ["a", "b"] {
        advance(Duration::from_secs(1)).await;
        open(&registry, id).unwrap();
    }
    advance(Duration::from_secs(1)).await;
    open(&registry, "c").unwrap();
    assert!(!is_there(&registry, "a"), "its own oldest session makes room");
    assert!(registry.find("other", &other()).is_some(), "and not that of somebody else");
    assert!(is_there(&registry, "b") && is_there(&registry, "c"));
    assert!(open(&registry, "d").is_err(), "a used one never does");
    open_as(&registry, "other 2", other()).unwrap();
}
