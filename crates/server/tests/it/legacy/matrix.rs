//! Each revision on each transport that serves it: what its clients can do, and that every message fits its
//! schema.

use callgate_protocol::Revision;

use super::client::{Client, EVERYTHING, Over};
use crate::stdio::child::{code_of, parse};

/// The four earlier revisions, each with the transports that serve it.
const SERVED: [(Revision, Over); 7] = [
    (Revision::V2024_11_05, Over::Stdio),
    (Revision::V2025_03_26, Over::Stdio),
    (Revision::V2025_06_18, Over::Stdio),
    (Revision::V2025_11_25, Over::Stdio),
    (Revision::V2025_03_26, Over::Http),
    (Revision::V2025_06_18, Over::Http),
    (Revision::V2025_11_25, Over::Http),
];

/// Requirements: LEG-01, LEG-03, LEG-04.
#[tokio::test]
async fn every_method_of_a_revision_is_answered_as_the_revision_says() {
    for (revision, over) in SERVED {
        let mut client = Client::open(over, revision, EVERYTHING).await;
        for (method, params) in [
            ("ping", "{}"),
            ("logging/setLevel", r#"{"level":"info"}"#),
            ("resources/subscribe", r#"{"uri":"fixture://note"}"#),
            ("resources/unsubscribe", r#"{"uri":"fixture://note"}"#),
        ] {
            let answer = client.ask(method, params).await;
            assert!(answer.contains(r#""result":{}"#), "{revision} {over:?} {method}: {answer}");
        }
        for (method, params, expected) in [
            ("tools/list", "{}", r#""name":"echo""#),
            ("tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#, r#"{\"text\":\"x\"}"#),
            ("tools/call", r#"{"name":"panic"}"#, r#""isError":true"#),
            ("tools/call", r#"{"name":"echo","arguments":{}}"#, r#""isError":true"#),
            ("resources/list", "{}", r#""uri":"fixture://note""#),
            ("resources/templates/list", "{}", r#""resourceTemplates":[]"#),
            ("resources/read", r#"{"uri":"fixture://note"}"#, r#""text":"a note""#),
            ("prompts/list", "{}", r#""name":"topic""#),
            ("prompts/get", r#"{"name":"topic","arguments":{"topic":"tea"}}"#, "Write about tea."),
        ] {
            let answer = client.ask(method, params).await;
            assert!(answer.contains(expected), "{revision} {over:?} {method}: {answer}");
        }
    }
}

#[tokio::test]
async fn refusals_have_the_codes_of_the_revision() {
    for (revision, over) in SERVED {
        let mut client = Client::open(over, revision, "{}").await;
        for (method, params, code) in [
            ("resources/read", r#"{"uri":"fixture://nothing"}"#, -32002),
            ("tools/call", r#"{"name":"nothing"}"#, -32602),
            ("tools/call", "{}", -32602),
            // The client did not declare what the tool needs.
            ("tools/call", r#"{"name":"ask"}"#, -32602),
            ("prompts/get", r#"{"name":"nothing"}"#, -32602),
            ("tools/list", r#"{"cursor":"forged"}"#, -32602),
            ("logging/setLevel", r#"{"level":"loud"}"#, -32602),
            ("resources/subscribe", "{}", -32602),
            ("no/such", "{}", -32601),
            ("server/discover", "{}", -32601),
            ("subscriptions/listen", "{}", -32601),
            ("tasks/list", "{}", -32601),
        ] {
            let answer = client.ask(method, params).await;
            assert_eq!(code_of(&answer), Some(code), "{revision} {over:?} {method} {params}: {answer}");
        }
        if over == Over::Stdio {
            // Over HTTP a second `initialize` opens a second session.
            let hello = super::client::hello(revision.as_str(), "{}");
            assert_eq!(code_of(&client.ask("initialize", &hello).await), None);
        }
    }
}

/// What a revision lacks is left out, and the rest stays.
#[tokio::test]
async fn results_have_the_members_of_the_revision() {
    for (revision, over) in SERVED {
        let mut client = Client::open(over, revision, "{}").await;
        let since = |first| revision >= first;
        let list = client.ask("tools/list", "{}").await;
        let list = parse(&list);
        let tools = list.root().path(["result", "tools"]).unwrap();
        let echo = tools.items().find(|tool| tool.get("name").unwrap().is_str("echo")).unwrap();
        let count = tools.items().find(|tool| tool.get("name").unwrap().is_str("count")).unwrap();
        assert_eq!(echo.get("annotations").is_some(), since(Revision::V2025_03_26), "{revision}");
        assert_eq!(echo.get("title").is_some(), since(Revision::V2025_06_18), "{revision}");
        assert_eq!(echo.get("outputSchema").is_some(), since(Revision::V2025_06_18), "{revision}");
        // A result that is no object has no schema before 2026-07-28.
        assert!(count.get("outputSchema").is_none(), "{revision}");

        let answer = client.ask("tools/call", r#"{"name":"echo","arguments":{"text":"x"}}"#).await;
        let answer = parse(&answer);
        let structured = answer.root().path(["result", "structuredContent"]);
        assert_eq!(structured.is_some(), since(Revision::V2025_06_18), "{revision}");
        let answer = client.call("count").await;
        assert!(answer.contains(r#""text":"42""#) && !answer.contains("structuredContent"), "{answer}");

        let answer = client.call("every_block").await;
        let answer = parse(&answer);
        let blocks = answer.root().path(["result", "content"]).unwrap();
        let kinds: Vec<_> =
            blocks.items().map(|block| block.get("type").unwrap().as_str().unwrap().into_owned()).collect();
        let audio = if since(Revision::V2025_03_26) { "audio" } else { "text" };
        let link = if since(Revision::V2025_06_18) { "resource_link" } else { "text" };
        assert_eq!(kinds, ["text", "image", audio, link, "resource"], "{revision}");
        assert!(!answer.text().contains("io.modelcontextprotocol/"), "{revision}: {}", answer.text());
    }
}

/// Requirements: LEG-03, PROG-03, PROG-05, PROG-06.
#[tokio::test]
async fn progress_and_log_messages_come_before_the_answer_and_only_when_wanted() {
    for (revision, over) in SERVED {
        let mut client = Client::open(over, revision, "{}").await;
        let params = r#"{"name":"report","_meta":{"progressToken":"7"}}"#;
        let messages = client.exchange("tools/call", params, super::client::silent).await;
        let progress: Vec<_> = messages
            .iter()
            .map(|text| parse(text))
            .filter_map(|message| {
                let params = message.root().get("params")?;
                assert!(params.get("progressToken").is_none_or(|token| token.is_str("7")));
                params.get("progress")?.as_i64()
            })
            .collect();
        assert_eq!(progress, [0, 50, 100], "{revision} {over:?}");
        let logs = |messages: &[String]| {
            messages.iter().filter(|text| text.contains("notifications/message")).count()
        };
        assert_eq!(logs(&messages), 5, "{revision} {over:?}");
        client.ask("logging/setLevel", r#"{"level":"error"}"#).await;
        let messages = client.exchange("tools/call", r#"{"name":"report"}"#, super::client::silent).await;
        assert_eq!(messages.len(), 1, "{revision} {over:?}: {messages:?}");
    }
}

/// Requirements: LEG-05.
#[tokio::test]
async fn questions_are_put_while_the_request_waits() {
    for (revision, over) in SERVED {
        let mut client = Client::open(over, revision, EVERYTHING).await;
        let ask = r#"{"name":"ask"}"#;
        if revision >= Revision::V2025_06_18 {
            let messages = client.exchange("tools/call", ask, dana).await;
            assert!(messages[0].contains("elicitation/create"), "{revision} {over:?}: {messages:?}");
            assert!(messages[1].contains("hello Dana"), "{revision} {over:?}: {messages:?}");
            let declined = client.exchange("tools/call", ask, |_| r#""result":{"action":"decline"}"#).await;
            assert!(declined[1].contains("hello stranger"), "{revision} {over:?}: {declined:?}");
            let failed = client.exchange("tools/call", ask, super::client::silent).await;
            assert!(failed[1].contains(r#""isError":true"#), "{revision} {over:?}: {failed:?}");
        } else {
            assert_eq!(code_of(&client.ask("tools/call", ask).await), Some(-32602), "{revision} {over:?}");
        }
        let sampled = client.exchange("tools/call", r#"{"name":"sample"}"#, model).await;
        assert!(sampled[1].contains("a model"), "{revision} {over:?}: {sampled:?}");
        let roots =
            client.exchange("tools/call", r#"{"name":"roots"}"#, |_| r#""result":{"roots":[]}"#).await;
        assert!(roots[1].contains(r#"{\"roots\":[]}"#), "{revision} {over:?}: {roots:?}");
    }
}

fn dana(_: &str) -> &'static str {
    r#""result":{"action":"accept","content":{"name":"Dana"}}"#
}

fn model(_: &str) -> &'static str {
    r#""result":{"role":"assistant","model":"a model","content":{"type":"text","text":"hi"}}"#
}

/// A page that the person has not finished is asked for once; then the client is told to come back.
#[tokio::test]
async fn a_page_is_asked_for_once_and_then_the_client_comes_back_later() {
    for over in [Over::Stdio, Over::Http] {
        let mut client = Client::open(over, Revision::V2025_11_25, EVERYTHING).await;
        let accept = |_: &str| r#""result":{"action":"accept"}"#;
        let messages = client.exchange("tools/call", r#"{"name":"visit"}"#, accept).await;
        assert!(messages[0].contains(r#""mode":"url""#), "{messages:?}");
        assert_eq!(code_of(&messages[1]), Some(-32042), "{messages:?}");
        let mut older = Client::open(over, Revision::V2025_06_18, EVERYTHING).await;
        let refused = older.ask("tools/call", r#"{"name":"visit"}"#).await;
        assert_eq!(code_of(&refused), Some(-32602), "{refused}");
    }
}
