use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Binding, KeyRing, OpenError};
use crate::contract::digest::{ContractDigest, Digest};
use crate::port::{Clock, SystemEntropy, Timestamp};
use crate::principal::Principal;

struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

fn binding(principal: &Principal) -> Binding<'_> {
    Binding { purpose: "state", principal, subject: "invoice_list", contract: None, input: None }
}

#[test]
fn a_seal_opens_only_for_its_binding_key_and_lifetime() {
    let clock = SetClock(AtomicI64::new(1_000_000));
    let entropy = SystemEntropy::default();
    let ring = KeyRing::new([(7, [1; 32]), (6, [2; 32])]);
    let dana = Principal::new("dana").with_tenant("tenant-a");
    let lifetime = Duration::from_secs(1);
    let sealed = ring.seal(&binding(&dana), b"round 1", lifetime, &clock, &entropy).unwrap();
    assert_eq!(ring.open(&binding(&dana), &sealed, &clock), Ok(b"round 1".to_vec()));

    let rotated = KeyRing::new([(8, [3; 32]), (7, [1; 32])]);
    assert_eq!(rotated.open(&binding(&dana), &sealed, &clock), Ok(b"round 1".to_vec()));

    let others = [
        Principal::new("dana"),
        Principal::new("dana").with_tenant(""),
        Principal::new("dana").with_tenant("tenant-b"),
        Principal::new("dan").with_tenant("atenant-a"),
    ];
    for other in &others {
        assert_eq!(ring.open(&binding(other), &sealed, &clock), Err(OpenError), "{other:?}");
    }
    let cursor = Binding { purpose: "cursor", ..binding(&dana) };
    assert_eq!(ring.open(&cursor, &sealed, &clock), Err(OpenError));
    let other_tool = Binding { subject: "invoice_lis", ..binding(&dana) };
    assert_eq!(ring.open(&other_tool, &sealed, &clock), Err(OpenError));
    assert_eq!(KeyRing::new([(7, [9; 32])]).open(&binding(&dana), &sealed, &clock), Err(OpenError));
    assert_eq!(KeyRing::new([]).open(&binding(&dana), &sealed, &clock), Err(OpenError));

    clock.0.store(1_999_999, Ordering::Relaxed);
    assert!(ring.open(&binding(&dana), &sealed, &clock).is_ok());
    clock.0.store(2_000_000, Ordering::Relaxed);
    assert_eq!(ring.open(&binding(&dana), &sealed, &clock), Err(OpenError));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let clock = SetClock(AtomicI64::new(0));
    let ring = KeyRing::new([(1, [1; 32]), (0, [2; 32])]);
    let dana = Principal::new("dana");
    let lifetime = Duration::from_secs(60);
    let sealed = ring.seal(&binding(&dana), b"round 1", lifetime, &clock, &SystemEntropy::default()).unwrap();
    let envelope = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
    for bit in 0..envelope.len() * 8 {
        let mut changed = envelope.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = URL_SAFE_NO_PAD.encode(changed);
        assert_eq!(ring.open(&binding(&dana), &changed, &clock), Err(OpenError), "bit {bit}");
    }
}

#[test]
fn a_seal_for_one_definition_and_input_opens_for_no_other() {
    let clock = SetClock(AtomicI64::new(0));
    let ring = KeyRing::new([(1, [1; 32])]);
    let dana = Principal::new("dana");
    let digest = |text: &str| Digest::of_bytes(text.as_bytes());
    let made = Binding {
        contract: Some(ContractDigest(digest("contract"))),
        input: Some(digest("input")),
        ..binding(&dana)
    };
    let lifetime = Duration::from_secs(60);
    let sealed = ring.seal(&made, b"x", lifetime, &clock, &SystemEntropy::default()).unwrap();
    assert_eq!(ring.open(&made, &sealed, &clock), Ok(b"x".to_vec()));
    let others = [
        Binding { contract: Some(ContractDigest(digest("other"))), ..made },
        Binding { contract: None, ..made },
        Binding { input: Some(digest("other")), ..made },
        Binding { input: None, ..made },
        Binding { contract: Some(ContractDigest(digest("input"))), input: Some(digest("contract")), ..made },
    ];
    for other in others {
        assert_eq!(ring.open(&other, &sealed, &clock), Err(OpenError), "{other:?}");
    }
}

#[test]
fn a_ring_keeps_eight_keys_and_not_a_ninth() {
    let clock = SetClock(AtomicI64::new(0));
    let dana = Principal::new("dana");
    let keys: Vec<(u32, [u8; 32])> = (0..9_u8).map(|id| (u32::from(id), [id; 32])).collect();
    let whole = KeyRing::new(keys.clone());
    for (id, key) in keys {
        let ring = KeyRing::new([(id, key)]);
        let lifetime = Duration::from_secs(60);
        let sealed = ring.seal(&binding(&dana), b"x", lifetime, &clock, &SystemEntropy::default()).unwrap();
        assert_eq!(whole.open(&binding(&dana), &sealed, &clock).is_ok(), id < 8, "{id}");
    }
}

#[test]
fn every_changed_character_is_noticed() {
    let clock = SetClock(AtomicI64::new(0));
    let ring = KeyRing::new([(1, [1; 32])]);
    let dana = Principal::new("dana");
    let sealed =
        ring.seal(&binding(&dana), b"x", Duration::from_secs(60), &clock, &SystemEntropy::default()).unwrap();
    for at in 0..sealed.len() {
        let mut changed = sealed.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(ring.open(&binding(&dana), &changed, &clock), Err(OpenError), "at {at}");
    }
    for foreign in ["", "A", "====", "not base64 at all", &sealed[..sealed.len() - 1], &format!("{sealed}A")]
    {
        assert_eq!(ring.open(&binding(&dana), foreign, &clock), Err(OpenError));
    }
}
