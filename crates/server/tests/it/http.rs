//! Streamable HTTP, proved through real sockets.

mod agreement;
mod bounds;
mod cancellation;
mod doors;
mod fixture;
mod multiplexed;
mod refusals;
mod shutdown;
mod streams;
mod wire;
