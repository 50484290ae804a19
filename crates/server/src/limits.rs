//! Every bound of the server that no call of a tool knows.
//!
//! A bound that is not named here, in the gate's own limits or in those of a transport does not exist.

use callgate_core::limits::Limits as GateLimits;

/// Bounds of one server.
///
/// # Defaults
/// Each field names its default and the reason for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bounds on each call, whatever the transport.
    pub gate: GateLimits,
    /// Entries on one page of a list. Default: 100; most servers then answer with one page.
    pub page_size: usize,
    /// Open subscriptions in the whole process. Default: 16,384; an idle one costs a few hundred bytes.
    pub subscriptions: usize,
    /// Resources that one subscription may watch. Default and most: 128, what one set of bits holds.
    pub watched_resources: usize,
    /// Bytes of lists of tools that are kept rendered, where callers see different ones. Default: 32 MiB,
    /// hundreds of sets of callers with a hundred tools each; what does not fit is rendered again.
    pub shared_list_bytes: usize,
    /// Values that one completion shows. Default and most: 100, as the specification says.
    pub completion_values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            gate: GateLimits::default(),
            page_size: 100,
            subscriptions: 16_384,
            watched_resources: 128,
            shared_list_bytes: 32 << 20,
            completion_values: 100,
        }
    }
}
