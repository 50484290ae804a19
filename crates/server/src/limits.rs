//! Every bound of the server that no call of a tool knows.
//!
//! A bound that is not named here, in the gate's own limits or in those of a transport does not exist.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use callgate_core::limits::Limits as GateLimits;
use callgate_core::rate::Rate;

/// Bounds of one server.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bounds on each call, whatever the transport.
    pub gate: GateLimits,
    /// How often one address may ask over HTTP, before it is known who asks: an address of the fourth version, or a
    /// network of 64 bits of the sixth. Default: 6,000 times a minute, 1,000 of them at once, for an office
    /// behind one address. This machine, and a proxy on it, are not counted.
    pub address: Option<Rate>,
    /// Addresses counted at one time. Default: 65,536. One is forgotten as soon as its allowance is whole; when
    /// there is no such, new ones are refused.
    pub addresses: usize,
    /// Addresses that are not counted, such as a proxy that counts for itself. Default: none.
    pub uncounted_addresses: Vec<IpAddr>,
    /// Entries on one page of a list. Default: 100; most servers then answer with one page.
    pub page_size: usize,
    /// Open subscriptions in the whole process. Default: 16,384; an idle one costs about a kilobyte, and the
    /// credential by which it was opened.
    pub subscriptions: usize,
    /// Open subscriptions of one principal of one tenant. Default: 1,024, a sixteenth of the process, so that one
    /// cannot use it up; a service that acts for many people still has room.
    pub subscriptions_of_principal: usize,
    /// How often it is asked anew whether the credential of a subscription is still good and what it watches may
    /// still be read. Default: each minute; after a reload it is asked at once.
    pub subscription_check: Duration,
    /// Resources that one subscription may watch. Default and most: 128, what one set of bits holds.
    pub watched_resources: usize,
    /// Bytes of lists that are kept rendered, where callers see different ones. Default: 32 MiB,
    /// hundreds of sets of callers with a hundred tools each; what does not fit is rendered again.
    pub shared_list_bytes: usize,
    /// Values that one completion shows. Default and most: 100, as the specification says.
    pub completion_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            gate: GateLimits::default(),
            address: ADDRESS,
            addresses: 65_536,
            uncounted_addresses: Vec::new(),
            page_size: 100,
            subscriptions: 16_384,
            subscriptions_of_principal: 1024,
            subscription_check: Duration::from_secs(60),
            watched_resources: 128,
            shared_list_bytes: 32 << 20,
            completion_values: 100,
        }
    }
}

const ADDRESS: Option<Rate> = match (NonZeroU32::new(6000), NonZeroU32::new(1000)) {
    (Some(often), Some(at_once)) => Some(Rate::per_minute(often, at_once)),
    _ => None,
};
