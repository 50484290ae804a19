//! The ports: what the gate needs from the world, one trait a file.
//!
//! An implementation that can answer at once answers with [`Answer::now`], which costs no allocation;
//! one that has to wait boxes a future. No port may decide what another port decides.

mod answer;
mod approvals;
mod artifacts;
mod audit;
mod authenticate;
mod clock;
mod delegate;
mod execute;
mod handles;
mod ledger;
mod peer;
mod policy;
mod query;
mod write;

pub use answer::Answer;
pub use approvals::{
    ApprovalBounds, ApprovalRow, ApprovalState, ApprovalVerdict, Approvals, Claimed, Ruled, Used,
};
pub use artifacts::{ArtifactBounds, ArtifactRow, ArtifactStore, NewArtifact, PIECE_BYTES};
pub use audit::{Audit, IdempotencyDecision, LogAudit, Record, ResultKind};
pub use authenticate::{Authenticate, Authorization, Credentials, LocalIdentity, Transport};
pub use callgate_protocol::logging::LogLevel;
pub use clock::{Clock, Entropy, EntropyError, SystemClock, SystemEntropy, Timestamp};
pub use delegate::{CallerToken, Delegate, Delegated};
pub use execute::{Execute, Execution, Unresolved, Verdict};
pub use handles::{HandleKind, HandleRow, HandleStore, Put, RowBounds};
pub use ledger::{
    Claim, EffectKey, Ending, Ledger, MemoryLedger, MemoryLedgerLimits, NoLedger, Replay, Reservation, Row,
    StoredResult,
};
pub use peer::{Peer, PeerError, SilentPeer};
pub use policy::{Approver, Decision, Policy, Question, UseQuestion, VisibleSet};
pub use query::{
    Advice, Bind, Class, Column, Cut, Fault, Form, KeyValue, NullForm, Prepared, Query, QueryError,
    QuerySource, Rows, SortKey, SourceColumn, SourceError, Statement,
};
pub use write::{Known, Write, WriteError, WriteSource, WriteStep, Written};
