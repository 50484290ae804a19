//! The service without our accept loop, as any server of tower services calls it.

use callgate_server::{HttpOptions, RemoteAddress, Shutdown};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use tower_service::Service as _;

use super::fixture::Fixture;
use super::wire::Call;

fn request(call: &Call) -> http::Request<Full<Bytes>> {
    let mut request = http::Request::post("/mcp");
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    request.body(Full::from(call.body.clone())).unwrap()
}

#[tokio::test]
async fn a_caller_is_local_only_where_its_address_is_known_and_no_proxy_speaks_for_it() {
    let fixture = Fixture::new().await;
    let mut service = fixture.server.http(HttpOptions::default(), &Shutdown::new());
    let echo = Call::tool("echo", r#"{"text":"hi"}"#);
    let from = |mut request: http::Request<_>, address: &str| {
        request.extensions_mut().insert(RemoteAddress(address.parse().unwrap()));
        request
    };
    let local = service.call(from(request(&echo), "127.0.0.1:9")).await.unwrap();
    assert_eq!(local.status(), 200);
    let body = local.into_body().collect().await.unwrap().to_bytes();
    assert!(body.ends_with(b"}"));
    let mapped = service.call(from(request(&echo), "[::ffff:127.0.0.1]:9")).await.unwrap();
    assert_eq!(mapped.status(), 200);
    let before = fixture.seen.started();
    let forwarded = echo.clone().header("X-Forwarded-For", "10.0.0.1");
    for refused in [
        request(&echo),
        from(request(&echo), "10.0.0.1:9"),
        from(request(&forwarded), "127.0.0.1:9"),
        from(request(&echo.clone().header("Forwarded", "for=10.0.0.1")), "127.0.0.1:9"),
    ] {
        let answer = service.call(refused).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"), "{body:?}");
    }
    assert_eq!(fixture.seen.started(), before, "remote callers are nobody here");
    fixture.end().await;
}
