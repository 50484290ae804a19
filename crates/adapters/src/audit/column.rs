//! The columns of a record, in the order in which they are hashed.
//!
//! The order and the names are version 1 of the format and never change; a new column makes a new
//! version. Writers, readers and the export are made from this list.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A SHA-256 digest.
    Digest,
}

/// A column of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Column {
    /// `call`, or what the trail says about itself: `checkpoint`, `gap`, `refusals`.
    Kind,
    /// When the call came in, in microseconds since 1970.
    Time,
    /// The id that the caller's receipt quotes.
    Call,
    /// The name of the server.
    Server,
    /// Its version.
    ServerVersion,
    /// How the request came in.
    Transport,
    /// Who called.
    Principal,
    /// On whose data.
    Tenant,
    /// The program that acts for the principal.
    Client,
    /// What the credential was issued for.
    Purpose,
    /// The name that was asked for.
    Tool,
    /// The definition of that tool; nothing where none may be seen by that name.
    Contract,
    /// The arguments, by digest.
    Input,
    /// The arguments that the tool names for the trail: the text of one JSON object.
    Arguments,
    /// What the policy decided.
    Decision,
    /// The policies that decided: the text of one JSON array.
    Policies,
    /// The policy in force.
    Policy,
    /// 1 when an approval was used up.
    Approved,
    /// How the call relates to earlier ones.
    Idempotency,
    /// What the caller got.
    Result,
    /// Why the call was refused or failed.
    Code,
    /// What the operator may know of the reason.
    Detail,
    /// What happened in the world.
    Effect,
    /// How long it took, in microseconds.
    Latency,
}

impl Column {
    /// How many there are.
    pub const COUNT: usize = 24;

    /// All columns in the order in which they are hashed.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Kind,
        Self::Time,
        Self::Call,
        Self::Server,
        Self::ServerVersion,
        Self::Transport,
        Self::Principal,
        Self::Tenant,
        Self::Client,
        Self::Purpose,
        Self::Tool,
        Self::Contract,
        Self::Input,
        Self::Arguments,
        Self::Decision,
        Self::Policies,
        Self::Policy,
        Self::Approved,
        Self::Idempotency,
        Self::Result,
        Self::Code,
        Self::Detail,
        Self::Effect,
        Self::Latency,
    ];

    /// The name in stores and exports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Time => "time_us",
            Self::Call => "call",
            Self::Server => "server",
            Self::ServerVersion => "server_version",
            Self::Transport => "transport",
            Self::Principal => "principal",
            Self::Tenant => "tenant",
            Self::Client => "client",
            Self::Purpose => "purpose",
            Self::Tool => "tool",
            Self::Contract => "contract",
            Self::Input => "input",
            Self::Arguments => "arguments",
            Self::Decision => "decision",
            Self::Policies => "policies",
            Self::Policy => "policy",
            Self::Approved => "approved",
            Self::Idempotency => "idempotency",
            Self::Result => "result",
            Self::Code => "code",
            Self::Detail => "detail",
            Self::Effect => "effect",
            Self::Latency => "latency_us",
        }
    }

    /// What it holds.
    #[must_use]
    pub const fn shape(self) -> Shape {
        match self {
            Self::Time | Self::Approved | Self::Latency => Shape::Integer,
            Self::Contract | Self::Input | Self::Policy => Shape::Digest,
            _ => Shape::Text,
        }
    }

    /// The names of all columns, separated by commas.
    pub(super) fn list() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}
