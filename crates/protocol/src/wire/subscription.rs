//! Subscriptions (2026-07-28): what a client wants to hear of, and what it will hear of.

use super::base::ResultType;
use super::raw::RawJson;

wire_struct! {
    /// Kinds of notifications.
    pub struct SubscriptionFilter {
        optional {
            /// The list of tools has changed.
            tools_list_changed: bool = "toolsListChanged",
            /// The list of prompts has changed.
            prompts_list_changed: bool = "promptsListChanged",
            /// The list of resources has changed.
            resources_list_changed: bool = "resourcesListChanged",
            /// One of these resources has changed.
            resource_subscriptions: Vec<String> = "resourceSubscriptions",
        }
    }
}

wire_struct! {
    /// The parameters of `subscriptions/listen`.
    pub struct SubscriptionsListenRequestParams {
        required {
            /// What is asked for.
            notifications: SubscriptionFilter = "notifications",
        }
        optional {
            /// Metadata, as text.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The parameters of `notifications/subscriptions/acknowledged`.
    pub struct SubscriptionsAcknowledgedNotificationParams {
        required {
            /// What will be sent.
            notifications: SubscriptionFilter = "notifications",
        }
        optional {
            /// Metadata, as text, with the subscription id.
            meta: RawJson = "_meta",
        }
    }
}

wire_struct! {
    /// The result that ends a subscription.
    pub struct SubscriptionsListenResult {
        required {
            /// The kind of result.
            result_type: ResultType = "resultType",
            /// Metadata, as text, with the subscription id.
            meta: RawJson = "_meta",
        }
    }
}
