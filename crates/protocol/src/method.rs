//! The methods of all revisions: who sends each, in which revisions it exists, and which member the
//! `Mcp-Name` header repeats.
//!
//! It must never list a method for a revision whose schema does not define it. The server's dispatch
//! and the header checks call it.

use std::fmt;

use crate::revision::Revision;

/// Who sends a method, and whether it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MethodKind {
    /// A request from the client.
    ClientRequest,
    /// A request from the server; in 2026-07-28 it travels as an input request only.
    ServerRequest,
    /// A notification from the client.
    ClientNotification,
    /// A notification from the server.
    ServerNotification,
    /// A notification that either side sends.
    Notification,
}

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident $name:literal $kind:ident $first:ident $last:ident;)*) => {
        /// A method that some revision defines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant,)*
        }

        impl Method {
            /// Every method, in the order of this file.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The method of that name, compared with regard to case.
            #[must_use]
            pub fn of_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// Who sends it.
            #[must_use]
            pub const fn kind(self) -> MethodKind {
                match self { $(Self::$variant => MethodKind::$kind,)* }
            }

            /// The first and the last revision that define it.
            #[must_use]
            pub const fn span(self) -> (Revision, Revision) {
                match self { $(Self::$variant => (Revision::$first, Revision::$last),)* }
            }
        }
    };
}

methods! {
    /// Opens a session; legacy.
    Initialize "initialize" ClientRequest V2024_11_05 V2025_11_25;
    /// Asks whether the peer lives; legacy, both directions.
    Ping "ping" ClientRequest V2024_11_05 V2025_11_25;
    /// Asks what the server is and serves.
    Discover "server/discover" ClientRequest V2026_07_28 V2026_07_28;
    /// Lists tools.
    ToolsList "tools/list" ClientRequest V2024_11_05 V2026_07_28;
    /// Calls a tool.
    ToolsCall "tools/call" ClientRequest V2024_11_05 V2026_07_28;
    /// Lists resources.
    ResourcesList "resources/list" ClientRequest V2024_11_05 V2026_07_28;
    /// Lists resource templates.
    ResourcesTemplatesList "resources/templates/list" ClientRequest V2024_11_05 V2026_07_28;
    /// Reads a resource.
    ResourcesRead "resources/read" ClientRequest V2024_11_05 V2026_07_28;
    /// Subscribes to one resource; legacy.
    ResourcesSubscribe "resources/subscribe" ClientRequest V2024_11_05 V2025_11_25;
    /// Ends such a subscription; legacy.
    ResourcesUnsubscribe "resources/unsubscribe" ClientRequest V2024_11_05 V2025_11_25;
    /// Lists prompts.
    PromptsList "prompts/list" ClientRequest V2024_11_05 V2026_07_28;
    /// Renders a prompt.
    PromptsGet "prompts/get" ClientRequest V2024_11_05 V2026_07_28;
    /// Completes an argument.
    Complete "completion/complete" ClientRequest V2024_11_05 V2026_07_28;
    /// Sets the level of log messages; legacy.
    SetLevel "logging/setLevel" ClientRequest V2024_11_05 V2025_11_25;
    /// Opens a stream of change notifications.
    SubscriptionsListen "subscriptions/listen" ClientRequest V2026_07_28 V2026_07_28;
    /// Asks for the state of a task; only in 2025-11-25.
    TasksGet "tasks/get" ClientRequest V2025_11_25 V2025_11_25;
    /// Asks for the result of a task; only in 2025-11-25.
    TasksResult "tasks/result" ClientRequest V2025_11_25 V2025_11_25;
    /// Lists tasks; only in 2025-11-25.
    TasksList "tasks/list" ClientRequest V2025_11_25 V2025_11_25;
    /// Cancels a task; only in 2025-11-25.
    TasksCancel "tasks/cancel" ClientRequest V2025_11_25 V2025_11_25;
    /// Asks the client's model for a message.
    SamplingCreateMessage "sampling/createMessage" ServerRequest V2024_11_05 V2026_07_28;
    /// Asks the person behind the client.
    ElicitationCreate "elicitation/create" ServerRequest V2025_06_18 V2026_07_28;
    /// Asks for the client's roots.
    RootsList "roots/list" ServerRequest V2024_11_05 V2026_07_28;
    /// The client has finished its handshake; legacy.
    Initialized "notifications/initialized" ClientNotification V2024_11_05 V2025_11_25;
    /// A request is no longer wanted.
    Cancelled "notifications/cancelled" Notification V2024_11_05 V2026_07_28;
    /// A request has made progress.
    Progress "notifications/progress" Notification V2024_11_05 V2026_07_28;
    /// The client's roots have changed; legacy.
    RootsListChanged "notifications/roots/list_changed" ClientNotification V2024_11_05 V2025_11_25;
    /// A log message.
    LoggingMessage "notifications/message" ServerNotification V2024_11_05 V2026_07_28;
    /// A resource has changed.
    ResourcesUpdated "notifications/resources/updated" ServerNotification V2024_11_05 V2026_07_28;
    /// The list of resources has changed.
    ResourcesListChanged "notifications/resources/list_changed" ServerNotification V2024_11_05 V2026_07_28;
    /// The list of tools has changed.
    ToolsListChanged "notifications/tools/list_changed" ServerNotification V2024_11_05 V2026_07_28;
    /// The list of prompts has changed.
    PromptsListChanged "notifications/prompts/list_changed" ServerNotification V2024_11_05 V2026_07_28;
    /// A subscription is open.
    SubscriptionsAcknowledged "notifications/subscriptions/acknowledged" ServerNotification V2026_07_28 V2026_07_28;
    /// A URL elicitation has come to its end; only in 2025-11-25.
    ElicitationComplete "notifications/elicitation/complete" ServerNotification V2025_11_25 V2025_11_25;
    /// The state of a task has changed; only in 2025-11-25.
    TasksStatus "notifications/tasks/status" Notification V2025_11_25 V2025_11_25;
}

impl Method {
    /// True when that revision defines the method.
    #[must_use]
    pub fn is_defined_in(self, revision: Revision) -> bool {
        let (first, last) = self.span();
        (first..=last).contains(&revision)
    }

    /// True for a request or notification that a client of that revision may send on its own.
    #[must_use]
    pub fn is_sent_by_client(self, revision: Revision) -> bool {
        let by_client = match self.kind() {
            MethodKind::ClientRequest | MethodKind::ClientNotification => true,
            // Only `notifications/cancelled` is left to the client in 2026-07-28.
            MethodKind::Notification => self == Self::Cancelled || !revision.is_modern(),
            MethodKind::ServerRequest | MethodKind::ServerNotification => false,
        };
        by_client && self.is_defined_in(revision)
    }

    /// The member of `params` that the `Mcp-Name` header repeats, if the method has one.
    #[must_use]
    pub const fn name_member(self) -> Option<&'static str> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some("name"),
            Self::ResourcesRead => Some("uri"),
            _ => None,
        }
    }

    /// True when the method may be answered with `input_required`.
    #[must_use]
    pub const fn may_require_input(self) -> bool {
        matches!(self, Self::ToolsCall | Self::PromptsGet | Self::ResourcesRead)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
