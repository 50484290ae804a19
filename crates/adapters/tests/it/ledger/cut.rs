//! Connections to PostgreSQL that are cut again and again while two instances carry out effects.

use std::sync::Mutex;

use super::stores::{limits, schema};
use super::*;

/// Effects that are carried out.
const EFFECTS: u8 = 12;
/// Calls for each.
const CALLS: u64 = 6;

fn look_at(of: u8) -> Statement {
    Statement::new("select state, call, owner, claimed_us from callgate_effect where key = $1")
        .bind(key(of).0)
}

/// Calls until the outcome is there; says whose effect it is.
async fn until_told(
    ledger: StoreLedger,
    of: u8,
    number: u64,
    effects: Arc<Mutex<BTreeMap<u8, u64>>>,
) -> CallId {
    let contract = contract();
    let principal = Principal::new("dana").with_tenant("tenant-a");
    for attempt in 0..2000_u64 {
        let call = call(u64::from(of) * 1_000_000 + number * 10_000 + attempt);
        let deadline = Instant::now() + Duration::from_secs(10);
        let row = Row::new(key(of), call);
        let input = InputDigest(Digest::of_bytes(b"input"));
        let claim = Claim::new(row, input, &principal, &contract, RETENTION, deadline);
        match ledger.reserve(claim).await {
            Ok(Reservation::Owned) => {
                *effects.lock().unwrap().entry(of).or_default() += 1;
                // Where it cannot be written now, the ledger goes on trying.
                let _ = ledger.settle(row, Ending::Committed(None)).await;
            }
            Ok(Reservation::Replayed(replay)) => return replay.call,
            Ok(Reservation::InFlight(_)) | Err(_) => ledger.changed(key(of)).await,
            Ok(other) => panic!("{other:?}"),
        }
    }
    panic!("the effect {of} was never told: {:?}", ledger.store().one(look_at(of)).await)
}

#[test]
fn effects_happen_once_while_connections_are_cut_and_all_callers_get_the_same_answer() {
    let runtime = Runtime::new().unwrap();
    let name = format!("cut_{}", std::process::id());
    let url = format!("{}&application_name={name}", schema());
    let options = || {
        let mut options = Options::default();
        options.answer = Duration::from_secs(10);
        options
    };
    let store = Store::postgres(&url, options()).unwrap();
    migrate(&store).unwrap();
    let mut limits = limits();
    limits.count_after = Duration::from_secs(3600);
    let ledgers: Vec<StoreLedger> = (0..2)
        .map(|_| {
            StoreLedger::start(Store::postgres(&url, options()).unwrap(), limits.clone(), "test").unwrap()
        })
        .collect();
    let effects: Arc<Mutex<BTreeMap<u8, u64>>> = Arc::default();
    runtime.block_on(async {
        let cutter = tokio::spawn(async move {
            let admin = crate::store::admin().await;
            let sql = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1";
            let mut cuts = 0;
            for round in 0..60_u64 {
                cuts += admin.execute(sql, &[&name]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(10 + round * 7 % 60)).await;
            }
            cuts
        });
        let mut asked = Vec::new();
        for of in 0..EFFECTS {
            for number in 0..CALLS {
                let ledger = ledgers[usize::try_from(number % 2).unwrap()].clone();
                asked.push((of, tokio::spawn(until_told(ledger, of, number, Arc::clone(&effects)))));
            }
        }
        let mut owners: BTreeMap<u8, CallId> = BTreeMap::new();
        for (of, asked) in asked {
            let told = asked.await.unwrap();
            assert_eq!(*owners.entry(of).or_insert(told), told, "{of}: two answers");
        }
        assert!(cutter.await.unwrap() > 50, "hardly a connection was cut");
    });
    let effects = effects.lock().unwrap();
    assert_eq!(effects.len(), usize::from(EFFECTS));
    assert!(effects.values().all(|count| *count == 1), "{effects:?}");
}
