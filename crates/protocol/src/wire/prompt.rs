//! Prompts: their definitions, the list, and one that is rendered.
//!
//! Arguments of a prompt are strings and nothing else.

use super::base::{CacheScope, Icon, ResultType, Role};
use super::content::ContentBlock;
use super::field::Entries;
use super::raw::{Number, RawJson};

wire_struct! {
    /// The definition of a prompt.
    pub struct Prompt {
        required {
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people; since 2025-06-18.
            title: String = "title",
            /// What it is for.
            description: String = "description",
            /// What it can be given.
            arguments: Vec<PromptArgument> = "arguments",
            /// Icons; since 2025-11-25.
            icons: Vec<Icon> = "icons",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// An argument of a prompt.
    pub struct PromptArgument {
        required {
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people; since 2025-06-18.
            title: String = "title",
            /// What it means.
            description: String = "description",
            /// True when it must be given.
            required: bool = "required",
        }
    }
}

wire_struct! {
    /// One page of prompts.
    pub struct ListPromptsResult {
        required {
            /// The prompts.
            prompts: Vec<Prompt> = "prompts",
        }
        optional {
            /// Where the next page starts.
            next_cursor: String = "nextCursor",
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// How long the page stays fresh, in milliseconds; 2026-07-28.
            ttl_ms: Number = "ttlMs",
            /// Who may share it; 2026-07-28.
            cache_scope: CacheScope = "cacheScope",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of a request for one prompt.
    pub struct GetPromptRequestParams {
        required {
            /// The prompt.
            name: String = "name",
        }
        optional {
            /// Its arguments.
            arguments: Entries<String> = "arguments",
            /// Answers to input requests, by their keys; 2026-07-28.
            input_responses: Entries<RawJson> = "inputResponses",
            /// The state that the server gave with its input requests; 2026-07-28.
            request_state: String = "requestState",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// A rendered prompt.
    pub struct GetPromptResult {
        required {
            /// The messages, in order.
            messages: Vec<PromptMessage> = "messages",
        }
        optional {
            /// What it is for.
            description: String = "description",
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// A message of a prompt.
    pub struct PromptMessage {
        required {
            /// Who says it.
            role: Role = "role",
            /// What is said.
            content: ContentBlock = "content",
        }
    }
}
