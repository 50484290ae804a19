//! `[artifacts]`: how much is kept of results that are too large for a message, and how long.
//!
//! The loader reads it; the build step puts it into the limits of the gate.

use schemars::JsonSchema;

use super::finding::Finding;
use super::located::Located;
use super::reader::Table;

/// How much is kept of results that leave as a link. What has no room is refused; nothing is pushed out before
/// its time.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ArtifactsTable {
    /// How many bytes one may have. Default: 16,777,216.
    #[schemars(range(min = 1_024, max = 1_073_741_824))]
    pub max_bytes: Option<Located<u64>>,
    /// How many bytes those of one caller may have together. Default: 67,108,864.
    #[schemars(range(min = 1_024, max = 1_099_511_627_776_u64))]
    pub principal_bytes: Option<Located<u64>>,
    /// How many bytes all of them may have. Default: 268,435,456, which without a store are memory.
    #[schemars(range(min = 1_024, max = 1_099_511_627_776_u64))]
    pub total_bytes: Option<Located<u64>>,
    /// How many one caller may have. Default: 1,000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub principal_count: Option<Located<u64>>,
    /// How long one can be read, in seconds. Default: 86,400, a day.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub lifetime_s: Option<Located<u64>>,
    /// How many bytes one answer of `resources/read` holds. Default: 262,144.
    #[schemars(range(min = 1_024, max = 8_388_608))]
    pub part_bytes: Option<Located<u64>>,
}

impl ArtifactsTable {
    pub(super) fn read(mut table: Table<'_, '_>) -> Self {
        let artifacts = Self {
            max_bytes: table.integer("max_bytes", 1024..=1 << 30),
            principal_bytes: table.integer("principal_bytes", 1024..=1 << 40),
            total_bytes: table.integer("total_bytes", 1024..=1 << 40),
            principal_count: table.integer("principal_count", 1..=1_000_000),
            lifetime_s: table.integer("lifetime_s", 1..=31_536_000),
            part_bytes: table.integer("part_bytes", 1024..=8_388_608),
        };
        let pairs = [
            (&artifacts.max_bytes, &artifacts.principal_bytes, "principal_bytes"),
            (&artifacts.principal_bytes, &artifacts.total_bytes, "total_bytes"),
        ];
        for (small, large, name) in pairs {
            if let (Some(small), Some(large)) = (small, large)
                && **small > **large
            {
                let message = format!("{} is more than `{name}`, which is {}", **small, **large);
                let finding = Finding::error("out_of_range", message, format!("raise `{name}`"));
                table.reading().report(small.place().span(), finding);
            }
        }
        table.finish();
        artifacts
    }
}
