//! Case 28: a web page that drives a local server. The kind of fault: a check that comes after the work,
//! or that only some of the routes have.

use crate::cases::fixture;
use crate::cases::harness::call;
use crate::cases::harness::http::Post;

/// Requirements: HTTP-02, HTTP-03.
#[test]
fn a_foreign_origin_or_host_never_reaches_a_tool() {
    let server = fixture::http();
    let port = server.address.port();
    let honest = Post::of(server.address, &call("1", "counts", "{}"));
    let own = |host: &str| format!("{host}:{port}");
    let before = server.calls();
    for (what, post) in [
        (
            "a foreign page",
            honest.clone().with("Host", "evil.example:8080").and("Origin", "http://evil.example:8080"),
        ),
        ("a foreign origin", honest.clone().and("Origin", "http://evil.example")),
        ("no origin to speak of", honest.clone().and("Origin", "null")),
        ("an empty origin", honest.clone().and("Origin", "")),
        ("a name that starts like ours", honest.clone().and("Origin", "http://localhost.evil.example")),
        ("a name that ends like ours", honest.clone().and("Origin", "http://evil-localhost")),
        ("a user that looks like a host", honest.clone().and("Origin", "http://localhost@evil.example")),
        ("an address that starts like ours", honest.clone().and("Origin", "http://127.0.0.1.evil.example")),
        ("no URL", honest.clone().and("Origin", "localhost")),
        (
            "a good and a bad one",
            honest
                .clone()
                .and("Origin", format!("http://{}", own("127.0.0.1")))
                .and("Origin", "http://evil.example"),
        ),
        (
            "a good origin for a foreign host",
            honest.clone().with("Host", "evil.example").and("Origin", format!("http://{}", own("127.0.0.1"))),
        ),
        ("a foreign host", honest.clone().with("Host", "evil.example")),
        ("a foreign host with our port", honest.clone().with("Host", own("evil.example"))),
    ] {
        for path in ["/mcp", "/", "/health", "/metrics", "/mcp/", "/mcp?x=1"] {
            let mut connection = crate::cases::harness::http::Connection::open(server.address);
            connection.write(&post.clone().to(path).bytes());
            let reply = connection.reply();
            assert_eq!(reply.status, 403, "{what} at {path}: {reply:?}");
            assert!(reply.header("access-control-allow-origin").is_none(), "{what} at {path}");
        }
    }
    assert_eq!(server.calls(), before, "the counter of the tool stands still");
}

/// Requirements: HTTP-02.
#[test]
fn our_own_origins_and_hosts_are_served() {
    let server = fixture::http();
    let port = server.address.port();
    let honest = Post::of(server.address, &call("1", "counts", "{}"));
    let before = server.calls();
    for post in [
        honest.clone(),
        honest.clone().and("Origin", format!("http://127.0.0.1:{port}")),
        honest.clone().and("Origin", "http://127.0.0.1:8080"),
        honest.clone().and("Origin", "http://localhost:3000"),
        honest.clone().with("Host", format!("localhost:{port}")),
        honest.clone().with("Host", format!("[::1]:{port}")),
    ] {
        let reply = post.send(server.address);
        assert_eq!(reply.status, 200, "{post:?}: {reply:?}");
    }
    assert_eq!(server.calls() - before, 6);
}

/// Every method and a preflight are judged alike.
///
/// Requirements: HTTP-02, HTTP-03.
#[test]
fn every_method_is_refused_alike() {
    let server = fixture::http();
    for method in ["GET", "DELETE", "OPTIONS", "PUT", "HEAD"] {
        let mut connection = crate::cases::harness::http::Connection::open(server.address);
        connection.write(
            format!("{method} /mcp HTTP/1.1\r\nHost: {}\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n", server.address)
                .as_bytes(),
        );
        assert_eq!(connection.head().status, 403, "{method}");
    }
}
