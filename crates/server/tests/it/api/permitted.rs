//! Resources and prompts under a policy: what is hidden is unknown in every way to ask, what may not be used is
//! refused clearly, and each use leaves a record.

use std::sync::{Arc, Mutex};

use callgate_core::contract::Contract;
use callgate_core::contract::digest::Digest;
use callgate_core::offer::Offer;
use callgate_core::port::{
    Answer as PortAnswer, Audit, Authenticate, Authorization, Credentials, Decision, Policy, Question,
    Record, UseQuestion,
};
use callgate_core::principal::Principal;
use callgate_core::rate::{Allowance, Rate};
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::{Document, Limits as JsonLimits};
use callgate_server::{
    Completing, Contents, Context, Limits, Messages, Prompt, Reading, Resource, ResourceTemplate, Server,
    ServerBuilder, ToolError,
};
use http_body_util::BodyExt as _;

use super::caller::{Answer, Caller};

/// Takes the token for the name of the caller, and what is behind a comma for scopes.
struct Tokens;

impl Authenticate for Tokens {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> PortAnswer<'a, Result<Arc<Principal>, Refusal>> {
        PortAnswer::now(match credentials.authorization {
            Authorization::One(token) => {
                let mut words = token.trim_start_matches("Bearer ").split(',');
                let name = words.next().unwrap_or_default();
                Ok(Arc::new(Principal::new(name).with_scopes(words)))
            }
            _ => Err(Refusal::new(Code::Unauthenticated, "a credential is required")),
        })
    }
}

/// Shows what has `hidden` in its name to auditors only, and lets nobody but them use what is `closed`, nor
/// the variable or argument `no`.
struct Rules;

impl Policy for Rules {
    fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
        true
    }

    fn is_offered(&self, principal: &Principal, offer: &Offer) -> bool {
        &*principal.subject == "auditor" || !offer.name().contains("hidden")
    }

    fn is_same_for_all(&self) -> bool {
        false
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        PortAnswer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }

    fn decide_use<'a>(&'a self, question: UseQuestion<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        let is_open = !question.offer.labels().iter().any(|label| label == "closed")
            && !question.inputs.values().any(|value| value == "no");
        PortAnswer::now(Ok(if is_open || &*question.principal.subject == "auditor" {
            Decision::Permit { policies: Vec::new() }
        } else {
            Decision::Deny { policies: vec!["closed".to_owned()], errors: Vec::new() }
        }))
    }
}

/// Keeps the name, the result, the code and the detail of each record; refuses them all when it is told to.
#[derive(Clone, Default)]
struct Trail(Arc<Mutex<(Vec<[String; 4]>, bool)>>);

impl Audit for Trail {
    fn ready(&self, _: &Contract) -> Result<(), Refusal> {
        Ok(())
    }

    fn record<'a>(&'a self, record: &Record<'_>) -> PortAnswer<'a, Result<(), Refusal>> {
        let code = record.code.map_or("answered", Code::as_str);
        let detail = record.detail.unwrap_or_default();
        let entry = [record.requested, record.result.as_str(), code, detail].map(str::to_owned);
        let mut kept = self.0.lock().unwrap();
        kept.0.push(entry);
        let is_down = kept.1;
        PortAnswer::now(if is_down {
            Err(Refusal::new(Code::GateUnavailable, "the trail is down"))
        } else {
            Ok(())
        })
    }
}

impl Trail {
    fn last(&self) -> [String; 4] {
        self.0.lock().unwrap().0.last().cloned().unwrap()
    }
}

