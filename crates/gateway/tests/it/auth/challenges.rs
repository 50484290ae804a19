//! What refused callers are told, in both eras, and where they are pointed to.

use callgate_protocol::Revision;
use callgate_testkit::issuer::Behaviour;
use callgate_testkit::wire::assert_server_message;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};

use super::{RESOURCE, Setting, answer, challenge, file, files, json, judged, messages, rows};

/// Requirements: AUTH-RS-01, AUTH-RS-09, AUTH-RS-12
#[tokio::test]
async fn a_request_with_a_credential_is_judged_by_it_alone() {
    let setting = Setting::new("").await;
    let local = rows(answer(setting.call("count")).await).await;
    assert_eq!(local[0]["n"], 4, "without a credential the local caller sees tenant-a");
    let own = rows(setting.call_with("count", &setting.token("")).await).await;
    assert_eq!(own[0]["n"], 1, "a token sees its own tenant");
    for bad in ["Bearer nonsense.nonsense.nonsense", "Bearer", "Basic ZGFuYTo=", ""] {
        let response = answer(setting.call("count").header(AUTHORIZATION, bad)).await;
        assert!(matches!(response.status().as_u16(), 400 | 401), "never local again: {bad:?}");
        let text = response.text().await.unwrap();
        assert!(!text.contains("rows"), "{text}");
    }
    let forwarded = answer(setting.call("count").header("x-forwarded-for", "203.0.113.7")).await;
    assert_eq!(forwarded.status(), 401, "whoever comes through a proxy is not local");
}

/// A proxy on this machine that says nothing of those it speaks for makes everybody look local.
#[tokio::test]
async fn whoever_connects_from_this_machine_needs_a_credential_unless_the_file_says_otherwise() {
    let issuer = callgate_testkit::issuer::Issuer::start().await;
    let key = callgate_testkit::issuer::SigningKey::p256("key-1");
    issuer.publish(&[&key]);
    let text = file(&issuer, "").replace("loopback = true\n", "");
    let setting = Setting::serve(files(&text), issuer, key).await;
    let stranger = answer(setting.call("count")).await;
    assert_eq!(stranger.status(), 401);
    assert!(challenge(&stranger).starts_with("Bearer "));
    let known = setting.call_with("count", &setting.token("")).await;
    assert_eq!(rows(known).await[0]["n"], 1);
    let said = Setting::new("").await;
    for header in
        ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"]
    {
        let response = answer(said.call("count").header(header, "203.0.113.7")).await;
        assert_eq!(response.status(), 401, "{header}");
    }
}

/// Requirements: AUTH-RS-04, AUTH-RS-05, AUTH-RS-06, AUTH-RS-18
#[tokio::test]
async fn the_metadata_is_served_where_clients_look_for_it() {
    let setting = Setting::new("scopes_supported = [\"invoices:read\", \"offline_access\"]").await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let response = setting.client.get(setting.url(path)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "application/json");
        let document = json(response).await;
        assert_eq!(
            document,
            serde_json::json!({
                "resource": RESOURCE,
                "authorization_servers": [setting.issuer.url()],
                "scopes_supported": ["invoices:read"],
                "bearer_methods_supported": ["header"],
            })
        );
    }
    let missing = setting.client.get(setting.url("/.well-known/oauth-protected-resource/x")).send().await;
    assert_eq!(missing.unwrap().status(), 404);
    let foreign = setting
        .client
        .get(setting.url("/.well-known/oauth-protected-resource"))
        .header("host", "evil.example.com")
        .send()
        .await;
    assert_eq!(foreign.unwrap().status(), 403, "the doors are in front of it");
}

