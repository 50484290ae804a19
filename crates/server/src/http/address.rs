//! How often one address may ask, before anything is known of who it is.
//!
//! It is coarse on purpose: it keeps one host from making the server check credentials and read bodies all day,
//! and nothing more. It must never look at what was asked. The service calls it after the doors.

use std::net::IpAddr;
use std::time::Duration;

use callgate_core::rate::Keys;

use crate::limits::Limits;

/// What each address has used up. It outlives every snapshot.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    keys: Keys,
}

/// How long to wait where the table is full: somebody's allowance is whole again long before.
const FULL: Duration = Duration::from_secs(1);

impl Addresses {
    /// Counts a request of an address, or says how long it has to wait.
    pub(super) fn take(&self, limits: &Limits, address: IpAddr) -> Result<(), Duration> {
        let Some(rate) = limits.address else { return Ok(()) };
        let address = address.to_canonical();
        if limits.uncounted_addresses.contains(&address) {
            return Ok(());
        }
        let now = self.keys.now();
        let key = self.keys.key(network(address));
        self.keys.slot(key, now, limits.addresses).ok_or(FULL)?.take(rate, now)
    }
}

/// What one customer of a network usually has: an address, or the half of an address of the sixth version that
/// routing knows, since the other half is his to choose.
fn network(address: IpAddr) -> (u8, u64) {
    match address {
        IpAddr::V4(address) => (4, u64::from(u32::from(address))),
        IpAddr::V6(address) => {
            let half = u128::from(address) >> 64;
            (6, u64::try_from(half).unwrap_or(u64::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use callgate_core::rate::Rate;
    use tokio::time::advance;

    use super::*;

    fn limits(burst: u32) -> Limits {
        let sixty = Rate::per_minute(NonZeroU32::new(60).unwrap(), NonZeroU32::new(burst).unwrap());
        Limits { address: Some(sixty), addresses: 3, ..Limits::default() }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_refused_past_its_burst_and_told_when_to_come_back() {
        let (addresses, limits) = (Addresses::default(), limits(2));
        for _ in 0..2 {
            assert_eq!(addresses.take(&limits, ip("192.0.2.1")), Ok(()));
        }
        assert_eq!(addresses.take(&limits, ip("::ffff:192.0.2.1")), Err(Duration::from_secs(1)));
        assert_eq!(addresses.take(&limits, ip("192.0.2.2")), Ok(()));
        advance(Duration::from_secs(1)).await;
        assert_eq!(addresses.take(&limits, ip("192.0.2.1")), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_of_the_sixth_version_counts_as_one() {
        let (addresses, limits) = (Addresses::default(), limits(1));
        assert_eq!(addresses.take(&limits, ip("2001:db8:1:2::1")), Ok(()));
        assert!(addresses.take(&limits, ip("2001:db8:1:2:ffff:ffff:ffff:ffff")).is_err());
        assert_eq!(addresses.take(&limits, ip("2001:db8:1:3::1")), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_table_refuses_new_addresses_until_one_is_whole() {
        let (addresses, limits) = (Addresses::default(), limits(1));
        for last in 1..=3 {
            assert_eq!(addresses.take(&limits, ip(&format!("192.0.2.{last}"))), Ok(()));
        }
        assert_eq!(addresses.take(&limits, ip("192.0.2.4")), Err(FULL));
        assert!(addresses.take(&limits, ip("192.0.2.1")).is_err(), "new addresses push nobody out");
        advance(Duration::from_secs(1)).await;
        assert_eq!(addresses.take(&limits, ip("192.0.2.4")), Ok(()));
    }

    #[test]
    fn what_is_exempt_or_not_limited_is_not_counted() {
        let (addresses, mut limits) = (Addresses::default(), limits(1));
        limits.uncounted_addresses = vec![ip("192.0.2.1")];
        for _ in 0..3 {
            assert_eq!(addresses.take(&limits, ip("192.0.2.1")), Ok(()));
        }
        limits.address = None;
        for _ in 0..3 {
            assert_eq!(addresses.take(&limits, ip("192.0.2.2")), Ok(()));
        }
    }
}
