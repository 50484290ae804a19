//! Completion: values that an argument of a prompt or template could take.
//!
//! At most a hundred values are sent; the rest is counted.

use super::base::ResultType;
use super::field::Entries;
use super::raw::{Number, RawJson};

wire_struct! {
    /// The parameters of a completion.
    pub struct CompleteRequestParams {
        required {
            /// What the argument belongs to.
            reference: CompletionReference = "ref",
            /// The argument so far.
            argument: CompletionArgument = "argument",
        }
        optional {
            /// Arguments that are already known; since 2025-06-18.
            context: CompletionContext = "context",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_choice! {
    /// What an argument belongs to.
    pub enum CompletionReference by "type" {
        /// A prompt.
        Prompt(PromptReference) = "ref/prompt",
        /// A resource template.
        ResourceTemplate(ResourceTemplateReference) = "ref/resource",
    }
}

wire_struct! {
    /// A prompt, by name.
    pub struct PromptReference ["type" = "ref/prompt"] {
        required {
            /// The name for programs.
            name: String = "name",
        }
        optional {
            /// The name for people; since 2025-06-18.
            title: String = "title",
        }
    }
}

wire_struct! {
    /// A resource template, by its URI template.
    pub struct ResourceTemplateReference ["type" = "ref/resource"] {
        required {
            /// The URI template.
            uri: String = "uri",
        }
    }
}

wire_struct! {
    /// An argument that is being written.
    pub struct CompletionArgument {
        required {
            /// The name.
            name: String = "name",
            /// The text so far.
            value: String = "value",
        }
    }
}

wire_struct! {
    /// What is known beside the argument.
    pub struct CompletionContext {
        optional {
            /// Other arguments.
            arguments: Entries<String> = "arguments",
        }
    }
}

wire_struct! {
    /// The result of a completion.
    pub struct CompleteResult {
        required {
            /// The values.
            completion: Completion = "completion",
        }
        optional {
            /// The kind of result; 2026-07-28.
            result_type: ResultType = "resultType",
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// Values that an argument could take.
    pub struct Completion {
        required {
            /// At most a hundred values.
            values: Vec<String> = "values",
        }
        optional {
            /// How many there are in all.
            total: Number = "total",
            /// True when there are more than were sent.
            has_more: bool = "hasMore",
        }
    }
}
