//! Bounds on schemas and on judging values by them.
//!
//! Whatever exceeds a bound is refused, never cut. The configuration sets them; compiler and
//! evaluator obey.

/// Bounds on one schema and on each evaluation of it.
///
/// # Defaults
/// - `bytes`: 256 KiB; the largest tool schemas found in practice are a quarter of that.
/// - `depth`: 100 levels of arrays and objects; a property costs two, so that is about fifty.
/// - `subschemas`: 10,000.
/// - `pattern_bytes`: 4 KiB of source for one pattern.
/// - `pattern_depth`: 64 groups inside each other.
/// - `pattern_program_bytes`: 1 MiB for one compiled pattern; counted repetitions grow fast.
/// - `compile_work`: 4 million steps, some tens of milliseconds.
/// - `evaluate_work`: 4 million steps, so that the worst value of the largest message is judged in
///   some tens of milliseconds.
/// - `evaluate_depth`: 512 subschemas being applied inside each other; an instance of 64 levels may
///   use eight at each.
/// - `violations`: 32, more than a model reads.
/// - `findings`: 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// The longest schema text, in bytes.
    pub bytes: usize,
    /// The deepest nesting of arrays and objects in a schema.
    pub depth: usize,
    /// The largest number of subschemas, those of meta-schemas referred to included.
    pub subschemas: usize,
    /// The longest pattern, in bytes of its source.
    pub pattern_bytes: usize,
    /// The deepest nesting of groups in a pattern.
    pub pattern_depth: usize,
    /// The most memory that one compiled pattern may take, in bytes.
    pub pattern_program_bytes: usize,
    /// The most steps of one compilation.
    pub compile_work: u64,
    /// The most steps of one evaluation, schema and value together.
    pub evaluate_work: u64,
    /// How many subschemas may be applied inside each other.
    pub evaluate_depth: u32,
    /// The most violations reported for one value.
    pub violations: usize,
    /// The most findings reported for one schema.
    pub findings: usize,
}

impl SchemaLimits {
    /// The default bounds, usable in constants.
    pub const DEFAULT: Self = Self {
        bytes: 256 << 10,
        depth: 100,
        subschemas: 10_000,
        pattern_bytes: 4096,
        pattern_depth: 64,
        pattern_program_bytes: 1 << 20,
        compile_work: 4_000_000,
        evaluate_work: 4_000_000,
        evaluate_depth: 512,
        violations: 32,
        findings: 64,
    };
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
