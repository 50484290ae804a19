//! What is sent to a peer of an older revision: the same thing without what that revision lacks.
//!
//! Nothing may be cast into another form: a block of a kind that the peer does not know becomes a text
//! that names it, and a structured result that the peer could not read is left out, for its text form
//! stands beside it. The legacy side of the server calls it; the modern path never does.

use super::base::{Icon, Implementation};
use super::content::{Annotations, ContentBlock, TextContent};
use super::prompt::{GetPromptResult, ListPromptsResult, Prompt};
use super::raw::RawJson;
use super::resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use super::tool::{CallToolResult, ListToolsResult, Tool};
use crate::revision::Revision;

/// A type that can be reduced to what a revision defines.
pub trait Project {
    /// Removes or rewrites what the revision does not define.
    fn project(&mut self, revision: Revision);
}

fn keep_since<T>(member: &mut Option<T>, first: Revision, revision: Revision) {
    if revision < first {
        *member = None;
    }
}

/// Titles and the metadata of definitions came together.
fn project_named(
    title: &mut Option<String>,
    meta: &mut Option<RawJson>,
    icons: &mut Option<Vec<Icon>>,
    revision: Revision,
) {
    keep_since(title, Revision::V2025_06_18, revision);
    keep_since(meta, Revision::V2025_06_18, revision);
    keep_since(icons, Revision::V2025_11_25, revision);
}

impl<T: Project> Project for Vec<T> {
    fn project(&mut self, revision: Revision) {
        for item in self {
            item.project(revision);
        }
    }
}

impl<T: Project> Project for Option<T> {
    fn project(&mut self, revision: Revision) {
        if let Some(value) = self {
            value.project(revision);
        }
    }
}

impl Project for Implementation {
    fn project(&mut self, revision: Revision) {
        keep_since(&mut self.title, Revision::V2025_06_18, revision);
        keep_since(&mut self.description, Revision::V2025_11_25, revision);
        keep_since(&mut self.icons, Revision::V2025_11_25, revision);
        keep_since(&mut self.website_url, Revision::V2025_11_25, revision);
    }
}

impl Project for Annotations {
    fn project(&mut self, revision: Revision) {
        keep_since(&mut self.last_modified, Revision::V2025_06_18, revision);
    }
}

impl Project for Tool {
    fn project(&mut self, revision: Revision) {
        project_named(&mut self.title, &mut self.meta, &mut self.icons, revision);
        keep_since(&mut self.annotations, Revision::V2025_03_26, revision);
        keep_since(&mut self.output_schema, Revision::V2025_06_18, revision);
        if revision != Revision::V2025_11_25 {
            self.execution = None;
        }
        if !revision.is_modern()
            && self.output_schema.as_ref().is_some_and(|schema| !is_object_schema(schema))
        {
            self.output_schema = None;
        }
    }
}

/// Until 2025-11-25 an output schema was an object schema, and structured content an object.
fn is_object_schema(schema: &RawJson) -> bool {
    schema.document().root().get("type").is_some_and(|kind| kind.is_str("object"))
}

impl Project for ContentBlock {
    fn project(&mut self, revision: Revision) {
        match self {
            Self::Text(block) => {
                block.annotations.project(revision);
                keep_since(&mut block.meta, Revision::V2025_06_18, revision);
            }
            Self::Image(block) => {
                block.annotations.project(revision);
                keep_since(&mut block.meta, Revision::V2025_06_18, revision);
            }
            Self::Audio(block) if revision < Revision::V2025_03_26 => {
                let text = format!("[audio of type {} that this client cannot receive]", block.mime_type);
                *self = Self::Text(TextContent::new(text));
            }
            Self::Audio(block) => {
                block.annotations.project(revision);
                keep_since(&mut block.meta, Revision::V2025_06_18, revision);
            }
            Self::ResourceLink(link) if revision < Revision::V2025_06_18 => {
                let text = format!("[resource {}: {}]", link.name, link.uri);
                *self = Self::Text(TextContent::new(text));
            }
            Self::ResourceLink(link) => {
                link.annotations.project(revision);
                keep_since(&mut link.icons, Revision::V2025_11_25, revision);
            }
            Self::Resource(block) => {
                block.annotations.project(revision);
                block.resource.project(revision);
                keep_since(&mut block.meta, Revision::V2025_06_18, revision);
            }
            Self::Other(_) => {}
        }
    }
}

impl Project for ResourceContents {
    fn project(&mut self, revision: Revision) {
        let meta = match self {
            Self::Text(contents) => &mut contents.meta,
            Self::Blob(contents) => &mut contents.meta,
        };
        keep_since(meta, Revision::V2025_06_18, revision);
    }
}

impl Project for CallToolResult {
    fn project(&mut self, revision: Revision) {
        self.content.project(revision);
        keep_since(&mut self.result_type, Revision::V2026_07_28, revision);
        keep_since(&mut self.structured_content, Revision::V2025_06_18, revision);
        if !revision.is_modern() && self.structured_content.as_ref().is_some_and(|value| !value.is_object()) {
            self.structured_content = None;
        }
    }
}

impl Project for Resource {
    fn project(&mut self, revision: Revision) {
        project_named(&mut self.title, &mut self.meta, &mut self.icons, revision);
        self.annotations.project(revision);
    }
}

impl Project for ResourceTemplate {
    fn project(&mut self, revision: Revision) {
        project_named(&mut self.title, &mut self.meta, &mut self.icons, revision);
        self.annotations.project(revision);
    }
}

impl Project for Prompt {
    fn project(&mut self, revision: Revision) {
        project_named(&mut self.title, &mut self.meta, &mut self.icons, revision);
        for argument in self.arguments.iter_mut().flatten() {
            keep_since(&mut argument.title, Revision::V2025_06_18, revision);
        }
    }
}

impl Project for GetPromptResult {
    fn project(&mut self, revision: Revision) {
        keep_since(&mut self.result_type, Revision::V2026_07_28, revision);
        for message in &mut self.messages {
            message.content.project(revision);
        }
    }
}

/// Results that may be cached carry three members that only 2026-07-28 defines.
macro_rules! project_cacheable {
    ($($type:ty: $items:ident),* $(,)?) => {$(
        impl Project for $type {
            fn project(&mut self, revision: Revision) {
                self.$items.project(revision);
                keep_since(&mut self.result_type, Revision::V2026_07_28, revision);
                keep_since(&mut self.ttl_ms, Revision::V2026_07_28, revision);
                keep_since(&mut self.cache_scope, Revision::V2026_07_28, revision);
            }
        }
    )*};
}

project_cacheable!(
    ListToolsResult: tools,
    ListPromptsResult: prompts,
    ListResourcesResult: resources,
    ListResourceTemplatesResult: resource_templates,
    ReadResourceResult: contents,
);
