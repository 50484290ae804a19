//! Tools: their definitions, the list, the call and its result.
//!
//! Annotations are hints of whoever wrote the tool and must never decide anything. Schemas, arguments
//! and structured content stay text.

use super::base::{CacheScope, Icon, ResultType};
use super::content::ContentBlock;
use super::field::Entries;
use super::raw::{Number, RawJson};

wire_struct! {
    /// The definition of a tool.
    pub struct Tool {
        required {
            /// The name for programs: 1 to 128 of `A-Za-z0-9_.-`, unique in a server.
            name: String = "name",
            /// The JSON Schema of the arguments, an object schema.
            input_schema: RawJson = "inputSchema",
        }
        optional {
            /// The name for people; since 2025-06-18.
            title: String = "title",
            /// What it does, for the model.
            description: String = "description",
            /// Icons; since 2025-11-25.
            icons: Vec<Icon> = "icons",
            /// The JSON Schema of the structured result; since 2025-06-18, an object schema until 2025-11-25.
            output_schema: RawJson = "outputSchema",
            /// Hints; since 2025-03-26.
            annotations: ToolAnnotations = "annotations",
            /// How it can be run as a task; only in 2025-11-25.
            execution: RawJson = "execution",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// Hints about a tool.
    pub struct ToolAnnotations {
        optional {
            /// The name for people.
            title: String = "title",
            /// It changes nothing.
            read_only_hint: bool = "readOnlyHint",
            /// It may destroy something.
            destructive_hint: bool = "destructiveHint",
            /// Repeating it changes nothing more.
            idempotent_hint: bool = "idempotentHint",
            /// It reaches beyond a closed set of things.
            open_world_hint: bool = "openWorldHint",
        }
    }
}

wire_struct! {
    /// One page of tools.
    pub struct ListToolsResult {
        required {
            /// The tools.
            tools: Vec<Tool> = "tools",
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
    /// The parameters of a call.
    pub struct CallToolRequestParams {
        required {
            /// The tool.
            name: String = "name",
        }
        optional {
            /// The arguments, as text: an object.
            arguments: RawJson = "arguments",
            /// Answers to input requests, by their keys; 2026-07-28.
            input_responses: Entries<RawJson> = "inputResponses",
            /// The state that the server gave with its input requests; 2026-07-28.
            request_state: String = "requestState",
            /// How to run it as a task; only in 2025-11-25.
            task: RawJson = "task",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The result of a call.
    pub struct CallToolResult {
        required {
            /// The content, in order.
            content: Vec<ContentBlock> = "content",
        }
        optional {
            /// The structured result, as text: any value, an object until 2025-11-25. `null` is a value.
            structured_content: RawJson = "structuredContent",
            /// True when the tool failed.
            is_error: bool = "isError",
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}
