//! Approvals in a store do what those in memory do, for all instances, and outlive the process.

use std::sync::Arc;

use callgate_adapters::store::approvals::StoreApprovals;
use callgate_core::contract::digest::Digest;
use callgate_core::port::{
    ApprovalBounds, ApprovalRow, ApprovalState, ApprovalVerdict, Approvals, Claimed, Ruled, Timestamp, Used,
};
use callgate_core::receipt::CallId;
use callgate_testkit::approvals::{one_of_many_gets_it, test_approvals};
use tokio::runtime::Runtime;

use crate::ledger::Place;
use crate::store::{Kind, both};

const BOUNDS: ApprovalBounds = ApprovalBounds { of_owner: 7, total: 100 };

fn row(number: u8) -> ApprovalRow {
    let id = CallId::new(u64::from(number), &[number; 10]);
    let owner = Digest::of_bytes(b"owner");
    let mut row = ApprovalRow::new(id, owner, ApprovalState::Pending, Timestamp(1), Timestamp(1000));
    row.binding = Some(Digest::of_bytes(&[number]));
    row.subject = "dana\0".to_owned();
    row.text = "é \"quoted\" \u{202e}".to_owned();
    row
}

both! {
    fn approvals_do_as_the_model(kind: Kind) {
        let place = Place::migrated(kind);
        let make = || -> Arc<dyn Approvals> {
            place.execute("delete from callgate_approval");
            Arc::new(StoreApprovals::new(place.store.clone()))
        };
        test_approvals(if kind == Kind::Sqlite { 96 } else { 48 }, make);
    }

    fn of_many_on_two_instances_one_gets_an_approval_and_bounds_hold(kind: Kind) {
        let place = Place::migrated(kind);
        let runtime = Runtime::new().unwrap();
        runtime.block_on(one_of_many_gets_it(Arc::new(StoreApprovals::new(place.store.clone()))));
        place.execute("delete from callgate_approval");
        let instances = [StoreApprovals::new(place.again()), StoreApprovals::new(place.again())];
        runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for number in 0..40_u8 {
                let instance = instances[usize::from(number % 2)].clone();
                tasks.spawn(async move { instance.claim(row(number), BOUNDS, Timestamp(1)).await.unwrap() });
            }
            let kept = tasks.join_all().await;
            assert_eq!(kept.iter().filter(|claimed| matches!(claimed, Claimed::Pending(_))).count(), 7);
            // One granted approval, claimed on both instances at once.
            let id = instances[0].list(1, Timestamp(1)).await.unwrap()[0].id;
            let granted = ApprovalVerdict::grant("kim", Timestamp(1));
            assert!(matches!(instances[1].rule(id, granted, Timestamp(1)).await.unwrap(), Ruled::Done(_)));
            let number = id.as_bytes()[15];
            let mut tasks = tokio::task::JoinSet::new();
            for at in 0..20_u8 {
                let (instance, mut again) = (instances[usize::from(at % 2)].clone(), row(number));
                again.id = CallId::new(5000, &[at; 10]);
                tasks.spawn(async move { instance.claim(again, BOUNDS, Timestamp(1)).await.unwrap() });
            }
            let claimed = tasks.join_all().await;
            assert_eq!(claimed.iter().filter(|claimed| matches!(claimed, Claimed::Burned(_))).count(), 1);
        });
    }

    fn what_was_granted_and_what_was_used_is_so_in_the_next_process(kind: Kind) {
        let place = Place::migrated(kind);
        Runtime::new().unwrap().block_on(async {
            let first = StoreApprovals::new(place.store.clone());
            let now = Timestamp(1);
            assert!(matches!(first.claim(row(1), BOUNDS, now).await.unwrap(), Claimed::Pending(_)));
            let mut used = row(2);
            (used.binding, used.state) = (None, ApprovalState::Burned);
            assert_eq!(first.use_up(used.clone(), BOUNDS, now).await.unwrap(), Used::First);
            let people = StoreApprovals::new(place.again());
            let granted = ApprovalVerdict::grant("kim", Timestamp(2000));
            let Ruled::Done(ruled) = people.rule(row(1).id, granted, now).await.unwrap() else { panic!("it waits") };
            assert_eq!((ruled.text, ruled.expires), (row(1).text, Timestamp(2000)));
            let next = StoreApprovals::new(place.again());
            assert_eq!(next.use_up(used, BOUNDS, Timestamp(999)).await.unwrap(), Used::Again);
            let mut again = row(1);
            again.id = row(3).id;
            assert!(matches!(next.claim(again.clone(), BOUNDS, Timestamp(1999)).await.unwrap(), Claimed::Burned(_)));
            again.id = row(4).id;
            assert!(matches!(first.claim(again, BOUNDS, now).await.unwrap(), Claimed::Pending(_)), "another one");
        });
    }

    fn without_tables_nothing_is_granted_and_the_reason_is_told(kind: Kind) {
        let place = Place::new(kind);
        let store = StoreApprovals::new(place.store.clone());
        let refusal = Runtime::new().unwrap().block_on(async { store.claim(row(1), BOUNDS, Timestamp(1)).await.unwrap_err() });
        assert_eq!(refusal.code().as_str(), "gate_unavailable");
        assert!(refusal.detail().unwrap().contains("callgate migrate"), "{refusal:?}");
    }
}
