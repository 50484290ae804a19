//! `subscriptions/listen`: what is acknowledged, what is told, and what a slow or idle listener costs.

use callgate_protocol::json::Document;
use callgate_server::{
    Content, Contents, Context, Effect, Limits, Messages, NoInput, Prompt, Resource, Server, ServerBuilder,
    Tool, ToolError,
};

use super::caller::{Caller, Stream};

async fn nothing(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::new())
}

async fn prompt(_: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
    Ok(Messages::new())
}

fn tool(name: &str) -> Tool {
    Tool::new(name, Effect::Read, nothing)
}

fn server() -> ServerBuilder {
    Server::builder("subscriptions", "1")
        .tool(tool("a"))
        .prompt(Prompt::new("p", prompt))
        .resource(Resource::fixed("test://a", "A", Contents::text("")))
        .resource(Resource::fixed("test://b", "B", Contents::text("")))
}

fn method(message: &Document) -> String {
    message.root().get("method").and_then(|method| method.as_str()).unwrap_or_default().into_owned()
}

fn now(stream: &mut Stream) -> Vec<String> {
    std::iter::from_fn(|| stream.now()).map(|message| method(&message)).collect()
}

const ALL: &str = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["test://a","test://absent"]}"#;

/// Requirements: SUB-02, SUB-03, SUB-06, BASE-25, BASE-26, BASE-58
#[tokio::test]
async fn the_acknowledgement_comes_first_and_names_what_is_honoured() {
    let caller = Caller::new(server());
    let mut stream = caller.listen(ALL).await;
    caller.handle().add_tools([tool("b")]).unwrap();
    caller.handle().add_prompt(Prompt::new("q", prompt)).unwrap();
    caller.handle().notify_resource_updated("test://a");
    caller.handle().notify_resource_updated("test://b");
    let messages: Vec<_> =
        std::iter::from_fn(|| stream.now()).map(|message| message.text().to_owned()).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

/// Requirements: SUB-01
#[tokio::test]
async fn nothing_is_told_that_was_not_asked_for() {
    let caller = Caller::new(server());
    let mut tools = caller.listen(r#"{"toolsListChanged":true}"#).await;
    let mut silent = caller.listen(r#"{"toolsListChanged":false}"#).await;
    for stream in [&mut tools, &mut silent] {
        assert_eq!(now(stream), ["notifications/subscriptions/acknowledged"]);
    }
    caller.handle().add_prompt(Prompt::new("q", prompt)).unwrap();
    caller.handle().notify_resource_updated("test://a");
    assert!(now(&mut tools).is_empty());
    caller.handle().remove_tools(&["a"]).unwrap();
    assert_eq!(now(&mut tools), ["notifications/tools/list_changed"]);
    assert!(now(&mut silent).is_empty());
}

#[tokio::test]
async fn what_is_not_offered_is_not_acknowledged() {
    let caller = Caller::new(Server::builder("tools only", "1").tool(tool("a")));
    let mut stream = caller.listen(ALL).await;
    let acknowledged = stream.next().await.unwrap();
    let honoured = acknowledged.root().path(["params", "notifications"]).unwrap().raw().to_owned();
    assert_eq!(honoured, r#"{"toolsListChanged":true,"resourceSubscriptions":[]}"#);
}

/// Case 20: a storm of changes is one notification, the last change is never lost, and a list that is
/// read notifies nobody.
#[tokio::test]
async fn a_storm_is_one_notification_and_its_last_change_is_not_lost() {
    let caller = Caller::new(server().page_size(1000));
    let mut stream = caller.listen(ALL).await;
    assert_eq!(now(&mut stream).len(), 1);
    for at in 0..200 {
        caller.handle().add_tools([tool(&format!("t{at}"))]).unwrap();
        caller.handle().notify_resource_updated("test://a");
    }
    assert_eq!(now(&mut stream), ["notifications/tools/list_changed", "notifications/resources/updated"]);
    let _ = caller.send("tools/list", "").await;
    assert!(now(&mut stream).is_empty(), "reading a list changes nothing");
    caller.handle().add_tools([tool("z")]).unwrap();
    assert_eq!(now(&mut stream), ["notifications/tools/list_changed"]);
    assert!(caller.send("tools/list", "").await.text().contains("\"name\":\"z\""));
}

#[tokio::test]
async fn a_reload_that_changes_no_list_tells_nobody() {
    let caller = Caller::new(server());
    let mut stream = caller.listen(ALL).await;
    assert_eq!(now(&mut stream).len(), 1);
    caller.handle().reload(server()).unwrap();
    assert!(now(&mut stream).is_empty());
    caller.handle().reload(server().tool(tool("b"))).unwrap();
    assert_eq!(now(&mut stream), ["notifications/tools/list_changed"]);
    let broken = server().tool(tool("b")).tool(tool("b"));
    assert!(caller.handle().reload(broken).is_err());
    assert!(now(&mut stream).is_empty(), "a description that does not build leaves the old one in force");
    assert!(caller.handle().has_tool("b"));
}

/// Requirements: SUB-06
#[tokio::test]
async fn the_end_of_the_server_closes_a_subscription_with_its_result() {
    let caller = Caller::new(server());
    let mut stream = caller.listen(r#"{"toolsListChanged":true}"#).await;
    assert!(stream.next().await.is_some());
    caller.handle().add_tools([tool("b")]).unwrap();
    caller.handle().close_subscriptions();
    assert_eq!(method(&stream.next().await.unwrap()), "notifications/tools/list_changed");
    let closing = stream.next().await.unwrap();
    let meta = closing.root().path(["result", "_meta", "io.modelcontextprotocol/subscriptionId"]);
    assert!(meta.unwrap().is_str("r-1"));
    assert!(stream.next().await.is_none());
    let refused = caller.send("subscriptions/listen", r#""notifications":{}"#).await;
    assert_eq!((refused.status, refused.error().get("code").unwrap().raw()), (503, "-32603"));
}

#[tokio::test]
async fn subscriptions_are_bounded_and_a_closed_one_makes_room() {
    let mut limits = Limits::default();
    limits.subscriptions = 2;
    limits.watched_resources = 1;
    let caller = Caller::new(server().limits(limits));
    let first = caller.listen("{}").await;
    let mut second = caller.listen(r#"{"resourceSubscriptions":["test://a","test://b"]}"#).await;
    let honoured = second.next().await.unwrap();
    assert_eq!(
        honoured.root().path(["params", "notifications", "resourceSubscriptions"]).unwrap().raw(),
        r#"["test://a"]"#
    );
    assert_eq!(caller.send("subscriptions/listen", r#""notifications":{}"#).await.status, 503);
    drop(first);
    let _third = caller.listen("{}").await;
}

#[tokio::test]
async fn a_malformed_filter_is_refused() {
    let caller = Caller::new(server());
    for members in [
        "",
        r#""notifications":[]"#,
        r#""notifications":{"toolsListChanged":1}"#,
        r#""notifications":{"resourceSubscriptions":"test://a"}"#,
        r#""notifications":{"resourceSubscriptions":[1]}"#,
    ] {
        let answer = caller.send("subscriptions/listen", members).await;
        assert_eq!((answer.status, answer.error().get("code").unwrap().raw()), (400, "-32602"), "{members}");
    }
}

#[tokio::test]
async fn ten_thousand_idle_listeners_are_told_of_one_change() {
    let mut limits = Limits::default();
    limits.subscriptions_of_principal = 10_000;
    let caller = Caller::new(server().limits(limits));
    let mut streams = Vec::new();
    for _ in 0..10_000 {
        let mut stream = caller.listen(r#"{"toolsListChanged":true}"#).await;
        assert!(stream.now().is_some());
        streams.push(stream);
    }
    caller.handle().add_tools([tool("b")]).unwrap();
    assert!(
        streams
            .iter_mut()
            .all(|stream| stream.now().is_some_and(|text| method(&text).ends_with("list_changed")))
    );
}
