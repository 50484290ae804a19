//! Equality of JSON values: numbers by value, objects without order, strings by character.
//!
//! It must never compare spellings where meanings count, and every comparison is paid for from the
//! caller's budget. `const`, `enum` and `uniqueItems` call it.

use callgate_protocol::json::{Kind, Value};

use super::OverBudget;
use super::evaluate::Budget;
use super::number::small;

/// Whether two values are equal.
pub(super) fn equal(one: Value<'_>, other: Value<'_>, budget: &mut Budget) -> Result<bool, OverBudget> {
    budget.charge(1)?;
    let kind = one.kind();
    if kind != other.kind() {
        return Ok(false);
    }
    match kind {
        Kind::Null => Ok(true),
        Kind::Boolean => Ok(one.raw() == other.raw()),
        Kind::Number => match (small(one.raw_bytes()), small(other.raw_bytes())) {
            (Some(one), Some(other)) => Ok(one == other),
            _ => {
                budget.charge(8)?;
                budget.charge_bytes(one.raw_len() + other.raw_len())?;
                Ok(one.as_number() == other.as_number())
            }
        },
        Kind::String => {
            budget.charge_bytes(one.raw().len().min(other.raw().len()))?;
            Ok(one.raw() == other.raw() || one.as_str() == other.as_str())
        }
        Kind::Array => {
            if one.len() != other.len() {
                return Ok(false);
            }
            budget.descend()?;
            for (left, right) in one.items().zip(other.items()) {
                if !equal(left, right, budget)? {
                    budget.ascend();
                    return Ok(false);
                }
            }
            budget.ascend();
            Ok(true)
        }
        Kind::Object => {
            if one.len() != other.len() {
                return Ok(false);
            }
            budget.descend()?;
            let verdict = equal_members(one, other, budget)?;
            budget.ascend();
            Ok(verdict)
        }
    }
}

fn equal_members(one: Value<'_>, other: Value<'_>, budget: &mut Budget) -> Result<bool, OverBudget> {
    // Names are unique, so objects of one size are equal when each member of one is in the other.
    // Both usually have the same order; the search starts where the last one ended.
    let mut next = other.members();
    for (name, value) in one.members() {
        let text = name.as_str().unwrap_or_default();
        let found = match next.next() {
            Some((near, member)) if near.is_str(&text) => Some(member),
            _ => {
                budget.charge(other.len() as u64)?;
                other.get(&text)
            }
        };
        match found {
            Some(member) if equal(value, member, budget)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Up to this many items are compared pair by pair.
const PAIRWISE_ITEMS: usize = 8;

/// The first item of an array that equals an earlier one.
pub(super) fn repeated<'v>(array: Value<'v>, budget: &mut Budget) -> Result<Option<Value<'v>>, OverBudget> {
    if array.len() <= PAIRWISE_ITEMS {
        for (at, item) in array.parts().enumerate() {
            let print = item.fingerprint();
            for earlier in array.parts().take(at) {
                budget.charge(1)?;
                // Strings that are not the same differ, and so do values of different kinds.
                let differs = earlier.kind() != item.kind()
                    || matches!((earlier.fingerprint(), print), (Some(one), Some(other)) if one != other);
                if !differs && equal(earlier.value(), item.value(), budget)? {
                    return Ok(Some(item.value()));
                }
            }
        }
        return Ok(None);
    }
    // Items with different hashes differ. Whoever crafts equal hashes pays for the pairs in budget.
    let mut hashed = Vec::with_capacity(array.len());
    for item in array.items() {
        hashed.push((hash(item, budget)?, item));
    }
    hashed.sort_unstable_by_key(|(hash, item)| (*hash, item.position()));
    let mut first: Option<Value<'v>> = None;
    for group in hashed.chunk_by(|(one, _), (other, _)| one == other) {
        for (at, &(_, item)) in group.iter().enumerate() {
            for &(_, earlier) in group.iter().take(at) {
                if equal(earlier, item, budget)? {
                    if first.is_none_or(|first| item.position() < first.position()) {
                        first = Some(item);
                    }
                    break;
                }
            }
        }
    }
    Ok(first)
}

/// A hash that equal values share.
fn hash(value: Value<'_>, budget: &mut Budget) -> Result<u64, OverBudget> {
    budget.charge(1)?;
    let kind = value.kind();
    let seed = mix(0x51_7c_c1_b7_27_22_0a_95, kind as u64);
    Ok(match kind {
        Kind::Null => seed,
        Kind::Boolean => mix(seed, u64::from(value.as_bool() == Some(true))),
        Kind::Number => {
            budget.charge_bytes(value.raw().len())?;
            let Some(number) = value.as_number() else { return Ok(seed) };
            let signed = mix(seed, number.scale().unsigned_abs() << 1 | u64::from(number.is_negative()));
            number.digits().fold(signed, |hash, digit| mix(hash, u64::from(digit)))
        }
        Kind::String => {
            budget.charge_bytes(value.raw().len())?;
            let text = value.as_str().unwrap_or_default();
            text.bytes().fold(seed, |hash, byte| mix(hash, u64::from(byte)))
        }
        Kind::Array => {
            budget.descend()?;
            let mut hashed = seed;
            for item in value.items() {
                hashed = mix(hashed, hash(item, budget)?);
            }
            budget.ascend();
            hashed
        }
        Kind::Object => {
            budget.descend()?;
            let mut sum = 0_u64;
            for (name, member) in value.members() {
                // Added up, because the order of members has no meaning.
                sum = sum.wrapping_add(mix(hash(name, budget)?, hash(member, budget)?));
            }
            budget.ascend();
            mix(seed, sum)
        }
    })
}

fn mix(hash: u64, part: u64) -> u64 {
    (hash.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