/// Requirements: AUTH-RS-06, AUTH-RS-07, AUTH-RS-11, AUTH-RS-13, AUTH-RS-16
#[tokio::test]
async fn each_refusal_has_its_status_and_its_challenge() {
    let setting = Setting::new("initial_scopes = [\"invoices:read\"]").await;
    let metadata = setting.metadata();
    let far = |request: reqwest::RequestBuilder| request.header("x-forwarded-for", "203.0.113.7");
    for method in
        ["tools/call", "tools/list", "server/discover", "subscriptions/listen", "no/such", "prompts/get"]
    {
        let response = answer(far(setting.request(method, ""))).await;
        assert_eq!(response.status(), 401, "{method}");
        assert_eq!(challenge(&response), format!("Bearer scope=\"invoices:read\", {metadata}"), "{method}");
    }
    let malformed = |value: &str| far(setting.call("count")).header(AUTHORIZATION, value.to_owned());
    let response = answer(malformed("Bearer a b")).await;
    assert_eq!(response.status(), 400);
    assert!(challenge(&response).starts_with("Bearer error=\"invalid_request\", "), "{response:?}");
    let twice = setting.token("");
    let twice = malformed(&format!("Bearer {twice}")).header(AUTHORIZATION, format!("Bearer {twice}"));
    assert_eq!(answer(twice).await.status(), 400, "two credentials prove nothing about either");
    let response = answer(malformed("Basic ZGFuYTo=")).await;
    assert_eq!(response.status(), 401);
    assert!(!challenge(&response).contains("error="), "another scheme is no bad token");
    let response = setting.call_with("count", "opaque").await;
    assert_eq!(response.status(), 401);
    let said = challenge(&response);
    assert!(
        said.starts_with("Bearer error=\"invalid_token\", error_description=\"") && said.ends_with(&metadata),
        "{said}"
    );
    let body = json(response).await;
    assert_eq!(body["error"]["data"]["code"], "invalid_token");
}

/// Requirements: AUTH-RS-09, AUTH-RS-13
#[tokio::test]
async fn what_is_no_call_is_refused_to_strangers_too() {
    let setting = Setting::new("").await;
    let send = |body: &'static str, token: Option<String>| {
        let mut request = setting
            .client
            .post(setting.url("/mcp"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("x-forwarded-for", "203.0.113.7")
            .body(body);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        answer(request)
    };
    for (body, status) in [
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, 202),
        ("not json", 400),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 400),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400),
    ] {
        let stranger = send(body, None).await;
        assert_eq!(stranger.status(), 401, "{body}");
        assert!(challenge(&stranger).starts_with("Bearer "), "{body}");
        let known = send(body, Some(setting.token(""))).await;
        assert_eq!(known.status(), status, "{body}");
    }
}

