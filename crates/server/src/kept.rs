//! What a handler keeps beyond its call: handles and artifacts, as authors use them.
//!
//! Everything is bound to the caller of the request at hand. It decides nothing; the gate's core does. Handlers
//! reach it through their context.

use std::fmt;
use std::time::Duration;

use callgate_core::artifact::{self, ArtifactLink};
use callgate_core::contract::Delivery;
use callgate_core::handle::{self, HandleScope};
use callgate_core::outcome::ToolOutput;

use crate::handler::ToolError;
use crate::tool::Output;

/// The handles of the caller. See [`Context::handles`](crate::Context::handles).
#[derive(Clone, Copy, Debug)]
pub struct Handles<'c>(handle::Handles<'c>);

impl<'c> Handles<'c> {
    pub(crate) fn new(handles: handle::Handles<'c>) -> Self {
        Self(handles)
    }

    /// Makes a handle that stands for `payload`: a text that nobody can guess, and that is good for this caller
    /// and tenant, this scope and this time. What it stands for stays in the store.
    ///
    /// # Errors
    /// The payload is too large, a bound on handles is reached, or the store does not answer.
    pub async fn create(
        &self,
        scope: &HandleScope,
        payload: impl Into<Vec<u8>>,
        lifetime: Duration,
    ) -> Result<String, ToolError> {
        self.0.create(scope, payload, lifetime).await.map_err(ToolError::refused)
    }

    /// What a handle stands for, if it is good for this caller and scope now.
    ///
    /// # Errors
    /// Pass it on with `?`: it is the one answer to forged, expired, revoked and foreign handles, or says that
    /// the store does not answer.
    pub async fn check(&self, text: &str, scope: &HandleScope) -> Result<Vec<u8>, ToolError> {
        self.0.check(text, scope).await.map_err(ToolError::refused)
    }

    /// Revokes a handle of this caller and scope.
    ///
    /// # Errors
    /// As [`Handles::check`].
    pub async fn revoke(&self, text: &str, scope: &HandleScope) -> Result<(), ToolError> {
        self.0.revoke(text, scope).await.map_err(ToolError::refused)
    }
}

/// An artifact that a handler writes. See [`Context::artifact`](crate::Context::artifact).
#[must_use = "an artifact that is not finished cannot be read"]
pub struct ArtifactWriter<'c>(artifact::ArtifactWriter<'c>);

impl<'c> ArtifactWriter<'c> {
    pub(crate) fn new(writer: artifact::ArtifactWriter<'c>) -> Self {
        Self(writer)
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// A bound on artifacts is reached, or the store does not answer; the artifact is gone then.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), ToolError> {
        self.0.write(bytes.as_ref()).await.map_err(ToolError::refused)
    }

    /// Makes the artifact readable, for as long as the limit says.
    ///
    /// # Errors
    /// As [`ArtifactWriter::write`].
    pub async fn finish(self) -> Result<Artifact, ToolError> {
        self.0.finish(None).await.map(Artifact).map_err(ToolError::refused)
    }

    /// Makes the artifact readable for this time, or for a shorter one if the limit says so.
    ///
    /// # Errors
    /// As [`ArtifactWriter::write`].
    pub async fn finish_for(self, lifetime: Duration) -> Result<Artifact, ToolError> {
        self.0.finish(Some(lifetime)).await.map(Artifact).map_err(ToolError::refused)
    }

    /// Removes what was written.
    pub async fn discard(self) {
        self.0.discard().await;
    }
}

impl fmt::Debug for ArtifactWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An artifact that the caller can read. A handler returns it as its result: the caller gets a link with size,
/// digest and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact(ArtifactLink);

impl Artifact {
    /// The same artifact, whose link says how many rows it has.
    #[must_use]
    pub fn with_rows(mut self, rows: u64) -> Self {
        self.0.rows = Some(rows);
        self
    }

    /// Where it is, what it is, and how long.
    #[must_use]
    pub fn link(&self) -> &ArtifactLink {
        &self.0
    }
}

impl Output for Artifact {
    fn schema() -> Option<String> {
        Some(artifact::link_result_schema())
    }

    fn delivery() -> Delivery {
        Delivery::Artifact
    }

    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self.0.output())
    }
}
