//! Streams: progress and log messages before a result, and subscriptions.

use std::time::Duration;

use super::fixture::Fixture;
use super::wire::{Call, Connection, events};

/// Requirements: HTTP-13, HTTP-15, HTTP-16, PAT-01, TRN-02.
#[tokio::test]
async fn a_call_with_something_to_say_is_answered_by_a_stream_that_its_response_ends() {
    let fixture = Fixture::new().await;
    let call = Call::listening_tool("say_and_wait", r#"{"ms":20}"#);
    let answer = call.send(fixture.address).await;
    insta::assert_snapshot!("stream_head", answer.show().split_once("\n\n").unwrap().0);
    let events = answer.events();
    let kinds: Vec<_> = events.iter().map(|event| event["method"].as_str()).collect();
    assert_eq!(kinds, [Some("notifications/progress"), Some("notifications/progress"), None]);
    assert!(
        events[..2].iter().all(|event| event["params"]["progressToken"] == "p" && event.get("id").is_none())
    );
    assert_eq!(events[2]["id"], 1);
    assert_eq!(events[2]["result"]["resultType"], "complete");
    fixture.end().await;
}

/// Requirements: HTTP-15.
#[tokio::test]
async fn who_asks_for_nothing_hears_nothing_before_the_result() {
    let fixture = Fixture::new().await;
    let answer = Call::tool("say_and_wait", r#"{"ms":1}"#).send(fixture.address).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    fixture.end().await;
}

/// Requirements: PROG-03, PROG-06.
#[tokio::test]
async fn a_flood_before_the_result_is_cut_to_the_bound_and_keeps_the_newest_progress() {
    for (count, queued) in [(63, 63), (64, 64), (65, 65), (10_000, 65)] {
        let fixture = Fixture::new().await;
        let answer =
            Call::listening_tool("count", &format!(r#"{{"count":{count}}}"#)).send(fixture.address).await;
        let events = answer.events();
        let progress: Vec<_> =
            events.iter().filter_map(|event| event["params"]["progress"].as_f64()).collect();
        assert_eq!(progress.len(), queued, "of {count}");
        assert!(progress.is_sorted_by(|one, next| one < next), "{progress:?}");
        assert_eq!(progress.last(), Some(&f64::from(count)));
        assert_eq!(events.last().unwrap()["id"], 1, "the response ends the stream");
        fixture.end().await;
    }
}

#[tokio::test]
async fn a_silent_stream_carries_comments() {
    let fixture =
        Fixture::with(|options| options.limits.keep_alive_interval = Duration::from_millis(20)).await;
    let mut connection = Connection::open(fixture.address).await;
    connection.write(&Call::listening_tool("say_and_wait", r#"{"ms":600000}"#).bytes()).await;
    connection.head().await;
    let first = connection.chunk().await.unwrap();
    assert!(first.starts_with(b"data: "));
    for _ in 0..3 {
        assert_eq!(connection.chunk().await.unwrap(), b": keep-alive\n\n");
    }
    drop(connection);
    fixture.seen.reach(|seen| seen.cancelled(), 1).await;
    fixture.end().await;
}

#[tokio::test]
async fn an_answer_by_a_stream_does_not_wait_for_acknowledgements() {
    let fixture = Fixture::new().await;
    let mut connection = Connection::open(fixture.address).await;
    let call = Call::listening_tool("say_and_wait", r#"{"ms":0}"#).bytes();
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = std::time::Instant::now();
        connection.write(&call).await;
        assert_eq!(connection.answer().await.status, 200);
        times.push(start.elapsed());
    }
    times.sort();
    // Without TCP_NODELAY each of them waits some 40 ms for a delayed acknowledgement.
    assert!(times[10] < Duration::from_millis(20), "{times:?}");
    fixture.end().await;
}

fn listen(notifications: &str) -> Call {
    Call::modern("subscriptions/listen", &format!(r#""notifications":{notifications}"#))
}

/// Requirements: SUB-01, SUB-02, SUB-03, SUB-06, BASE-58.
#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_hears_what_it_asked_for() {
    let fixture = Fixture::new().await;
    let mut asked = Connection::open(fixture.address).await;
    let mut did_not = Connection::open(fixture.address).await;
    asked.write(&listen(r#"{"toolsListChanged":true}"#).with("\"id\":1", "\"id\":\"s\"").bytes()).await;
    did_not.write(&listen("{}").bytes()).await;
    for (connection, id) in [(&mut asked, serde_json::json!("s")), (&mut did_not, serde_json::json!(1))] {
        let (status, headers) = connection.head().await;
        assert_eq!(status, 200);
        assert!(headers.contains(&(String::from("x-accel-buffering"), String::from("no"))), "{headers:?}");
        let first = events(&String::from_utf8(connection.chunk().await.unwrap()).unwrap());
        assert_eq!(first[0]["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    fixture.server.handle().remove_tools(&["wait"]).unwrap();
    let changed = events(&String::from_utf8(asked.chunk().await.unwrap()).unwrap());
    assert_eq!(changed[0]["method"], "notifications/tools/list_changed");
    assert_eq!(changed[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    assert!(did_not.is_silent(Duration::from_millis(100)).await);
    fixture.end().await;
}

/// Requirements: SUB-06.
#[tokio::test]
async fn a_slow_subscriber_hears_of_many_changes_once() {
    let fixture = Fixture::new().await;
    let mut connection = Connection::open(fixture.address).await;
    connection.write(&listen(r#"{"toolsListChanged":true}"#).bytes()).await;
    connection.head().await;
    connection.chunk().await.unwrap();
    let handle = fixture.server.handle();
    // No await between the changes: the stream cannot be polled in between.
    for name in ["wait", "count", "panics", "chatter"] {
        handle.remove_tools(&[name]).unwrap();
    }
    let changed = events(&String::from_utf8(connection.chunk().await.unwrap()).unwrap());
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(connection.is_silent(Duration::from_millis(100)).await);
    fixture.end().await;
}

#[tokio::test]
async fn two_requests_in_flight_with_one_id_are_both_answered() {
    let fixture = Fixture::new().await;
    let calls = (1..=8).map(|ms| {
        let call = Call::tool("wait", &format!(r#"{{"ms":{ms}}}"#));
        async move { (ms, call.send(fixture.address).await) }
    });
    for (ms, answer) in futures_util::future::join_all(calls).await {
        let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (&body["id"], &body["result"]["structuredContent"]),
            (&1.into(), &ms.into()),
            "{answer:?}"
        );
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_handler_that_panics_is_answered_by_json_and_by_a_stream() {
    let fixture = Fixture::new().await;
    let whole = Call::tool("panics", "{}").send(fixture.address).await;
    let streamed = Call::listening_tool("panics_later", "{}").send(fixture.address).await;
    assert_eq!(whole.status, 200);
    let result: serde_json::Value = serde_json::from_str(&whole.body).unwrap();
    for response in [&result, streamed.events().last().unwrap()] {
        assert_eq!(response["id"], 1);
        assert_eq!(response["result"]["isError"], true, "{response}");
        assert!(!response.to_string().contains("secret"), "{response}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn lists_and_calls_notify_no_subscriber() {
    let fixture = Fixture::new().await;
    let mut connection = Connection::open(fixture.address).await;
    connection.write(&listen(r#"{"toolsListChanged":true}"#).bytes()).await;
    connection.head().await;
    connection.chunk().await.unwrap();
    for _ in 0..5 {
        assert_eq!(Call::modern("tools/list", "").send(fixture.address).await.status, 200);
        assert_eq!(Call::tool("echo", r#"{"text":"hi"}"#).send(fixture.address).await.status, 200);
    }
    assert!(connection.is_silent(Duration::from_millis(100)).await);
    fixture.end().await;
}

#[tokio::test]
async fn an_ordinary_client_reads_results_and_streams() {
    let fixture = Fixture::new().await;
    let client = reqwest::Client::new();
    let send = |call: Call| {
        let mut request = client.post(format!("http://{}/mcp", fixture.address));
        for (name, value) in call.headers.iter().filter(|(name, _)| name != "Host") {
            request = request.header(name, value);
        }
        request.body(call.body).send()
    };
    let whole = send(Call::tool("echo", r#"{"text":"hi"}"#)).await.unwrap();
    let result: serde_json::Value = whole.json().await.unwrap();
    assert_eq!(result["result"]["structuredContent"]["text"], "hi");
    let streamed = send(Call::listening_tool("say_and_wait", r#"{"ms":10}"#)).await.unwrap();
    assert_eq!(streamed.headers()["content-type"], "text/event-stream");
    assert_eq!(events(&streamed.text().await.unwrap()).len(), 3);
    fixture.end().await;
}
