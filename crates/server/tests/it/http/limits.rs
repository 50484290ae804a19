//! The rate of an address, before anybody is authenticated and before a body is read.

use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use callgate_server::{
    Content, Effect, HttpOptions, Limits, NoInput, Principal, Rate, RemoteAddress, Server, ServerBuilder,
    Shutdown, Tool, ToolError, TransportSecurity,
};
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Frame};
use tower_service::Service as _;

async fn nothing(_: callgate_server::Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::new())
}

fn builder(calls: u32, burst: u32) -> ServerBuilder {
    let mut limits = Limits::default();
    limits.address = Some(Rate::per_minute(NonZeroU32::new(calls).unwrap(), NonZeroU32::new(burst).unwrap()));
    Server::builder("limits", "1").local_principal(Principal::new("dana")).limits(limits).tool(Tool::new(
        "nothing",
        Effect::Read,
        nothing,
    ))
}

/// A body that nobody may read.
struct Unread;

impl http_body::Body for Unread {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        panic!("the body was read");
    }
}

/// A body that was read and is empty.
#[derive(Default)]
struct Empty;

impl http_body::Body for Empty {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(None)
    }
}

struct Asker {
    service: callgate_server::HttpService,
}

impl Asker {
    async fn ask<B>(&mut self, address: &str, path: &str, body: B) -> (u16, Option<String>, String)
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
    {
        let mut request = http::Request::post(path)
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .body(body)
            .unwrap();
        request.extensions_mut().insert(RemoteAddress(address.parse().unwrap()));
        let answer = self.service.call(request).await.unwrap();
        let wait = answer.headers().get("retry-after").map(|wait| wait.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, wait, String::from_utf8(body.to_vec()).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_past_its_burst_gets_429_with_the_time_to_wait_and_its_body_is_not_read() {
    let server = builder(40, 2).build().unwrap();
    let mut asker = Asker { service: server.http(HttpOptions::default(), &Shutdown::new()) };
    for _ in 0..2 {
        let (status, wait, _) = asker.ask("192.0.2.1:1", "/mcp", Empty).await;
        assert_eq!((status, wait), (401, None), "nobody is known there, but the request was read");
    }
    let (status, wait, body) = asker.ask("192.0.2.1:2", "/mcp", Unread).await;
    assert_eq!((status, wait.as_deref()), (429, Some("2")));
    assert_eq!(
        body,
        r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"this address has asked as often as it may for now","data":{"code":"rate_limited","party":"policy","retry":"after","retryAfterMs":1500,"nextStep":"call again after the time named here"}}}"#
    );
    assert_eq!(asker.ask("192.0.2.2:1", "/mcp", Empty).await.0, 401);
    for local in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        for _ in 0..4 {
            assert_eq!(asker.ask(local, "/mcp", Empty).await.0, 400, "{local}: an empty body is no message");
        }
    }
    assert_eq!(asker.ask("192.0.2.1:1", "/elsewhere", Empty).await.0, 404, "other paths cost nothing");
    tokio::time::advance(Duration::from_millis(1500)).await;
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Empty).await.0, 401);
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Unread).await.0, 429);
}

#[tokio::test(start_paused = true)]
async fn a_changed_rate_counts_after_a_reload_and_what_was_used_still_counts() {
    let server = builder(60, 1).build().unwrap();
    let mut asker = Asker { service: server.http(HttpOptions::default(), &Shutdown::new()) };
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Empty).await.0, 401);
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Unread).await.0, 429);
    server.handle().reload(builder(60, 1)).unwrap();
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Unread).await.0, 429, "a reload gives nothing back");
    server.handle().reload(builder(60, 2)).unwrap();
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Empty).await.0, 401);
    assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Unread).await.0, 429);
}

#[tokio::test(start_paused = true)]
async fn a_proxy_on_another_machine_is_not_counted_as_if_it_were_its_callers() {
    let server = builder(40, 2).build().unwrap();
    let mut options = HttpOptions::default();
    options.security = TransportSecurity::ByProxy;
    let mut asker = Asker { service: server.http(options, &Shutdown::new()) };
    for _ in 0..4 {
        assert_eq!(asker.ask("192.0.2.1:1", "/mcp", Empty).await.0, 401);
    }
}
