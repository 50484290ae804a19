//! Stores in the memory of the process, for one instance and for what need not survive it.
//!
//! They keep the same promises as the stores of the adapters and pass the same tests. They must never push
//! out what is still good. Servers without a configured store use them.

mod approvals;
mod artifacts;
mod handles;

pub use approvals::MemoryApprovals;
pub use artifacts::MemoryArtifacts;
pub use handles::MemoryHandles;
