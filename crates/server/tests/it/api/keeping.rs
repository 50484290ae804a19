//! Handles and artifacts of native tools, for callers that the authenticator tells apart.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::digest::Digest;
use callgate_core::policy::LocalPolicy;
use callgate_core::port::{Answer as PortAnswer, Authenticate, Authorization, Credentials};
use callgate_core::principal::Principal;
use callgate_core::refusal::Refusal;
use callgate_protocol::json::{Document, Limits};
use callgate_server::{
    Artifact, Content, Context, Delivery, Effect, HandleScope, NoInput, Server, Tool, ToolError,
};
use http_body_util::BodyExt as _;
use schemars::JsonSchema;
use serde::Deserialize;

use super::caller::Caller;

/// Takes every caller for who they say they are, as `principal@tenant`.
struct Claims;

impl Authenticate for Claims {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> PortAnswer<'a, Result<Arc<Principal>, Refusal>> {
        let Authorization::One(text) = credentials.authorization else {
            return PortAnswer::now(Ok(Arc::new(Principal::new("dana"))));
        };
        let (subject, tenant) = text.split_once('@').unwrap();
        PortAnswer::now(Ok(Arc::new(Principal::new(subject).with_tenant(tenant))))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Basket {
    handle: String,
}

fn basket() -> HandleScope {
    HandleScope::operation("basket").at_version("3")
}

async fn open(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    let handle = context.handles().create(&basket(), "seven apples", Duration::from_secs(60)).await?;
    Ok(Content::text(&handle))
}

async fn show(context: Context<'_>, Basket { handle }: Basket) -> Result<Content, ToolError> {
    let payload = context.handles().check(&handle, &basket()).await?;
    Ok(Content::text(&String::from_utf8_lossy(&payload)))
}

async fn show_as_own(context: Context<'_>, Basket { handle }: Basket) -> Result<Content, ToolError> {
    context.handles().check(&handle, &HandleScope::tool()).await?;
    Ok(Content::text("shown"))
}

async fn close(context: Context<'_>, Basket { handle }: Basket) -> Result<Content, ToolError> {
    context.handles().revoke(&handle, &basket()).await?;
    Ok(Content::text("closed"))
}

async fn report(context: Context<'_>, _: NoInput) -> Result<Artifact, ToolError> {
    let mut file = context.artifact("report.csv", "text/csv").await?;
    file.write("month,total\r\n").await?;
    for month in 1..=12 {
        file.write(format!("{month},{}\r\n", month * 100)).await?;
    }
    Ok(file.finish().await?.with_rows(12))
}

async fn image(context: Context<'_>, _: NoInput) -> Result<Artifact, ToolError> {
    let mut file = context.artifact("dot.png", "image/png").await?;
    file.write([0xff, 0x00]).await?;
    file.finish_for(Duration::from_secs(1)).await
}

async fn undeclared(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    context.artifact("a", "text/plain").await?.discard().await;
    Ok(Content::new())
}

fn caller() -> Caller {
    let server = Server::builder("keeping", "1")
        .authenticate(Claims)
        .policy(LocalPolicy::new(), Digest::of_bytes(b"local"))
        .tool(Tool::new("open", Effect::Read, open))
        .tool(Tool::new("show", Effect::Read, show))
        .tool(Tool::new("show_as_own", Effect::Read, show_as_own))
        .tool(Tool::new("close", Effect::Read, close))
        .tool(Tool::new("report", Effect::Read, report))
        .tool(Tool::new("image", Effect::Read, image))
        .tool(Tool::new("undeclared", Effect::Read, undeclared));
    Caller::new(server)
}

async fn send(caller: &Caller, who: &str, method: &str, members: &str) -> Document {
    let (_, body) = caller.open(method, members, &[("authorization", who)]).await;
    let text = body.collect().await.unwrap().to_bytes();
    callgate_testkit::wire::assert_server_message(
        callgate_protocol::Revision::V2026_07_28,
        Some(method),
        std::str::from_utf8(&text).unwrap(),
    );
    Document::parse(std::str::from_utf8(&text).unwrap(), &Limits::DEFAULT).unwrap()
}

async fn call(caller: &Caller, who: &str, tool: &str, arguments: &str) -> Document {
    send(caller, who, "tools/call", &format!(r#""name":"{tool}","arguments":{arguments}"#)).await
}

fn text(document: &Document) -> String {
    let content = document.root().path(["result", "content"]).unwrap();
    content.items().next().unwrap().get("text").unwrap().as_str().unwrap().into_owned()
}

#[tokio::test]
async fn a_handle_is_good_for_its_caller_tenant_and_operation_until_it_is_revoked() {
    let caller = caller();
    let handle = text(&call(&caller, "dana@a", "open", "{}").await);
    assert!(handle.starts_with("cgh_") && handle.len() == 47, "{handle}");
    let arguments = format!(r#"{{"handle":"{handle}"}}"#);
    assert_eq!(text(&call(&caller, "dana@a", "show", &arguments).await), "seven apples");
    let forged = format!(r#"{{"handle":"{}x"}}"#, &handle[..46]);
    let mut answers = Vec::new();
    for (who, tool, arguments) in [
        ("dana@b", "show", &arguments),
        ("eve@a", "show", &arguments),
        ("eve@a", "close", &arguments),
        ("dana@a", "show_as_own", &arguments),
        ("dana@a", "show", &forged),
    ] {
        answers.push(text(&call(&caller, who, tool, arguments).await));
    }
    assert_eq!(text(&call(&caller, "dana@a", "close", &arguments).await), "closed");
    answers.push(text(&call(&caller, "dana@a", "show", &arguments).await));
    answers.push(text(&call(&caller, "dana@a", "close", &arguments).await));
    answers.dedup();
    assert_eq!(answers.len(), 1, "one answer for all: {answers:?}");
    assert!(answers[0].starts_with("invalid_handle"), "{answers:?}");
}

#[tokio::test]
async fn a_report_is_a_link_that_only_its_caller_reads() {
    let caller = caller();
    let answer = call(&caller, "dana@a", "report", "{}").await;
    let result = answer.root().get("result").unwrap();
    let link = result.get("content").unwrap().items().nth(1).unwrap();
    let uri = link.get("uri").unwrap().as_str().unwrap().into_owned();
    assert!(link.get("mimeType").unwrap().is_str("text/csv"));
    assert!(link.path(["_meta", "dev.callgate/artifact", "digest"]).is_some());
    assert_eq!(result.path(["structuredContent", "artifact", "rows"]).unwrap().raw(), "12");

    let read =
        async |who: &str, uri: &str| send(&caller, who, "resources/read", &format!(r#""uri":"{uri}""#)).await;
    let whole = read("dana@a", &uri).await;
    let contents = whole.root().path(["result", "contents"]).unwrap().items().next().unwrap();
    let whole_text = contents.get("text").unwrap().as_str().unwrap().into_owned();
    assert!(whole_text.starts_with("month,total\r\n1,100\r\n") && whole_text.ends_with("12,1200\r\n"));
    assert_eq!(link.get("size").unwrap().raw(), whole_text.len().to_string());
    assert!(contents.path(["_meta", "dev.callgate/artifact", "next"]).is_none());
    let (mut next, mut parts) = (Some(format!("{uri}?length=30")), String::new());
    while let Some(uri) = next {
        let part = read("dana@a", &uri).await;
        let contents = part.root().path(["result", "contents"]).unwrap().items().next().unwrap();
        let text = contents.get("text").unwrap().as_str().unwrap();
        assert!(text.ends_with('\n') && text.len() <= 30);
        parts.push_str(&text);
        let next_part = contents.path(["_meta", "dev.callgate/artifact", "next"]);
        next = next_part.and_then(|next| next.as_str()).map(std::borrow::Cow::into_owned);
    }
    assert_eq!(parts, whole_text);

    // Foreign and unknown are one answer.
    let foreign = read("dana@b", &uri).await.text().replace(&uri, "URI");
    let unknown_uri = format!("artifact://callgate/{}", "0".repeat(40));
    let unknown = read("dana@a", &unknown_uri).await.text().replace(&unknown_uri, "URI");
    assert_eq!(foreign, unknown);
    assert!(foreign.contains("Resource not found"), "{foreign}");
    // And no list tells that it is there.
    for method in ["resources/list", "resources/templates/list"] {
        let list = send(&caller, "dana@a", method, "").await;
        assert!(!list.text().contains("artifact://"), "{}", list.text());
    }
}

#[tokio::test]
async fn bytes_come_as_a_blob_and_a_tool_must_say_that_it_makes_artifacts() {
    let caller = caller();
    let answer = call(&caller, "dana@a", "image", "{}").await;
    let uri = answer.root().path(["result", "structuredContent", "artifact", "uri"]).unwrap();
    let read = send(&caller, "dana@a", "resources/read", &format!(r#""uri":{}"#, uri.raw())).await;
    let contents = read.root().path(["result", "contents"]).unwrap().items().next().unwrap();
    assert_eq!(contents.get("blob").unwrap().as_str().as_deref(), Some("/wA="));
    assert!(text(&call(&caller, "dana@a", "undeclared", "{}").await).starts_with("tool_failed"));
}

#[tokio::test]
async fn resources_are_offered_where_a_tool_makes_artifacts_and_only_there() {
    async fn fine(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
        Ok(Content::text("fine"))
    }
    for (delivery, offered) in [(Delivery::Inline, false), (Delivery::Overflow, true)] {
        let tool = Tool::new("t", Effect::Read, fine).delivery(delivery);
        let caller = Caller::new(Server::builder("keeping", "1").tool(tool));
        let discovered = caller.send("server/discover", "").await;
        let has = discovered.result().path(["capabilities", "resources"]).is_some();
        assert_eq!(has, offered, "{delivery:?}");
    }
}
