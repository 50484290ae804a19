use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use callgate_protocol::json::Document;
use tokio::time::advance;

use super::{Admission, Admitted, admit};
use crate::call::Call;
use crate::limits::Limits;
use crate::port::{Credentials, LocalIdentity, SilentPeer, Transport};
use crate::principal::Principal;
use crate::rate::{Allowance, Rate};
use crate::refusal::{Code, Refusal, Retry};
use crate::stage::authenticate::authenticate;

fn rate(calls: u32, burst: u32) -> Rate {
    Rate::per_minute(NonZeroU32::new(calls).unwrap(), NonZeroU32::new(burst).unwrap())
}

async fn admitted(
    admission: &Admission,
    limits: &Limits,
    subject: &str,
    tenant: &str,
) -> Result<Admitted, Refusal> {
    let identity = LocalIdentity::new(Principal::new(subject).with_tenant(tenant));
    let credentials = Credentials::new(Transport::Stdio, None);
    let call = Call::new("t", Document::empty_object().root(), credentials, &SilentPeer);
    admit(admission, limits, authenticate(limits, &identity, &call).await.unwrap())
}

#[tokio::test]
async fn the_last_place_is_given_and_one_more_is_refused_until_one_comes_back() {
    let admission = Admission::new();
    let limits = Limits { calls_in_flight: 2, ..Limits::default() };
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(admitted(&admission, &limits, "dana", "a").await.unwrap());
    }
    assert_eq!(admitted(&admission, &limits, "dana", "a").await.unwrap_err().code(), Code::Busy);
    held.pop();
    assert!(admitted(&admission, &limits, "dana", "a").await.is_ok());
    assert_eq!(Arc::strong_count(&admission.in_flight), 2);
}

#[tokio::test]
async fn a_principal_at_its_bound_leaves_places_to_others_and_to_its_name_in_another_tenant() {
    let admission = Admission::new();
    let principal = Allowance::unbounded().with_concurrency(1);
    let tenant = Allowance::unbounded().with_concurrency(2);
    let limits = Limits { principal, tenant, ..Limits::default() };
    let _dana = admitted(&admission, &limits, "dana", "a").await.unwrap();
    assert_eq!(admitted(&admission, &limits, "dana", "a").await.unwrap_err().code(), Code::Busy);
    let _lee = admitted(&admission, &limits, "lee", "a").await.unwrap();
    let refused = admitted(&admission, &limits, "kim", "a").await.unwrap_err();
    assert!(refused.public().contains("tenant"), "{refused}");
    assert!(admitted(&admission, &limits, "dana", "b").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_regained_with_time_and_the_refusal_says_when() {
    let admission = Admission::new();
    let limits = Limits { principal: Allowance::unbounded().with_rate(rate(40, 2)), ..Limits::default() };
    for _ in 0..2 {
        drop(admitted(&admission, &limits, "dana", "a").await.unwrap());
    }
    advance(Duration::from_micros(400)).await;
    let refused = admitted(&admission, &limits, "dana", "a").await.unwrap_err();
    assert_eq!(refused.code(), Code::RateLimited);
    assert_eq!(refused.retry(), Retry::After(Duration::from_millis(1500)), "rounded up");
    assert!(admitted(&admission, &limits, "lee", "a").await.is_ok());
    advance(Duration::from_millis(1500)).await;
    assert!(admitted(&admission, &limits, "dana", "a").await.is_ok());
    assert!(admitted(&admission, &limits, "dana", "a").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_call_refused_for_its_tenant_costs_its_principal_nothing() {
    let admission = Admission::new();
    let rates = |calls, burst| Allowance::unbounded().with_rate(rate(calls, burst));
    let limits = Limits { principal: rates(1, 1), tenant: rates(60, 1), ..Limits::default() };
    assert!(admitted(&admission, &limits, "dana", "a").await.is_ok());
    let refused = admitted(&admission, &limits, "lee", "a").await.unwrap_err();
    assert!(refused.public().contains("tenant"), "{refused}");
    advance(Duration::from_secs(1)).await;
    assert!(admitted(&admission, &limits, "lee", "a").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_changed_limit_counts_at_once_and_what_was_used_still_counts() {
    let admission = Admission::new();
    let limits = |calls, burst| {
        let tenant = Allowance::unbounded().with_rate(rate(calls, burst));
        Limits { tenant, ..Limits::default() }
    };
    for subject in ["dana", "lee"] {
        assert!(admitted(&admission, &limits(60, 2), subject, "a").await.is_ok());
    }
    assert!(admitted(&admission, &limits(60, 2), "kim", "a").await.is_err());
    assert!(admitted(&admission, &limits(60, 3), "kim", "a").await.is_ok(), "a raised burst has one more");
    assert!(admitted(&admission, &limits(60, 1), "kim", "a").await.is_err());
    assert!(admitted(&admission, &limits(60, 1), "kim", "b").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_full_table_refuses_a_new_principal_and_gives_nobody_a_new_allowance() {
    let admission = Admission::new();
    let principal = Allowance::unbounded().with_rate(rate(60, 1));
    let limits = Limits { principal, keys: 1, ..Limits::default() };
    assert!(admitted(&admission, &limits, "dana", "a").await.is_ok());
    assert_eq!(admitted(&admission, &limits, "lee", "a").await.unwrap_err().code(), Code::Busy);
    assert_eq!(admitted(&admission, &limits, "dana", "a").await.unwrap_err().code(), Code::RateLimited);
    advance(Duration::from_secs(1)).await;
    assert!(admitted(&admission, &limits, "lee", "a").await.is_ok());
}
