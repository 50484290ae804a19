//! The ledger of effects.
//!
//! A read reserves nothing. Whatever changes something is refused until a ledger is configured,
//! because nobody could say later whether it happened.

use super::Answer;
use crate::contract::Contract;
use crate::contract::digest::InputDigest;
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// A row of the ledger that this call owns.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reservation {
    /// A read: there is no row.
    NotNeeded,
}

/// Records effects before they are attempted.
pub trait Ledger: Send + Sync {
    /// Reserves the effect of one call.
    ///
    /// Not cancel safe: a row that was written stays.
    fn reserve<'a>(
        &'a self,
        principal: &'a Principal,
        contract: &'a Contract,
        input: InputDigest,
    ) -> Answer<'a, Result<Reservation, Refusal>>;
}

/// No ledger is configured: reads pass, effects are refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLedger;

impl Ledger for NoLedger {
    fn reserve<'a>(
        &'a self,
        _principal: &'a Principal,
        contract: &'a Contract,
        _input: InputDigest,
    ) -> Answer<'a, Result<Reservation, Refusal>> {
        Answer::now(if contract.effect().changes_something() {
            Err(Refusal::new(
                Code::LedgerRequired,
                "this tool changes something, and no ledger is configured",
            ))
        } else {
            Ok(Reservation::NotNeeded)
        })
    }
}
