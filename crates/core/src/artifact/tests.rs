use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::{Body, Part};
use crate::contract::digest::Digest;
use crate::keeping::{Keeping, Stores};
use crate::limits::Limits;
use crate::port::{Clock, PIECE_BYTES, SystemEntropy, Timestamp};
use crate::principal::Principal;
use crate::refusal::Code;

#[derive(Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

struct Desk {
    stores: Stores,
    limits: Limits,
    clock: SetClock,
    entropy: SystemEntropy,
}

impl Desk {
    fn new(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::default();
        change(&mut limits);
        Self {
            stores: Stores::in_memory(),
            limits,
            clock: SetClock::default(),
            entropy: SystemEntropy::default(),
        }
    }

    fn keeping(&self) -> Keeping<'_> {
        Keeping::new(&self.stores, &self.limits, &self.clock, &self.entropy)
    }

    async fn keep(&self, principal: &Principal, media_type: &str, bytes: &[u8]) -> Result<String, Code> {
        let artifacts = self.keeping().artifacts(principal);
        let mut writer = artifacts.begin("a.txt", media_type).await.map_err(|refusal| refusal.code())?;
        // Steps that fit no piece.
        for part in bytes.chunks(10_007) {
            writer.write(part).await.map_err(|refusal| refusal.code())?;
        }
        let link = writer.finish(None).await.map_err(|refusal| refusal.code())?;
        assert_eq!((link.bytes, link.digest), (bytes.len() as u64, Digest::of_bytes(bytes)));
        Ok(link.uri)
    }

    async fn read(&self, principal: &Principal, uri: &str) -> Option<Part> {
        self.keeping().artifacts(principal).read(uri).await.unwrap()
    }

    /// All parts, one after the other.
    async fn all(&self, principal: &Principal, uri: &str) -> (Vec<u8>, usize) {
        let (mut bytes, mut parts) = (Vec::new(), 0);
        let mut next = Some(uri.to_owned());
        while let Some(uri) = next {
            let part = self.read(principal, &uri).await.unwrap();
            assert_eq!(part.offset, bytes.len() as u64);
            match part.body {
                Body::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                Body::Bytes(more) => bytes.extend_from_slice(&more),
            }
            parts += 1;
            next = part.next;
        }
        (bytes, parts)
    }
}

fn dana() -> Principal {
    Principal::new("dana").with_tenant("tenant-a")
}

#[tokio::test]
async fn the_parts_of_an_artifact_are_the_artifact_whatever_their_length() {
    let desk = Desk::new(|limits| limits.artifact_part_bytes = 100_000);
    let lines: String = (0..20_000).map(|line| format!("line {line} é\r\n")).collect();
    let one_line = "é".repeat(PIECE_BYTES);
    for (media_type, bytes) in [
        ("text/csv", lines.as_bytes()),
        ("text/plain", one_line.as_bytes()),
        ("application/pdf", lines.as_bytes()),
        // A type that says text, and bytes that are none.
        ("text/plain", &[0xff; 3 * PIECE_BYTES][..]),
        ("text/plain", b""),
        ("text/plain", &lines.as_bytes()[..PIECE_BYTES]),
    ] {
        let uri = desk.keep(&dana(), media_type, bytes).await.unwrap();
        for query in ["", "?length=65536", "?length=1000000"] {
            let (read, parts) = desk.all(&dana(), &format!("{uri}{query}")).await;
            assert!(read == bytes, "{media_type} {query}");
            assert!(parts >= bytes.len().div_ceil(100_000), "{media_type} {query}: {parts}");
        }
    }
    let uri = desk.keep(&dana(), "text/plain", "aé\nb".as_bytes()).await.unwrap();
    for length in 1..=5 {
        assert_eq!(desk.all(&dana(), &format!("{uri}?length={length}")).await.0, "aé\nb".as_bytes());
    }
    let part = desk.read(&dana(), &format!("{uri}?length=4")).await.unwrap();
    assert_eq!(part.body, Body::Text("aé\n".to_owned()), "a part ends at the end of a line");
    let part = desk.read(&dana(), &format!("{uri}?length=3")).await.unwrap();
    assert_eq!(part.body, Body::Text("aé".to_owned()));
    let part = desk.read(&dana(), &format!("{uri}?offset=5")).await.unwrap();
    assert!(part.body.is_empty() && part.next.is_none());
    let behind = desk.keeping().artifacts(&dana()).read(&format!("{uri}?offset=6")).await;
    assert_eq!(behind.unwrap_err().code(), Code::MalformedCall);
}