/// Requirements: AUTH-RS-13, AUTH-RS-14, AUTH-RS-15
#[tokio::test]
async fn a_call_that_needs_scopes_is_answered_with_all_of_them_at_once() {
    let setting = Setting::new(
        "required_scopes = [\"mcp\"]\nimplies = { \"all\" = [\"invoices:read\", \"reports:read\"] }",
    )
    .await;
    let metadata = setting.metadata();
    let response = setting.call_with("sums", &setting.token("mcp invoices:read")).await;
    assert_eq!(response.status(), 403);
    let expected = format!(
        "Bearer error=\"insufficient_scope\", error_description=\"the credential lacks a scope that this tool needs\", scope=\"mcp invoices:read reports:read\", {metadata}"
    );
    assert_eq!(challenge(&response), expected);
    assert_eq!(json(response).await["error"]["data"]["scopes"][1], "reports:read");
    let response = setting.call_with("count", &setting.token("all")).await;
    assert_eq!(response.status(), 403);
    assert!(challenge(&response).contains("scope=\"mcp\""), "{response:?}");
    // Without any scope, those of the server and of the tool are told together, whatever the arguments are.
    let bare = setting.token("");
    let response = setting.call_with("sums", &bare).await;
    assert_eq!(response.status(), 403);
    assert!(challenge(&response).contains("scope=\"mcp invoices:read reports:read\""), "{response:?}");
    let wrong =
        setting.request("tools/call", r#""name":"sums","arguments":{"no":1},"#).header("mcp-name", "sums");
    let response = answer(wrong.header(AUTHORIZATION, format!("Bearer {bare}"))).await;
    assert_eq!(response.status(), 403);
    for (method, params) in [("tools/list", ""), ("server/discover", ""), ("no/such", "")] {
        let request = setting.request(method, params).header(AUTHORIZATION, format!("Bearer {bare}"));
        let response = answer(request).await;
        assert_eq!(response.status(), 403, "{method}");
        assert!(challenge(&response).contains("scope=\"mcp\""), "{method}: {response:?}");
    }
    for scope in ["mcp invoices:read reports:read", "mcp all"] {
        let response = setting.call_with("sums", &setting.token(scope)).await;
        assert_eq!(rows(response).await[0]["n"], 100, "{scope}");
    }
}

/// Requirements: AUTH-RS-13, AUTH-RS-14
#[tokio::test]
async fn clients_of_earlier_revisions_are_challenged_in_the_same_way() {
    let setting = Setting::new("").await;
    let post = |token: Option<&str>, session: Option<&str>, body: &'static str| {
        let mut request = setting
            .client
            .post(setting.url("/mcp"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("x-forwarded-for", "203.0.113.7")
            .body(body);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        judged(Revision::V2025_11_25, request)
    };
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sums","arguments":{}}}"#;
    let response = post(None, None, hello).await;
    assert_eq!(
        (response.status().as_u16(), challenge(&response)),
        (401, format!("Bearer {}", setting.metadata()))
    );
    let narrow = setting.token("");
    let response = post(Some(&narrow), None, hello).await;
    assert_eq!(response.status(), 200);
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let response = post(None, Some(&session), call).await;
    assert_eq!(response.status(), 401, "a session proves nothing");
    let response = post(Some(&narrow), Some(&session), call).await;
    assert_eq!(response.status(), 403);
    assert!(challenge(&response).contains("scope=\"invoices:read reports:read\""), "{response:?}");
    assert_eq!(json(response).await["id"], 2);
    let wide = setting.token("invoices:read reports:read");
    let response = post(Some(&wide), Some(&session), call).await;
    assert_eq!(response.status(), 200, "the session goes on with the better token");
    let stream = setting
        .client
        .get(setting.url("/mcp"))
        .header("mcp-session-id", &session)
        .header(ACCEPT, "text/event-stream");
    let response = judged(Revision::V2025_11_25, stream.header("x-forwarded-for", "203.0.113.7")).await;
    assert_eq!(response.status(), 401, "also for the stream");
    assert!(challenge(&response).starts_with("Bearer "));
}

/// Requirements: AUTH-RS-13
#[tokio::test]
async fn a_message_without_revision_and_session_is_refused_to_strangers_first() {
    let setting = Setting::new("").await;
    let send = |method: reqwest::Method, body: &'static str, session: bool, token: Option<String>| {
        let mut request = setting
            .client
            .request(method, setting.url("/mcp"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("x-forwarded-for", "203.0.113.7")
            .body(body);
        if session {
            // Sent twice, which is wrong in itself.
            request = request.header("mcp-session-id", "0").header("mcp-session-id", "1");
        }
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        judged(Revision::V2025_11_25, request)
    };
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (body, session) in [
        (ping, false),
        (ping, true),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, false),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, false),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, false),
    ] {
        let stranger = send(reqwest::Method::POST, body, session, None).await;
        assert_eq!(stranger.status(), 401, "{body}");
        assert!(challenge(&stranger).starts_with("Bearer "), "{body}");
        let text = stranger.text().await.unwrap();
        assert!(!text.contains("\"result\""), "{text}");
        let known = send(reqwest::Method::POST, body, session, Some(setting.token(""))).await;
        assert_eq!(known.status(), 400, "{body}");
    }
    for method in [reqwest::Method::GET, reqwest::Method::DELETE] {
        let stranger = send(method.clone(), "", true, None).await;
        assert_eq!(stranger.status(), 401, "{method}");
    }
}

