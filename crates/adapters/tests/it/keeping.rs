//! Handles and artifacts in a store do what those in memory do, and outlive the process.

use std::sync::Arc;

use callgate_adapters::store::artifacts::StoreArtifacts;
use callgate_adapters::store::handles::StoreHandles;
use callgate_adapters::store::{Crash, Faults, Statement};
use callgate_core::contract::digest::Digest;
use callgate_core::keeping::Stores;
use callgate_core::port::{HandleKind, HandleRow, HandleStore as _, Put, RowBounds, Timestamp};
use callgate_testkit::stores::{
    artifacts_are_kept_as_written, bounds_hold_under_load, one_of_many_is_first, test_handles,
};
use tokio::runtime::Runtime;

use crate::ledger::Place;
use crate::store::{Kind, both};

/// The same for each piece of work.
struct Always(Crash);

impl Faults for Always {
    fn next(&self, _: &[Statement]) -> Crash {
        self.0
    }
}

fn row(number: u8) -> HandleRow {
    HandleRow {
        kind: HandleKind::Handle,
        key: Digest::of_bytes(&[number]),
        owner: Digest::of_bytes(b"owner"),
        scope: Digest::of_bytes(b"scope"),
        expires: Timestamp(1000),
        payload: vec![0, number, 255],
    }
}

both! {
    fn handles_do_as_the_model(kind: Kind) {
        let place = Place::migrated(kind);
        let make = || {
            place.execute("delete from callgate_handle");
            let (handles, artifacts) = (StoreHandles::new(place.store.clone()), StoreArtifacts::new(place.store.clone()));
            Stores::new(Arc::new(handles), Arc::new(artifacts))
        };
        test_handles(if kind == Kind::Sqlite { 96 } else { 48 }, make);
    }

    fn of_many_one_is_first_and_bounds_hold_over_two_instances(kind: Kind) {
        let place = Place::migrated(kind);
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            one_of_many_is_first(Arc::new(StoreHandles::new(place.store.clone())), Digest::of_bytes(b"key")).await;
            bounds_hold_under_load(Arc::new(StoreHandles::new(place.store.clone()))).await;
        });
        place.execute("delete from callgate_handle");
        let instances = [StoreHandles::new(place.again()), StoreHandles::new(place.again())];
        let kept = runtime.block_on(async {
            let put = (0..40_u8).map(|number| {
                let instance = instances[usize::from(number % 2)].clone();
                let bounds = RowBounds { of_owner: 7, total: 100 };
                tokio::spawn(async move { instance.put(row(number), bounds, Timestamp(1)).await.unwrap() })
            });
            let mut kept = 0;
            for put in put.collect::<Vec<_>>() {
                kept += usize::from(put.await.unwrap() == Put::Kept);
            }
            kept
        });
        assert_eq!(kept, 7);
    }

    fn artifacts_are_kept_as_they_are_written(kind: Kind) {
        let place = Place::migrated(kind);
        let artifacts = StoreArtifacts::new(place.store.clone());
        Runtime::new().unwrap().block_on(artifacts_are_kept_as_written(Arc::new(artifacts)));
        let left = place.store.run_blocking(vec![Statement::new("select count(*) from callgate_piece")]).unwrap();
        assert_eq!(left[0][0].integer(0), Some(0), "no piece is left of what is gone");
    }

    fn what_was_given_out_is_good_in_the_next_process_and_no_text_of_it_is_stored(kind: Kind) {
        let place = Place::migrated(kind);
        let runtime = Runtime::new().unwrap();
        let bounds = RowBounds { of_owner: 7, total: 100 };
        runtime.block_on(async {
            let first = StoreHandles::new(place.store.clone());
            assert_eq!(first.put(row(1), bounds, Timestamp(1)).await.unwrap(), Put::Kept);
            let next = StoreHandles::new(place.again());
            let found = next.get(HandleKind::Handle, row(1).key, Timestamp(999)).await.unwrap();
            assert_eq!(found, Some(row(1)));
            assert!(next.remove(HandleKind::Handle, row(1).key, row(1).scope, Timestamp(999)).await.unwrap());
            assert_eq!(first.get(HandleKind::Handle, row(1).key, Timestamp(999)).await.unwrap(), None);
        });
    }

    fn a_use_whose_answer_is_lost_counts_as_used_and_one_that_never_came_does_not(kind: Kind) {
        let place = Place::migrated(kind);
        let bounds = RowBounds { of_owner: 7, total: 100 };
        let spent = |number| HandleRow { kind: HandleKind::Spent, ..row(number) };
        let sound = StoreHandles::new(place.store.clone());
        Runtime::new().unwrap().block_on(async {
            for (number, crash, then) in [(1, Crash::Before, Put::Kept), (2, Crash::After, Put::Taken)] {
                let faulty = StoreHandles::new(place.store.with_faults(Arc::new(Always(crash))));
                let refusal = faulty.put(spent(number), bounds, Timestamp(1)).await.unwrap_err();
                assert_eq!(refusal.code().as_str(), "gate_unavailable");
                assert_eq!(sound.put(spent(number), bounds, Timestamp(1)).await.unwrap(), then, "{crash:?}");
            }
        });
    }

    fn without_tables_nothing_is_kept_and_the_reason_is_told(kind: Kind) {
        let place = Place::new(kind);
        let handles = StoreHandles::new(place.store.clone());
        let bounds = RowBounds { of_owner: 7, total: 100 };
        let refusal = Runtime::new().unwrap().block_on(async { handles.put(row(1), bounds, Timestamp(1)).await.unwrap_err() });
        assert_eq!(refusal.code().as_str(), "gate_unavailable");
        assert!(refusal.detail().unwrap().contains("callgate migrate"), "{refusal:?}");
    }
}