#[tokio::test]
async fn only_its_principal_in_its_tenant_reads_an_artifact_and_only_until_it_expires() {
    let desk = Desk::new(|_| {});
    let uri = desk.keep(&dana(), "text/plain", b"x").await.unwrap();
    assert!(desk.read(&dana(), &uri).await.is_some());
    for other in [
        Principal::new("dana"),
        Principal::new("dana").with_tenant("tenant-b"),
        Principal::new("eve").with_tenant("tenant-a"),
        Principal::new("dana").with_tenant(""),
    ] {
        assert_eq!(desk.read(&other, &uri).await, None, "{other:?}");
        assert_eq!(desk.read(&other, &format!("{uri}?offset=9")).await, None, "{other:?}");
    }
    let mut forged = uri.clone().into_bytes();
    let last = forged.last_mut().unwrap();
    *last = if *last == b'0' { b'1' } else { b'0' };
    assert_eq!(desk.read(&dana(), &String::from_utf8(forged).unwrap()).await, None);
    let day = 86_400_000_000;
    desk.clock.0.store(day - 1, Ordering::Relaxed);
    assert!(desk.read(&dana(), &uri).await.is_some());
    desk.clock.0.store(day, Ordering::Relaxed);
    assert_eq!(desk.read(&dana(), &uri).await, None);
}

#[tokio::test]
async fn bounds_hold_at_the_byte_and_nothing_is_pushed_out() {
    let desk = Desk::new(|limits| {
        limits.artifact_bytes = 100;
        limits.artifacts_of_principal = 3;
        limits.artifact_bytes_of_principal = 250;
        limits.artifact_bytes_total = 300;
    });
    let eve = Principal::new("eve");
    assert_eq!(desk.keep(&dana(), "text/plain", &[b'x'; 101]).await, Err(Code::OutputTooLarge));
    let first = desk.keep(&dana(), "text/plain", &[b'x'; 100]).await.unwrap();
    desk.keep(&dana(), "text/plain", &[b'x'; 100]).await.unwrap();
    assert_eq!(desk.keep(&dana(), "text/plain", &[b'x'; 51]).await, Err(Code::StoreFull));
    desk.keep(&dana(), "text/plain", &[b'x'; 49]).await.unwrap();
    assert_eq!(desk.keep(&dana(), "text/plain", b"").await, Err(Code::StoreFull), "a fourth one");
    assert_eq!(desk.keep(&eve, "text/plain", &[b'x'; 52]).await, Err(Code::StoreFull));
    desk.keep(&eve, "text/plain", &[b'x'; 51]).await.unwrap();
    assert!(desk.read(&dana(), &first).await.is_some());
    desk.clock.0.store(86_400_000_000, Ordering::Relaxed);
    desk.keep(&dana(), "text/plain", &[b'x'; 100]).await.unwrap();
}

#[tokio::test]
async fn an_artifact_that_is_not_finished_cannot_be_read_and_goes_away() {
    let desk = Desk::new(|limits| limits.artifacts_of_principal = 1);
    let dana = dana();
    let artifacts = desk.keeping().artifacts(&dana);
    let mut writer = artifacts.begin("../a\u{202e}\n.txt", "text/plain").await.unwrap();
    writer.write(b"x").await.unwrap();
    assert_eq!(desk.keep(&dana, "text/plain", b"x").await, Err(Code::StoreFull));
    // Past the longest call and a minute, whoever wrote it is gone.
    desk.clock.0.store(660_000_000, Ordering::Relaxed);
    assert_eq!(writer.finish(None).await.unwrap_err().code(), Code::GateUnavailable);
    let writer = artifacts.begin("../a\u{202e}\n.txt", "text/plain").await.unwrap();
    let link = writer.finish(Some(Duration::from_secs(1))).await.unwrap();
    assert_eq!((link.name.as_str(), link.expires), ("..a.txt", Timestamp(661_000_000)));
}