/// Requirements: AUTH-RS-15
#[tokio::test]
async fn a_session_tells_all_scopes_of_a_call_at_once() {
    let setting = Setting::new("required_scopes = [\"mcp\"]").await;
    let post = |token: String, session: Option<String>, body: &'static str| {
        let mut request = setting
            .client
            .post(setting.url("/mcp"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .body(body);
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        judged(Revision::V2025_11_25, request)
    };
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sums","arguments":{}}}"#;
    assert_eq!(post(setting.token(""), None, hello).await.status(), 403);
    let opened = post(setting.token("mcp"), None, hello).await;
    assert_eq!(opened.status(), 200);
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let refused = post(setting.token(""), Some(session), call).await;
    assert_eq!(refused.status(), 403);
    assert!(challenge(&refused).contains("scope=\"mcp invoices:read reports:read\""), "{refused:?}");
}

/// A stream that stays open would hide that nothing will come, and keep the session in use for ever.
#[tokio::test]
async fn the_stream_of_a_session_ends_with_the_token_that_opened_it() {
    let setting = Setting::new("leeway_s = 0").await;
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let opened = setting
        .client
        .post(setting.url("/mcp"))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .header(AUTHORIZATION, format!("Bearer {}", setting.token("")))
        .body(hello);
    let opened = judged(Revision::V2025_11_25, opened).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let stream = setting
        .client
        .get(setting.url("/mcp"))
        .header("mcp-session-id", session)
        .header(ACCEPT, "text/event-stream")
        .header(AUTHORIZATION, format!("Bearer {}", setting.token_for(2, "")));
    let stream = stream.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let ended = tokio::time::timeout(std::time::Duration::from_secs(10), stream.text()).await;
    assert!(ended.is_ok(), "the stream ends");
}

/// Requirements: AUTH-RS-11
#[tokio::test]
async fn a_subscription_ends_with_the_token_that_opened_it() {
    let setting = Setting::new("leeway_s = 0").await;
    let token = setting.token_for(2, "");
    let params = r#""notifications":{"toolsListChanged":true},"#;
    let request =
        setting.request("subscriptions/listen", params).header(AUTHORIZATION, format!("Bearer {token}"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let events = tokio::time::timeout(std::time::Duration::from_secs(10), response.text()).await;
    let events = events.expect("the stream ends").unwrap();
    for message in messages(&events) {
        assert_server_message(Revision::V2026_07_28, Some("subscriptions/listen"), message);
    }
    assert!(events.contains("notifications/subscriptions/acknowledged"), "{events}");
    assert!(events.contains(r#""resultType":"complete""#), "it ends with its result: {events}");
}

/// Requirements: AUTH-RS-07
#[tokio::test]
async fn a_page_of_a_listed_origin_may_read_the_challenge() {
    let setting = Setting::new("[http]\norigins = [\"https://app.example.com\"]").await;
    let request =
        setting.call("count").header(AUTHORIZATION, "Bearer x").header("origin", "https://app.example.com");
    let response = answer(request).await;
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example.com");
    let exposed = response.headers()["access-control-expose-headers"].to_str().unwrap().to_owned();
    assert!(exposed.contains("WWW-Authenticate"), "{exposed}");
}

#[tokio::test]
async fn keys_and_tokens_are_kept_over_a_reload_that_does_not_touch_them() {
    let setting = Setting::new("").await;
    let token = setting.token("");
    assert_eq!(setting.call_with("count", &token).await.status(), 200);
    setting.issuer.behave("/jwks", Behaviour::Status(503));
    let text = std::fs::read_to_string(setting.files.at("callgate.toml")).unwrap();
    setting.files.write("callgate.toml", &text.replace("Counts the invoices", "Counts all invoices"));
    setting.reloader.as_ref().unwrap().reload().unwrap();
    assert_eq!(setting.call_with("count", &token).await.status(), 200, "the issuer is not asked again");
    let stricter = text.replace("cache_s = 1", "cache_s = 1\nrequired_scopes = [\"mcp\"]");
    setting.issuer.publish(&[&setting.key]);
    setting.files.write("callgate.toml", &stricter);
    setting.reloader.as_ref().unwrap().reload().unwrap();
    assert_eq!(setting.call_with("count", &token).await.status(), 403, "what was remembered is judged anew");
}

#[tokio::test]
async fn static_tokens_work_beside_others_and_end() {
    use sha2::{Digest as _, Sha256};
    let digest =
        |token: &str| Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let setting = Setting::new(&format!(
        "[auth.token.ci]\ndigest = \"sha256:{}\"\ntenant = \"tenant-b\"\nscopes = [\"invoices:read\"]\n[auth.token.old]\ndigest = \"sha256:{}\"\ntenant = \"tenant-b\"\nexpires = \"2020-01-01T00:00:00Z\"\n",
        digest("correct-horse"),
        digest("battery-staple")
    ))
    .await;
    let response = setting.call_with("count", "correct-horse").await;
    assert_eq!(rows(response).await[0]["n"], 1, "of its own tenant");
    assert_eq!(setting.call_with("sums", "correct-horse").await.status(), 403);
    assert_eq!(setting.call_with("count", "battery-staple").await.status(), 401, "it has expired");
    assert_eq!(setting.call_with("count", "correct-hors").await.status(), 401);
    assert_eq!(setting.call_with("count", &setting.token("")).await.status(), 200);
}
