//! Questions to a legacy client: their bounds, and what becomes of those that nobody answers.

use std::time::Duration;

use callgate_protocol::json::Document;

use super::conversation::{Conversation, code, id};
use crate::LegacyLimits;
use crate::stdio::StdioLimits;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}"#;

async fn start(change: impl FnOnce(&mut LegacyLimits)) -> Conversation {
    let mut limits = StdioLimits::default();
    change(&mut limits.legacy);
    let mut client = Conversation::start(limits);
    client.send(HELLO).await;
    assert_eq!(id(&client.receive().await), "0");
    client
}

fn ask(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"ask"}}}}"#)
}

fn answer(question: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{question},"result":{result}}}"#)
}

fn method(message: &Document) -> String {
    message.root().get("method").and_then(|method| Some(method.as_str()?.into_owned())).unwrap_or_default()
}

const DECLINE: &str = r#"{"action":"decline"}"#;

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_is_withdrawn_and_the_call_fails() {
    let mut client = start(|limits| limits.question_timeout = Duration::from_secs(60)).await;
    let since = tokio::time::Instant::now();
    client.send(&ask("1")).await;
    let question = client.receive().await;
    assert_eq!(method(&question), "elicitation/create");
    let withdrawn = client.receive().await;
    assert_eq!(method(&withdrawn), "notifications/cancelled");
    assert_eq!(withdrawn.root().path(["params", "requestId"]).unwrap().raw(), id(&question));
    let failed = client.receive().await;
    assert_eq!(id(&failed), "1");
    assert!(failed.text().contains("in time") && failed.text().contains(r#""isError":true"#));
    assert_eq!(since.elapsed().as_secs(), 60);
    // An answer that comes too late answers nothing.
    client.send(&answer(id(&question), DECLINE)).await;
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_cancelled_call_is_withdrawn() {
    let mut client = start(|_| {}).await;
    client.send(&ask("1")).await;
    let question = client.receive().await;
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    let withdrawn = client.receive().await;
    assert_eq!(withdrawn.root().path(["params", "requestId"]).unwrap().raw(), id(&question));
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn open_questions_and_rounds_are_bounded() {
    let mut client = start(|limits| {
        limits.questions = 2;
        limits.rounds = 3;
    })
    .await;
    for call in ["1", "2"] {
        client.send(&ask(call)).await;
    }
    let mut questions = [client.receive().await, client.receive().await];
    client.send(&ask("3")).await;
    let refused = client.receive().await;
    assert_eq!(id(&refused), "3");
    assert!(refused.text().contains("too many unanswered questions"), "{}", refused.text());
    // The two that are open go on until they have asked as often as they may.
    for _ in 1..=3 {
        for question in &mut questions {
            client.send(&answer(id(question), DECLINE)).await;
            *question = client.receive().await;
        }
    }
    for question in &mut questions {
        client.send(&answer(id(question), DECLINE)).await;
        let failed = client.receive().await;
        assert!(failed.text().contains("asked again too often"), "{}", failed.text());
    }
    assert!(client.end().await.is_empty());
}

/// The client of one call cannot answer the question of another, nor with what is no answer.
#[tokio::test(start_paused = true)]
async fn answers_reach_the_call_that_asked() {
    let mut client = start(|_| {}).await;
    for call in ["1", "2"] {
        client.send(&ask(call)).await;
    }
    let (one, two) = (client.receive().await, client.receive().await);
    client.send(&answer("\"1\"", DECLINE)).await;
    client.send(&answer("77", DECLINE)).await;
    let second = r#"{"action":"accept","content":{"name":"second"}}"#;
    client.send(&answer(id(&two), second)).await;
    let answered = client.receive().await;
    assert_eq!(id(&answered), "2");
    assert!(answered.text().contains("second"));
    client.send(&answer(id(&one), "7")).await;
    let failed = client.receive().await;
    assert_eq!((id(&failed), code(&failed)), ("1", None));
    assert!(failed.text().contains(r#""isError":true"#), "{}", failed.text());
    assert!(client.end().await.is_empty());
}
