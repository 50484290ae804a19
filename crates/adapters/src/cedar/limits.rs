//! The bounds of policies: how many there may be and how much of a call they may look at.
//!
//! Cedar has no loops, so the work of a decision is bounded by these. The loader and the engine read
//! them.

/// Bounds on policies and on what they are given.
///
/// # Defaults
/// | bound | default | why |
/// | --- | --- | --- |
/// | `policies` | 1,000 | each is evaluated for each call that it may concern |
/// | `policy_parts` | 500 | operators, brackets and attributes of one policy, which people must be able to read |
/// | `policy_depth` | 32 | brackets within brackets: what reads policies goes down as deep |
/// | `argument_values` | 1,000 | values of one call that policies see; a larger argument is not expressed |
/// | `argument_bytes` | 64 KiB | text of one call that policies see; `like` is quadratic at worst |
/// | `type_depth` | 8 | deeper arguments are not expressed |
/// | `principals` | 1,024 | callers whose visible tools are kept; the next ones take turns |
/// | `kept_entities` | 262,144 | entities kept for all of them, so that large catalogues keep fewer callers |
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyLimits {
    /// Policies in all files.
    pub policies: usize,
    /// Operators, brackets and attributes of one policy.
    pub policy_parts: usize,
    /// Brackets within brackets of one policy.
    pub policy_depth: usize,
    /// Values of one call's arguments, however nested.
    pub argument_values: usize,
    /// Bytes of texts in one call's arguments.
    pub argument_bytes: usize,
    /// Levels of one argument's type.
    pub type_depth: usize,
    /// Callers about whom something is kept.
    pub principals: usize,
    /// Entities that are kept for them.
    pub kept_entities: usize,
}

impl Default for PolicyLimits {
    fn default() -> Self {
        Self {
            policies: 1000,
            policy_parts: 500,
            policy_depth: 32,
            argument_values: 1000,
            argument_bytes: 64 << 10,
            type_depth: 8,
            principals: 1024,
            kept_entities: 1 << 18,
        }
    }
}
