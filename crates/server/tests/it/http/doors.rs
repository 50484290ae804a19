//! Who may speak to the server from a browser.

use super::fixture::Fixture;
use super::wire::Call;

fn echo() -> Call {
    Call::tool("echo", r#"{"text":"hi"}"#)
}

/// Requirements: HTTP-02, HTTP-03.
#[tokio::test]
async fn a_foreign_origin_or_host_is_refused_on_every_route_and_nothing_runs() {
    let fixture = Fixture::new().await;
    let foreign = [
        ("evil.example:8080", Some("http://evil.example:8080")),
        ("evil.example", None),
        ("127.0.0.1", Some("null")),
        ("127.0.0.1", Some("http://localhost.evil.example")),
        ("127.0.0.1", Some("http://127.0.0.1.evil.example:8080")),
        ("127.0.0.1", Some("http://evil.example#@127.0.0.1")),
        ("127.0.0.1", Some("http://user@127.0.0.1")),
        ("127.0.0.1", Some("file://localhost")),
        ("127.0.0.1", Some("http://localhost/path")),
        ("127.0.0.1", Some("")),
        ("localhost.evil.example", None),
        ("127.0.0.1.evil.example", None),
        ("evil.example", Some("http://127.0.0.1:8080")),
        ("10.1.2.3", None),
        ("[::2]", None),
    ];
    let lines = [
        "POST /mcp HTTP/1.1",
        "GET /mcp HTTP/1.1",
        "DELETE /mcp HTTP/1.1",
        "OPTIONS /mcp HTTP/1.1",
        "GET /healthz HTTP/1.1",
        "GET /metrics HTTP/1.1",
        "POST /anything HTTP/1.1",
    ];
    for line in lines {
        for (host, origin) in foreign {
            let mut call = echo().line(line).header("Host", host).header("Mcp-Session-Id", "x");
            if let Some(origin) = origin {
                call = call.header("Origin", origin);
            }
            let answer = call.send(fixture.address).await;
            assert_eq!(answer.status, 403, "{line} {host} {origin:?}: {answer:?}");
            assert_eq!(answer.code(), Some(-32600), "{answer:?}");
            assert!(!answer.body.contains("\"id\""), "{answer:?}");
        }
    }
    assert_eq!(fixture.seen.started(), 0);
    let refused_origin = echo().header("Origin", "http://evil.example").send(fixture.address).await;
    let refused_host = echo().header("Host", "evil.example").send(fixture.address).await;
    insta::assert_snapshot!("foreign_origin", refused_origin.show());
    insta::assert_snapshot!("foreign_host", refused_host.show());
    fixture.end().await;
}

/// Requirements: HTTP-02.
#[tokio::test]
async fn loopback_names_the_own_address_and_listed_names_are_let_in() {
    let fixture = Fixture::with(|options| {
        options.hosts = vec![String::from("mcp.example"), String::from("Other.example:8443")];
        options.origins = vec![String::from("https://app.example")];
    })
    .await;
    let own = fixture.address.to_string();
    let good = [
        (own.as_str(), None),
        ("localhost", None),
        ("LocalHost:1", None),
        ("127.0.0.1:9", Some("http://127.0.0.1:8080")),
        ("localhost:65535", None),
        ("127.0.0.1:10000", None),
        ("127.9.9.9", Some("http://localhost:6274")),
        ("[::1]:80", Some("http://[::1]:3000")),
        ("mcp.example", None),
        ("MCP.example:444", Some("https://mcp.example:444")),
        ("other.example:8443", Some("https://app.example")),
        ("localhost", Some("HTTPS://APP.example")),
    ];
    for (host, origin) in good {
        let mut call = echo().header("Host", host);
        if let Some(origin) = origin {
            call = call.header("Origin", origin);
        }
        let answer = call.send(fixture.address).await;
        assert_eq!(answer.status, 200, "{host} {origin:?}: {answer:?}");
    }
    for (host, origin) in
        [("other.example", None), ("localhost", Some("http://app.example")), ("x.mcp.example", None)]
    {
        let mut call = echo().header("Host", host);
        if let Some(origin) = origin {
            call = call.header("Origin", origin);
        }
        assert_eq!(call.send(fixture.address).await.status, 403, "{host} {origin:?}");
    }
    assert_eq!(fixture.seen.started(), good.len());
    fixture.end().await;
}

/// Requirements: HTTP-02.
#[tokio::test]
async fn a_request_whose_host_is_missing_repeated_or_malformed_is_refused() {
    let fixture = Fixture::new().await;
    let calls = [
        echo().without("Host"),
        echo().line("POST /mcp HTTP/1.0").without("Host"),
        echo().also("Host", "127.0.0.1"),
        echo().header("Host", ""),
        echo().header("Host", "user@127.0.0.1"),
        echo().header("Host", "127.0.0.1:port"),
        echo().header("Host", "127.0.0.1:65536"),
        echo().header("Host", "localhost:99999"),
        echo().header("Host", "localhost:"),
        echo().header("Host", ":80"),
        echo().header("Host", "[::1"),
        echo().header("Host", "localhost/mcp"),
    ];
    for call in calls {
        let answer = call.send(fixture.address).await;
        assert_eq!((answer.status, answer.code()), (400, Some(-32600)), "{:?}: {answer:?}", call.headers);
    }
    insta::assert_snapshot!("bad_host", echo().without("Host").send(fixture.address).await.show());
    let absolute = echo().line("POST http://evil.example/mcp HTTP/1.1").send(fixture.address).await;
    assert_eq!(absolute.status, 403, "the authority of the target counts as well: {absolute:?}");
    let twice = echo().header("Origin", "http://localhost").also("Origin", "http://evil.example");
    assert_eq!(twice.send(fixture.address).await.status, 403);
    assert_eq!(fixture.seen.started(), 0);
    fixture.end().await;
}

#[tokio::test]
async fn a_page_of_a_listed_origin_may_call_and_read_and_no_other_may() {
    let fixture = Fixture::with(|options| options.origins = vec![String::from("https://app.example")]).await;
    let preflight = |origin: &str| {
        Call::raw("")
            .line("OPTIONS /mcp HTTP/1.1")
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "content-type,mcp-method,mcp-param-text")
    };
    let answer = preflight("https://app.example").send(fixture.address).await;
    insta::assert_snapshot!("preflight", answer.show());
    let read = echo().header("Origin", "https://app.example").send(fixture.address).await;
    assert_eq!(read.header("access-control-allow-origin"), Some("https://app.example"));
    let refused = echo()
        .header("Origin", "https://app.example")
        .header("Accept", "text/html")
        .send(fixture.address)
        .await;
    assert_eq!(
        (refused.status, refused.header("access-control-allow-origin")),
        (406, Some("https://app.example"))
    );
    assert_eq!(preflight("https://evil.example").send(fixture.address).await.status, 403);
    let local = preflight("http://localhost:3000").send(fixture.address).await;
    assert_eq!((local.status, local.header("access-control-allow-origin")), (405, None));
    let local = echo().header("Origin", "http://localhost:3000").send(fixture.address).await;
    assert_eq!((local.status, local.header("access-control-allow-origin")), (200, None));
    fixture.end().await;
}
