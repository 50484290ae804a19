//! Tools of a file and of Rust in one catalogue, over stdio: `cargo run --example both -- callgate.toml`.

use callgate_gateway::Gate;
use callgate_server::{Context, Effect, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Conversion {
    /// Amount in minor units
    amount_minor: i64,
    /// Minor units of the target currency for a thousand minor units of the source
    #[schemars(range(min = 1, max = 1_000_000))]
    rate_per_thousand: i64,
}

async fn convert(_: Context<'_>, conversion: Conversion) -> Result<i64, ToolError> {
    let Conversion { amount_minor, rate_per_thousand } = conversion;
    amount_minor
        .checked_mul(rate_per_thousand)
        .map(|thousandths| thousandths / 1000)
        .ok_or_else(|| ToolError::new("the amount is too large to convert"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "callgate.toml".into());
    Gate::from_file(path)?
        .tool(Tool::new("amount_convert", Effect::Read, convert).description(
            "Converts an amount by a given rate and rounds towards zero. It does not look rates up.",
        ))
        .serve()
        .await?;
    Ok(())
}
