//! What clients and servers declare that they can do.
//!
//! A capability that was not declared must never be used. `initialize`, discovery and the metadata of
//! each modern request carry them.

use super::field::Entries;
use super::raw::RawJson;

wire_struct! {
    /// What a client can do.
    pub struct ClientCapabilities {
        optional {
            /// Elicitation and its modes; an empty object means form mode only.
            elicitation: ElicitationCapability = "elicitation",
            /// Sampling and its options.
            sampling: SamplingCapability = "sampling",
            /// Roots.
            roots: RootsCapability = "roots",
            /// Extensions by identifier, with their settings.
            extensions: Entries<RawJson> = "extensions",
            /// Experiments by name.
            experimental: Entries<RawJson> = "experimental",
            /// Tasks; only in 2025-11-25.
            tasks: RawJson = "tasks",
        }
    }
}

wire_struct! {
    /// The modes of elicitation that a client has.
    pub struct ElicitationCapability {
        optional {
            /// Forms.
            form: RawJson = "form",
            /// URLs.
            url: RawJson = "url",
        }
    }
}

wire_struct! {
    /// The options of sampling that a client has.
    pub struct SamplingCapability {
        optional {
            /// Tools in sampling requests.
            tools: RawJson = "tools",
            /// Context of servers; deprecated.
            context: RawJson = "context",
        }
    }
}

wire_struct! {
    /// Whether a client announces changed roots.
    pub struct RootsCapability {
        optional {
            /// True when it does; up to 2025-11-25.
            list_changed: bool = "listChanged",
        }
    }
}

wire_struct! {
    /// What a server offers.
    pub struct ServerCapabilities {
        optional {
            /// Tools.
            tools: ListCapability = "tools",
            /// Resources.
            resources: ResourcesCapability = "resources",
            /// Prompts.
            prompts: ListCapability = "prompts",
            /// Completion of arguments; since 2025-03-26.
            completions: RawJson = "completions",
            /// Log messages; deprecated.
            logging: RawJson = "logging",
            /// Extensions by identifier, with their settings; since 2026-07-28.
            extensions: Entries<RawJson> = "extensions",
            /// Experiments by name.
            experimental: Entries<RawJson> = "experimental",
            /// Tasks; only in 2025-11-25.
            tasks: RawJson = "tasks",
        }
    }
}

wire_struct! {
    /// How a server offers tools or prompts.
    pub struct ListCapability {
        optional {
            /// True when it announces a changed list.
            list_changed: bool = "listChanged",
        }
    }
}

wire_struct! {
    /// How a server offers resources.
    pub struct ResourcesCapability {
        optional {
            /// True when it announces a changed resource to those who asked.
            subscribe: bool = "subscribe",
            /// True when it announces a changed list.
            list_changed: bool = "listChanged",
        }
    }
}