async fn read(_: Context<'_>, reading: Reading) -> Result<Contents, ToolError> {
    match reading.variables.get("n").map(String::as_str) {
        Some("absent") => Err(ToolError::not_found()),
        _ => Ok(Contents::text("text")),
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Letter {
    language: Option<String>,
}

async fn letter(_: Context<'_>, letter: Letter) -> Result<Messages, ToolError> {
    Ok(Messages::new().user(letter.language.as_deref().unwrap_or("any")))
}

async fn values(_: Context<'_>, _: Completing) -> Result<Vec<String>, ToolError> {
    Ok(vec!["value".to_owned()])
}

fn server(trail: &Trail) -> ServerBuilder {
    let fixed = |uri: &str| Resource::fixed(uri, "Name", Contents::text("text"));
    let template = |template: &str| ResourceTemplate::new(template, "Name", read).complete("n", values);
    let prompt = |name: &str| Prompt::new(name, letter).complete("language", values);
    Server::builder("permitted", "1")
        .resource(fixed("doc:open"))
        .resource(fixed("doc:hidden"))
        .resource(fixed("doc:listed").label("closed"))
        .resource(fixed("doc:scoped").scope("docs:read"))
        .resource_template(template("open://{n}"))
        .resource_template(template("hidden://{n}"))
        .resource_template(template("listed://{n}").label("closed"))
        .prompt(prompt("open"))
        .prompt(prompt("hidden"))
        .prompt(prompt("listed").label("closed"))
        .authenticate(Tokens)
        .policy(Rules, Digest::of_bytes(b"rules"))
        .audit(trail.clone())
}

async fn send_as(caller: &Caller, token: &str, method: &str, members: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let (status, body) = caller.open(method, members, &[("authorization", &bearer)]).await;
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Answer { status, document: Document::parse(text, &JsonLimits::DEFAULT).unwrap() }
}

async fn keys(caller: &Caller, token: &str, method: &str) -> Vec<String> {
    let answer = send_as(caller, token, method, "").await;
    assert_eq!(answer.string(&["cacheScope"]), "private");
    let (member, key) = match method {
        "resources/list" => ("resources", "uri"),
        "resources/templates/list" => ("resourceTemplates", "uriTemplate"),
        _ => ("prompts", "name"),
    };
    let entries = answer.result().get(member).unwrap();
    entries.items().map(|entry| entry.get(key).unwrap().as_str().unwrap().into_owned()).collect()
}

#[tokio::test]
async fn lists_show_what_the_caller_may_know() {
    let caller = Caller::new(server(&Trail::default()).page_size(2));
    for (method, all) in [
        ("resources/templates/list", ["hidden://{n}", "listed://{n}"]),
        ("prompts/list", ["hidden", "listed"]),
    ] {
        let open = all[0].replace("hidden", "open");
        assert_eq!(keys(&caller, "dana", method).await, [all[1].to_owned(), open], "{method}");
        assert_eq!(keys(&caller, "auditor", method).await, all, "{method}");
    }
    assert_eq!(keys(&caller, "dana", "resources/list").await, ["doc:listed", "doc:open"]);
    // A cursor is good for those who see the same.
    let first = send_as(&caller, "dana", "resources/list", "").await;
    let cursor = format!(r#""cursor":"{}""#, first.string(&["nextCursor"]));
    assert!(send_as(&caller, "dana", "resources/list", &cursor).await.text().contains("doc:scoped"));
    assert_eq!(send_as(&caller, "auditor", "resources/list", &cursor).await.status, 400);
}

/// Every way to ask for something by a name, with the name in the place of `*`.
const WAYS: [(&str, &str, [&str; 2]); 5] = [
    ("resources/read", r#""uri":"*""#, ["doc:hidden", "doc:absent"]),
    ("resources/read", r#""uri":"*""#, ["hidden://7", "absent://7"]),
    ("prompts/get", r#""name":"*""#, ["hidden", "absent"]),
    (
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"*"},"argument":{"name":"language","value":""}"#,
        ["hidden", "absent"],
    ),
    (
        "completion/complete",
        r#""ref":{"type":"ref/resource","uri":"*"},"argument":{"name":"n","value":""}"#,
        ["hidden://{n}", "absent://{n}"],
    ),
];

#[tokio::test]
async fn hidden_and_unknown_are_one_answer_and_two_reasons() {
    let trail = Trail::default();
    let caller = Caller::new(server(&trail));
    for (method, members, [hidden, absent]) in WAYS {
        let of = |name: &str| members.replace('*', name);
        let refused = send_as(&caller, "dana", method, &of(hidden)).await;
        let unknown = send_as(&caller, "dana", method, &of(absent)).await;
        assert_eq!(refused.text().replace(hidden, absent), unknown.text(), "{method} {members}");
        assert_eq!(refused.status, unknown.status);
        assert_eq!(refused.error().get("code").unwrap().raw(), "-32602");
        assert!(!send_as(&caller, "auditor", method, &of(hidden)).await.result().is_empty());
        if method != "completion/complete" {
            send_as(&caller, "dana", method, &of(hidden)).await;
            let name = format!("{method} {hidden}");
            let reason = "the policy hides this from the principal";
            assert_eq!(trail.last(), [&*name, "refused", "not_found", reason]);
            send_as(&caller, "dana", method, &of(absent)).await;
            let name = format!("{method} {absent}");
            let reason = "nothing is offered under this name";
            assert_eq!(trail.last(), [&*name, "refused", "not_found", reason]);
        }
    }
}

#[tokio::test]
async fn what_is_listed_and_not_permitted_is_refused_clearly_and_recorded() {
    let trail = Trail::default();
    let caller = Caller::new(server(&trail));
    for (method, members, record) in [
        ("resources/read", r#""uri":"doc:listed""#, Some("resources/read doc:listed")),
        ("resources/read", r#""uri":"listed://7""#, Some("resources/read listed://{n}")),
        ("resources/read", r#""uri":"open://no""#, Some("resources/read open://{n}")),
        ("resources/read", r#""uri":"open://%6eo""#, Some("resources/read open://{n}")),
        ("prompts/get", r#""name":"listed""#, Some("prompts/get listed")),
        ("prompts/get", r#""name":"open","arguments":{"language":"no"}"#, Some("prompts/get open")),
        (
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"listed"},"argument":{"name":"language","value":""}"#,
            None,
        ),
    ] {
        let refused = send_as(&caller, "dana", method, members).await;
        let data = refused.error().get("data").unwrap();
        assert!(data.get("code").unwrap().is_str("forbidden"), "{}", refused.text());
        assert!(!refused.text().contains("closed"), "{}", refused.text());
        if let Some(record) = record {
            assert_eq!(trail.last(), [record, "refused", "forbidden", "denied by: closed"]);
        }
        assert!(send_as(&caller, "auditor", method, members).await.document.root().get("result").is_some());
    }
}

#[tokio::test]
async fn a_scope_that_is_lacking_is_asked_for_once_the_resource_may_be_known() {
    let caller = Caller::new(server(&Trail::default()));
    let refused = send_as(&caller, "dana", "resources/read", r#""uri":"doc:scoped""#).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains(r#""scopes":["docs:read"]"#), "{}", refused.text());
    let read = send_as(&caller, "dana,docs:read", "resources/read", r#""uri":"doc:scoped""#).await;
    assert_eq!(read.status, 200);
    assert!(read.document.root().get("result").is_some());
}

#[tokio::test]
async fn a_read_is_recorded_and_does_not_leave_without_its_record() {
    let trail = Trail::default();
    let caller = Caller::new(server(&trail));
    send_as(&caller, "dana", "resources/read", r#""uri":"open://7""#).await.result();
    assert_eq!(trail.last(), ["resources/read open://{n}", "complete", "answered", ""]);
    send_as(&caller, "dana", "resources/read", r#""uri":"open://absent""#).await.error();
    assert_eq!(trail.last(), ["resources/read open://{n}", "failed", "not_found", ""]);
    send_as(&caller, "dana", "prompts/get", r#""name":"open""#).await.result();
    assert_eq!(trail.last(), ["prompts/get open", "complete", "answered", ""]);
    let nobody = caller.send("resources/read", r#""uri":"open://7""#).await;
    assert_eq!(nobody.status, 401);
    assert_eq!(trail.last()[..3], ["resources/read open://7", "refused", "unauthenticated"]);
    trail.0.lock().unwrap().1 = true;
    for (method, members) in [("resources/read", r#""uri":"open://7""#), ("prompts/get", r#""name":"open""#)]
    {
        let refused = send_as(&caller, "dana", method, members).await;
        assert!(refused.error().path(["data", "code"]).unwrap().is_str("gate_unavailable"));
        assert!(!refused.text().contains("text\""), "{}", refused.text());
    }
}

#[tokio::test]
async fn what_is_hidden_or_closed_is_not_watched() {
    let caller = Caller::new(server(&Trail::default()));
    let watch = r#""notifications":{"resourceSubscriptions":["doc:open","doc:hidden","doc:listed","doc:absent","hidden://7","open://7"]}"#;
    for (token, honoured) in [
        ("dana", r#"["doc:open","open://7"]"#),
        ("auditor", r#"["doc:open","doc:hidden","doc:listed","hidden://7","open://7"]"#),
    ] {
        let bearer = format!("Bearer {token}");
        let (_, mut body) = caller.open("subscriptions/listen", watch, &[("authorization", &bearer)]).await;
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        let first = String::from_utf8(first.to_vec()).unwrap();
        assert!(first.contains(&format!(r#""resourceSubscriptions":{honoured}"#)), "{first}");
    }
}

/// Lists, discovery and completion use up the rate of their caller, and are refused like calls.
#[tokio::test]
async fn every_method_counts_towards_the_rate_of_its_caller() {
    let every = [
        ("tools/list", ""),
        ("resources/list", ""),
        ("resources/templates/list", ""),
        ("prompts/list", ""),
        ("server/discover", ""),
        ("resources/read", r#""uri":"doc:open""#),
        ("prompts/get", r#""name":"open""#),
        (WAYS[3].0, WAYS[3].1),
        ("subscriptions/listen", r#""notifications":{}"#),
    ];
    for (method, members) in every {
        let mut limits = Limits::default();
        let one = std::num::NonZeroU32::MIN;
        limits.gate.principal = Allowance::unbounded().with_rate(Rate::per_minute(one, one));
        let caller = Caller::new(server(&Trail::default()).limits(limits));
        let members = members.replace('*', "open");
        let bearer = [("authorization", "Bearer dana")];
        let (status, body) = caller.open(method, &members, &bearer).await;
        assert_eq!(status, 200, "{method}");
        let refused = send_as(&caller, "dana", method, &members).await;
        let data = refused.error().get("data").unwrap();
        assert!(data.get("code").unwrap().is_str("rate_limited"), "{method}: {}", refused.text());
        assert!(data.get("retryAfterMs").is_some(), "{method}");
        drop(body);
        // Nobody else is held up.
        let (status, _body) = caller.open(method, &members, &[("authorization", "Bearer eve")]).await;
        assert_eq!(status, 200);
    }
}

#[tokio::test]
async fn a_policy_that_says_nothing_of_them_hides_them_all() {
    let builder = super::lists::guarded(Server::builder("silent", "1").resource(Resource::fixed(
        "doc:a",
        "A",
        Contents::text("a"),
    )));
    let caller = Caller::new(builder);
    assert_eq!(keys(&caller, "writer", "resources/list").await, Vec::<String>::new());
    let read = send_as(&caller, "writer", "resources/read", r#""uri":"doc:a""#).await;
    assert_eq!(read.error().get("code").unwrap().raw(), "-32602");
}
