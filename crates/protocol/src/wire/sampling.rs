//! Sampling: a server asks the client's model for a message. Deprecated in 2026-07-28.

use super::base::Role;
use super::content::{AudioContent, ContentBlock, ImageContent, TextContent};
use super::field::{Wire, WireError};
use super::raw::{Number, RawJson};
use super::tool::Tool;
use crate::json::{Kind, Value};

wire_struct! {
    /// The parameters of `sampling/createMessage`.
    pub struct CreateMessageRequestParams {
        required {
            /// The conversation.
            messages: Vec<SamplingMessage> = "messages",
            /// The most tokens to be sampled.
            max_tokens: Number = "maxTokens",
        }
        optional {
            /// Which model is preferred.
            model_preferences: ModelPreferences = "modelPreferences",
            /// The system prompt.
            system_prompt: String = "systemPrompt",
            /// The context of servers to be included; deprecated.
            include_context: IncludeContext = "includeContext",
            /// The temperature.
            temperature: Number = "temperature",
            /// Texts at which to stop.
            stop_sequences: Vec<String> = "stopSequences",
            /// Metadata for the provider, as text.
            metadata: RawJson = "metadata",
            /// Tools that the model may use; since 2025-11-25.
            tools: Vec<Tool> = "tools",
            /// How it may use them; since 2025-11-25.
            tool_choice: ToolChoice = "toolChoice",
            /// How to run it as a task; only in 2025-11-25.
            task: RawJson = "task",
            /// Metadata, as text; up to 2025-11-25.
            meta: RawJson = "_meta",
        }
    }
}

wire_names! {
    /// Which context of servers is to be included.
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// That of the server that asks.
        ThisServer = "thisServer",
        /// That of all servers.
        AllServers = "allServers",
    }
}

wire_names! {
    /// Whether the model uses tools.
    pub enum ToolChoiceMode {
        /// It decides.
        Auto = "auto",
        /// It must.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

wire_struct! {
    /// How the model may use tools.
    pub struct ToolChoice {
        optional {
            /// Whether it uses them; absent means that it decides.
            mode: ToolChoiceMode = "mode",
        }
    }
}

wire_struct! {
    /// Which model is preferred.
    pub struct ModelPreferences {
        optional {
            /// Names to look for, in order.
            hints: Vec<ModelHint> = "hints",
            /// How much cost matters, from 0 to 1.
            cost_priority: Number = "costPriority",
            /// How much speed matters, from 0 to 1.
            speed_priority: Number = "speedPriority",
            /// How much intelligence matters, from 0 to 1.
            intelligence_priority: Number = "intelligencePriority",
        }
    }
}

wire_struct! {
    /// A hint at a model.
    pub struct ModelHint {
        optional {
            /// A part of its name.
            name: String = "name",
        }
    }
}

wire_struct! {
    /// A message of the conversation.
    pub struct SamplingMessage {
        required {
            /// Who says it.
            role: Role = "role",
            /// What is said.
            content: SamplingContents = "content",
        }
        optional {
            /// Metadata, as text; since 2025-11-25.
            meta: RawJson = "_meta",
        }
    }
}

/// One block, or since 2025-11-25 several.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingContents {
    /// One block, written without an array.
    One(SamplingContent),
    /// Any number of blocks in an array.
    Many(Vec<SamplingContent>),
}

impl SamplingContents {
    /// The blocks in order.
    #[must_use]
    pub fn blocks(&self) -> &[SamplingContent] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl Wire for SamplingContents {
    fn read(value: Value<'_>) -> Result<Self, WireError> {
        if value.kind() == Kind::Array {
            Vec::read(value).map(Self::Many)
        } else {
            SamplingContent::read(value).map(Self::One)
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::One(block) => block.write(out),
            Self::Many(blocks) => blocks.write(out),
        }
    }
}

impl From<SamplingContent> for SamplingContents {
    fn from(block: SamplingContent) -> Self {
        Self::One(block)
    }
}

wire_choice! {
    /// A block of a message.
    pub enum SamplingContent by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// An image.
        Image(ImageContent) = "image",
        /// Audio; since 2025-03-26.
        Audio(AudioContent) = "audio",
        /// The model uses a tool; since 2025-11-25.
        ToolUse(ToolUseContent) = "tool_use",
        /// What the tool gave; since 2025-11-25.
        ToolResult(ToolResultContent) = "tool_result",
    }
}

wire_struct! {
    /// The model uses a tool.
    pub struct ToolUseContent ["type" = "tool_use"] {
        required {
            /// The use, to be named by its result.
            id: String = "id",
            /// The tool.
            name: String = "name",
            /// The arguments, as text: an object.
            input: RawJson = "input",
        }
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// What a tool gave.
    pub struct ToolResultContent ["type" = "tool_result"] {
        required {
            /// The use that it belongs to.
            tool_use_id: String = "toolUseId",
            /// The content, in order.
            content: Vec<ContentBlock> = "content",
        }
        optional {
            /// The structured result, as text.
            structured_content: RawJson = "structuredContent",
            /// True when the tool failed.
            is_error: bool = "isError",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The sampled message.
    pub struct CreateMessageResult {
        required {
            /// Who says it.
            role: Role = "role",
            /// What is said.
            content: SamplingContents = "content",
            /// The model.
            model: String = "model",
        }
        optional {
            /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or a provider's own word.
            stop_reason: String = "stopReason",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
