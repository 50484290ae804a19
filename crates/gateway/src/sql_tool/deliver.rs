//! A query whose rows become a file: they are written while they come, and the caller gets a link.
//!
//! Each row is judged by its schema before it is written, as rows in a message are. A file that would not be
//! whole is not delivered: it goes its way alone, and nobody could tell. The SQL tool calls it.

use std::pin::pin;

use callgate_core::artifact::ArtifactWriter;
use callgate_core::contract::schema::Schema;
use callgate_core::invocation::Invocation;
use callgate_core::outcome::ToolOutput;
use callgate_core::port::{Cut, Query, QuerySource, Rows, Statement};
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Document, Limits};
use futures_util::future::try_join;
use tokio::sync::mpsc::{Receiver, channel};

use super::refusal;
use super::table::Format;

/// Batches of rows that wait to be written.
const WAITING: usize = 2;

/// How rows become a file.
pub(crate) struct Delivered {
    pub(crate) format: Format,
    /// The schema of a row.
    pub(crate) row: Schema,
}

/// Runs a query into an artifact.
pub(super) async fn deliver(
    delivered: &Delivered,
    source: &dyn QuerySource,
    query: Query,
    invocation: &Invocation<'_>,
) -> Result<ToolOutput, Refusal> {
    let format = delivered.format;
    let name = format!("{}.{}", invocation.contract().name(), format.ending());
    let mut writer = invocation.artifacts()?.begin(&name, format.media_type()).await?;
    match write(delivered, source, query, &mut writer).await {
        Ok(count) => {
            let mut link = writer.finish(None).await?;
            link.rows = Some(count as u64);
            Ok(link.output())
        }
        Err(refusal) => {
            writer.discard().await;
            Err(refusal)
        }
    }
}

/// Writes all rows and gives their number.
async fn write(
    delivered: &Delivered,
    source: &dyn QuerySource,
    query: Query,
    writer: &mut ArtifactWriter<'_>,
) -> Result<usize, Refusal> {
    let statement = std::sync::Arc::clone(&query.statement);
    let file = File {
        delivered,
        statement: &statement,
        bounds: Limits::DEFAULT.with_bytes(query.max_bytes.max(1 << 20)),
    };
    writer.write(delivered.format.head(file.names()).as_bytes()).await?;
    let (sender, receiver) = channel(WAITING);
    // Whichever fails drops the other one: a query for whose rows there is no room is stopped.
    let query = pin!(async { source.stream(query, sender).await.map_err(refusal) });
    let (rows, writer) = try_join(query, file.write_all(receiver, writer)).await?;
    match rows.cut {
        Cut::Whole => {}
        Cut::Rows | Cut::Bytes => {
            let bound = if rows.cut == Cut::Rows { "rows" } else { "bytes" };
            let public = format!("the file would have more {bound} than the limit of this tool");
            return Err(Refusal::new(Code::OutputTooLarge, public));
        }
    }
    file.write(&rows, writer).await?;
    Ok(rows.count)
}

struct File<'f> {
    delivered: &'f Delivered,
    statement: &'f Statement,
    bounds: Limits,
}

impl File<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.statement.columns.iter().map(|column| column.name.as_str())
    }

    /// Writes the batches as they come, and gives the writer back for the last one.
    async fn write_all<'w, 'a>(
        &self,
        mut batches: Receiver<String>,
        writer: &'w mut ArtifactWriter<'a>,
    ) -> Result<&'w mut ArtifactWriter<'a>, Refusal> {
        while let Some(batch) = batches.recv().await {
            self.write_batch(batch, writer).await?;
        }
        Ok(writer)
    }

    async fn write(&self, rows: &Rows, writer: &mut ArtifactWriter<'_>) -> Result<(), Refusal> {
        self.write_batch(rows.json.clone(), writer).await
    }

    async fn write_batch(&self, batch: String, writer: &mut ArtifactWriter<'_>) -> Result<(), Refusal> {
        let text = self.text(batch)?;
        writer.write(text.as_bytes()).await
    }

    fn text(&self, batch: String) -> Result<String, Refusal> {
        let document = Document::parse(batch, &self.bounds).map_err(|error| {
            Refusal::new(Code::OutputInvalid, "the tool gave a row that cannot be read").with_detail(error)
        })?;
        let mut text = String::with_capacity(document.text().len());
        for row in document.root().items() {
            if self.delivered.row.is_valid(row) != Ok(true) {
                let public = "the tool gave a row that does not fit its output schema";
                return Err(Refusal::new(Code::OutputInvalid, public));
            }
            self.delivered.format.push_row(&mut text, self.names(), row);
        }
        Ok(text)
    }
}
