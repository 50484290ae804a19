//! Floods of refused calls: few records, every refusal accounted for.

use std::time::Duration;

use callgate_adapters::audit::{Column, Filter, Reader, SqliteReader, SqliteStore, Trail};
use callgate_core::port::{Audit, Record, ResultKind, Timestamp};
use callgate_core::principal::Principal;
use callgate_core::refusal::Code;
use callgate_protocol::json::{self, Document};

use super::{call_id, contract, kinds, options, record, verified};
use callgate_core::contract::Effect;

/// Refuses so many calls of a caller.
pub(super) async fn refuse(trail: &Trail, principal: Option<&Principal>, code: Code, count: u64) {
    for number in 0..count {
        let id = call_id(1_700_000_000_000, number);
        let mut refused = Record::new(id, Timestamp(1_700_000_000_000_000), "anything", ResultKind::Refused);
        refused.principal = principal;
        refused.code = Some(code);
        trail.record(&refused).await.unwrap();
    }
}

/// How many refusals have records of their own, and how many are counted in records.
pub(super) fn accounted(reader: &mut dyn Reader) -> (u64, u64) {
    let (mut own, mut counted) = (0, 0);
    for row in reader.after(0, &Filter::default(), 100_000).unwrap() {
        match row.body.text(Column::Kind) {
            Some("refusals") => {
                let detail = row.body.text(Column::Detail).unwrap().to_owned();
                let detail = Document::parse(detail, &json::Limits::DEFAULT).unwrap();
                counted += u64::try_from(detail.root().get("refused").unwrap().as_i64().unwrap()).unwrap();
            }
            Some("call") if row.body.text(Column::Result) == Some("refused") => own += 1,
            _ => {}
        }
    }
    (own, counted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_refusals_leaves_few_records_and_every_refusal_is_accounted_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let trail = Trail::start(SqliteStore::new(&path), options()).unwrap();
    let dana = Principal::new("dana").with_tenant("tenant-a");
    refuse(&trail, None, Code::Unauthenticated, 3000).await;
    refuse(&trail, Some(&dana), Code::RateLimited, 3000).await;
    // Calls that ran are written among them.
    for number in 0..5 {
        record(&trail, &contract(Effect::Read), number).await.unwrap();
    }
    drop(trail);
    let mut reader = SqliteReader::open(&path).unwrap();
    let (own, counted) = accounted(&mut reader);
    assert_eq!(own + counted, 6000);
    assert!((40..400).contains(&own), "{own}");
    let answered = Filter::default();
    let all = reader.after(0, &answered, 100_000).unwrap();
    assert_eq!(all.iter().filter(|row| row.body.text(Column::Result) == Some("complete")).count(), 5);
    assert!(all.len() < 450, "{} records", all.len());
    let mut limited = Filter::default();
    limited.code = Some("rate_limited".to_owned());
    limited.principal = Some("dana".to_owned());
    let rows = reader.newest(&limited, 1).unwrap();
    assert_eq!(rows[0].body.text(Column::Kind), Some("refusals"), "the counts are found by who and why");
    assert_eq!(rows[0].body.text(Column::Tenant), Some("tenant-a"));
    assert_eq!(kinds(&verified(&path, &[])), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_written_in_their_time_while_the_trail_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut options = options();
    options.limits.refusals_of_caller = 0;
    options.limits.refusals_every = Duration::from_millis(50);
    let trail = Trail::start(SqliteStore::new(&path), options).unwrap();
    refuse(&trail, None, Code::Unauthenticated, 7).await;
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while accounted(&mut SqliteReader::open(&path).unwrap()) != (0, 7) {
        assert!(std::time::Instant::now() < deadline, "the counts were not written");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Rows of a file into which somebody with the right to write has put a checkpoint.
#[test]
fn a_forged_checkpoint_is_not_obeyed_and_not_forgotten_for_a_later_true_one() {
    use callgate_adapters::audit::{
        Body, BreakKind, Pruned, Retention, Store as _, Value, judge_removal, verify,
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut options = options();
    options.retention_days = Some(7);
    let mut store = super::filled(&path, 20, &options);
    let now_us = 1_700_000_000_000_000 + 86_400_000_000;
    let hash = SqliteReader::open(&path).unwrap().after(9, &Filter::default(), 1).unwrap()[0].hash;
    let mut forged = Body::new("checkpoint", now_us);
    let detail =
        format!(r#"{{"through":10,"hash":"{hash}","removed":10,"until_us":{}}}"#, now_us - 1_000_000);
    forged.set(Column::Detail, Value::Text(detail));
    store.append(&[&forged], &options).unwrap();
    assert_eq!(store.prune(now_us, &options).unwrap(), Pruned::Done, "the records are a day old");
    let mut reader = SqliteReader::open(&path).unwrap();
    assert_eq!(reader.after(0, &Filter::default(), 1).unwrap()[0].seq, 1, "nothing is gone");
    // Six and a half days later the records may go, the forged checkpoint stays, and the true one comes behind it.
    let later = now_us + 13 * 43_200_000_000;
    while store.prune(later, &options).unwrap() == Pruned::More {}
    let mut reader = SqliteReader::open(&path).unwrap();
    let mut found = verify(&mut reader, &[], 100).unwrap();
    assert_eq!(kinds(&found), [], "the chain itself is whole");
    judge_removal(&mut found, Retention::new(Some(7), None), &[], later);
    let told: Vec<_> = found.breaks.iter().map(|one| (one.seq, one.kind)).collect();
    assert_eq!(told, [(Some(21), BreakKind::Checkpoint)], "{found:?}");
    assert!(found.removed.unwrap().seq > 21);
}
