//! Step 10: a result that is too large for a message becomes a link to an artifact.
//!
//! Only what has been checked gets here, so what is kept is what could have left. It must never let anything
//! else leave than the link; where nothing can be kept, the call fails as it would without artifacts.

use callgate_protocol::json::{Document, Kind, Limits as JsonLimits};

use super::check::Checked;
use crate::artifact::ArtifactLink;
use crate::contract::Contract;
use crate::keeping::Keeping;
use crate::outcome::{CheckedOutput, Outcome};
use crate::principal::Principal;
use crate::refusal::{Code, Refusal};

/// Keeps a result that is larger than its contract allows in a message.
pub async fn deliver<'r>(keeping: Keeping<'_>, checked: Checked<'r>) -> Checked<'r> {
    if !checked.is_oversize() {
        return checked;
    }
    let (reserved, outcome, proof) = checked.into_parts();
    let resolved = reserved.validated().resolved();
    let outcome = match outcome {
        Outcome::Complete(output) => keep(keeping, resolved.principal(), resolved.contract(), output)
            .await
            .map_or_else(Outcome::Failed, Outcome::Complete),
        other => other,
    };
    Checked::delivered(reserved, outcome, proof)
}

async fn keep(
    keeping: Keeping<'_>,
    principal: &Principal,
    contract: &Contract,
    output: CheckedOutput,
) -> Result<CheckedOutput, Refusal> {
    let (text, media_type, ending) = file(&output);
    let name = format!("{}.{ending}", contract.name());
    let mut writer = keeping.artifacts(principal).begin(&name, media_type).await?;
    writer.write(text.as_bytes()).await?;
    let link = writer.finish(None).await?;
    let structured = match contract.output {
        None => None,
        Some(_) => Some(structured(&link)?),
    };
    Ok(CheckedOutput { content: Some(link.content()), structured, ..output })
}

/// What is kept: the structured result, else a single text, else the content blocks as they are.
fn file(output: &CheckedOutput) -> (String, &'static str, &'static str) {
    if let Some(document) = &output.structured {
        return (document.text().to_owned(), "application/json", "json");
    }
    let content = output.content.as_deref().unwrap_or("[]");
    let bounds = JsonLimits::DEFAULT.with_bytes(content.len());
    if let Ok(document) = Document::parse(content, &bounds)
        && document.root().kind() == Kind::Array
    {
        let mut blocks = document.root().items();
        if let (Some(block), None) = (blocks.next(), blocks.next())
            && block.get("type").is_some_and(|kind| kind.is_str("text"))
            && let Some(text) = block.get("text").and_then(|text| text.as_str())
        {
            return (text.into_owned(), "text/plain", "txt");
        }
    }
    (content.to_owned(), "application/json", "json")
}

fn structured(link: &ArtifactLink) -> Result<Document, Refusal> {
    Document::parse(link.structured(), &JsonLimits::DEFAULT)
        .map_err(|error| Refusal::new(Code::Internal, "the link could not be written").with_detail(error))
}
