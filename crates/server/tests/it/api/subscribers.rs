//! Who may go on listening: bounds for each caller, credentials that end, and reloads that hinder nobody.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use callgate_core::contract::Contract;
use callgate_core::contract::digest::Digest;
use callgate_core::offer::Offer;
use callgate_core::port::{
    Answer as PortAnswer, Authenticate, Authorization, Credentials, Decision, Policy, Question, UseQuestion,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::Document;
use callgate_server::{
    Content, Contents, Context, Effect, Limits, NoInput, Resource, Server, ServerBuilder, Tool, ToolError,
};

use http_body_util::BodyExt as _;

use super::caller::{Caller, Stream};

async fn nothing(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::new())
}

/// Takes the tokens that it knows for the names of callers.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<BTreeSet<&'static str>>>);

impl Tokens {
    fn of(names: &[&'static str]) -> Self {
        Self(Arc::new(Mutex::new(names.iter().copied().collect())))
    }
}

impl Authenticate for Tokens {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> PortAnswer<'a, Result<Arc<Principal>, Refusal>> {
        PortAnswer::now(match credentials.authorization {
            Authorization::One(token) => match token.strip_prefix("Bearer ") {
                Some(name) if self.0.lock().unwrap().contains(name) => {
                    let (tenant, subject) = name.split_once('-').unwrap_or(("t", name));
                    Ok(Arc::new(Principal::new(subject).with_tenant(tenant)))
                }
                _ => Err(Refusal::new(Code::InvalidToken, "the token is not known")),
            },
            _ => Err(Refusal::new(Code::Unauthenticated, "a credential is required")),
        })
    }
}

/// Hides what has one of these words in its name, and can be made to wait.
#[derive(Clone, Default)]
struct Hides {
    words: Vec<&'static str>,
    gate: Arc<(Mutex<Waits>, Condvar)>,
}

#[derive(Default)]
struct Waits {
    closed: bool,
    waiting: usize,
    asked: usize,
}

impl Hides {
    fn words(words: &[&'static str]) -> Self {
        Self { words: words.to_vec(), ..Self::default() }
    }

    fn revision(&self) -> Digest {
        Digest::of_bytes(self.words.join(" ").as_bytes())
    }

    fn shows(&self, name: &str) -> bool {
        let (state, changed) = &*self.gate;
        let mut state = state.lock().unwrap();
        state.waiting += 1;
        state.asked += 1;
        changed.notify_all();
        let mut state = changed.wait_while(state, |state| state.closed).unwrap();
        state.waiting -= 1;
        !self.words.iter().any(|word| name.contains(word))
    }

    fn close(&self, closed: bool) {
        self.gate.0.lock().unwrap().closed = closed;
        self.gate.1.notify_all();
    }

    /// Waits until somebody waits for this policy.
    fn is_waited_for(&self) {
        let (state, changed) = &*self.gate;
        let state = state.lock().unwrap();
        let long = Duration::from_secs(60);
        let (_state, timeout) = changed.wait_timeout_while(state, long, |state| state.waiting == 0).unwrap();
        assert!(!timeout.timed_out(), "nobody asks the policy");
    }
}

impl Policy for Hides {
    fn is_visible(&self, _: &Principal, contract: &Contract) -> bool {
        self.shows(contract.name().as_str())
    }

    fn is_offered(&self, _: &Principal, offer: &Offer) -> bool {
        self.shows(offer.name())
    }

    fn is_same_for_all(&self) -> bool {
        false
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        PortAnswer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }

    fn decide_use<'a>(&'a self, _: UseQuestion<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        PortAnswer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }
}

fn server(tokens: &Tokens, policy: &Hides) -> ServerBuilder {
    let tool = |name: &str| Tool::new(name, Effect::Read, nothing);
    Server::builder("subscribers", "1")
        .tool(tool("a"))
        .tool(tool("b"))
        .resource(Resource::fixed("doc:a", "A", Contents::text("")))
        .resource(Resource::fixed("doc:b", "B", Contents::text("")))
        .authenticate(tokens.clone())
        .policy(policy.clone(), policy.revision())
}

const ALL: &str =
    r#"{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["doc:a","doc:b"]}"#;

async fn listen(caller: &Caller, token: &str) -> Result<Stream, u16> {
    let bearer = format!("Bearer {token}");
    let members = format!(r#""notifications":{ALL}"#);
    let (status, body) = caller.open("subscriptions/listen", &members, &[("authorization", &bearer)]).await;
    if status != 200 {
        return Err(status);
    }
    let mut stream = Stream::new(body);
    assert_eq!(method(&stream.next().await.unwrap()), "notifications/subscriptions/acknowledged");
    Ok(stream)
}

fn method(message: &Document) -> String {
    let root = message.root();
    match root.get("method") {
        Some(method) => method.as_str().unwrap().into_owned(),
        None => format!("result {}", root.path(["result", "resultType"]).unwrap().raw()),
    }
}

fn now(stream: &mut Stream) -> Vec<String> {
    std::iter::from_fn(|| stream.now()).map(|message| method(&message)).collect()
}

const ENDED: [&str; 1] = ["result \"complete\""];

#[tokio::test]
async fn a_caller_has_so_many_subscriptions_and_no_more_and_others_have_theirs() {
    let tokens = Tokens::of(&["t-dana", "u-dana", "t-eve"]);
    let mut limits = Limits::default();
    limits.subscriptions_of_principal = 2;
    let caller = Caller::new(server(&tokens, &Hides::default()).limits(limits));
    let first = listen(&caller, "t-dana").await.unwrap();
    let _second = listen(&caller, "t-dana").await.unwrap();
    assert_eq!(listen(&caller, "t-dana").await.err(), Some(503));
    let _of_other_tenant = listen(&caller, "u-dana").await.unwrap();
    let _of_other_subject = listen(&caller, "t-eve").await.unwrap();
    drop(first);
    let _third = listen(&caller, "t-dana").await.unwrap();
    assert_eq!(listen(&caller, "t-dana").await.err(), Some(503));
}

#[tokio::test]
async fn a_reload_that_takes_a_token_away_ends_its_subscriptions_with_their_result_and_no_others() {
    let (before, policy) = (Tokens::of(&["dana", "eve"]), Hides::default());
    let caller = Caller::new(server(&before, &policy));
    let mut dana = listen(&caller, "dana").await.unwrap();
    let mut eve = listen(&caller, "eve").await.unwrap();
    let after = Tokens::of(&["eve"]);
    let more = Tool::new("c", Effect::Read, nothing);
    caller.handle().reload(server(&after, &policy).tool(more)).unwrap();
    caller.handle().notify_resource_updated("doc:a");
    assert_eq!(now(&mut dana), ENDED, "nothing is told on the strength of a token that is gone");
    assert!(dana.next().await.is_none());
    assert_eq!(
        now(&mut eve),
        ["notifications/tools/list_changed", "notifications/resources/updated"],
        "the others go on"
    );
}

#[tokio::test]
async fn a_reload_after_which_the_token_is_somebody_else_ends_the_subscription() {
    struct Renamed;
    impl Authenticate for Renamed {
        fn authenticate<'a>(&'a self, _: Credentials<'a>) -> PortAnswer<'a, Result<Arc<Principal>, Refusal>> {
            PortAnswer::now(Ok(Arc::new(Principal::new("dana").with_tenant("t").with_groups(["new"]))))
        }
    }
    let (tokens, policy) = (Tokens::of(&["dana"]), Hides::default());
    let caller = Caller::new(server(&tokens, &policy));
    let mut dana = listen(&caller, "dana").await.unwrap();
    caller.handle().reload(server(&tokens, &policy).authenticate(Renamed)).unwrap();
    assert_eq!(now(&mut dana), ENDED);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_is_found_without_a_reload() {
    let (tokens, policy) = (Tokens::of(&["dana", "eve"]), Hides::default());
    let caller = Caller::new(server(&tokens, &policy));
    let mut dana = listen(&caller, "dana").await.unwrap();
    let mut eve = listen(&caller, "eve").await.unwrap();
    tokens.0.lock().unwrap().remove("dana");
    assert!(now(&mut dana).is_empty());
    tokio::time::advance(Limits::default().subscription_check).await;
    assert_eq!(now(&mut dana), ENDED);
    caller.handle().notify_resource_updated("doc:a");
    assert_eq!(now(&mut eve), ["notifications/resources/updated"]);
}

#[tokio::test(start_paused = true)]
async fn an_authenticator_that_does_not_answer_ends_the_subscription_and_tells_nothing_meanwhile() {
    struct Hangs;
    impl Authenticate for Hangs {
        fn authenticate<'a>(&'a self, _: Credentials<'a>) -> PortAnswer<'a, Result<Arc<Principal>, Refusal>> {
            PortAnswer::later(std::future::pending())
        }
    }
    let (tokens, policy) = (Tokens::of(&["dana"]), Hides::default());
    let caller = Caller::new(server(&tokens, &policy));
    let mut dana = listen(&caller, "dana").await.unwrap();
    caller.handle().reload(server(&tokens, &policy).authenticate(Hangs)).unwrap();
    caller.handle().notify_resource_updated("doc:a");
    assert!(now(&mut dana).is_empty());
    tokio::time::advance(Limits::default().gate.port_timeout).await;
    assert_eq!(now(&mut dana), ENDED);
}

#[tokio::test]
async fn what_a_reload_hides_is_told_no_more_and_what_it_changes_elsewhere_is_told_to_nobody() {
    let tokens = Tokens::of(&["dana"]);
    let caller = Caller::new(server(&tokens, &Hides::words(&["b"])));
    let mut dana = listen(&caller, "dana").await.unwrap();
    caller.handle().notify_resource_updated("doc:b");
    assert!(now(&mut dana).is_empty(), "it was hidden from the beginning");
    // Another rule about what exists for nobody changes nothing.
    caller.handle().reload(server(&tokens, &Hides::words(&["b", "z"]))).unwrap();
    assert!(now(&mut dana).is_empty());
    caller.handle().reload(server(&tokens, &Hides::words(&["a", "b"]))).unwrap();
    assert_eq!(now(&mut dana), ["notifications/tools/list_changed", "notifications/resources/list_changed"]);
    caller.handle().notify_resource_updated("doc:a");
    assert!(now(&mut dana).is_empty());
}

#[tokio::test]
async fn equal_policies_and_lists_are_not_compared_at_all() {
    let (tokens, policy) = (Tokens::of(&["dana"]), Hides::words(&["z"]));
    let caller = Caller::new(server(&tokens, &policy));
    let mut dana = listen(&caller, "dana").await.unwrap();
    let asked = || policy.gate.0.lock().unwrap().asked;
    let before = asked();
    caller.handle().reload(server(&tokens, &policy)).unwrap();
    assert_eq!(asked(), before);
    assert!(now(&mut dana).is_empty());
}

/// A reload compares lists for those who listen, by a policy that may take its time. Nobody who begins or ends
/// to listen, or hears of a change, waits for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_while_a_reload_asks_the_policy() {
    let tokens = Tokens::of(&["dana", "eve"]);
    let (before, after) = (Hides::default(), Hides::words(&["a"]));
    let caller = Caller::new(server(&tokens, &before));
    let mut dana = listen(&caller, "dana").await.unwrap();
    after.close(true);
    let (handle, builder) = (caller.handle().clone(), server(&tokens, &after));
    let reload = std::thread::spawn(move || handle.reload(builder).unwrap());
    let waited = after.clone();
    tokio::task::spawn_blocking(move || waited.is_waited_for()).await.unwrap();
    // The reload waits for the policy now. These would wait with it if it held the registry.
    let members = r#""notifications":{"toolsListChanged":true}"#;
    let eve = [("authorization", "Bearer eve")];
    let opened = tokio::time::timeout(Duration::from_secs(30), async {
        caller.open("subscriptions/listen", members, &eve).await
    });
    let (status, body) = opened.await.unwrap();
    assert_eq!(status, 200);
    let mut eve = Stream::new(body);
    assert!(eve.next().await.is_some());
    caller.handle().notify_resource_updated("doc:a");
    drop(eve);
    after.close(false);
    tokio::task::spawn_blocking(move || reload.join().unwrap()).await.unwrap();
    assert_eq!(
        now(&mut dana),
        ["notifications/tools/list_changed", "notifications/resources/list_changed"],
        "and nothing of what is hidden now"
    );
}

/// A client of an earlier revision: its session, and the stream for what belongs to no request.
struct Old<'c> {
    caller: &'c Caller,
    bearer: String,
    session: String,
}

impl<'c> Old<'c> {
    async fn open(caller: &'c Caller, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#;
        let response = caller.legacy(Some(hello), &[("authorization", &bearer)]).await;
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        Self { caller, bearer, session }
    }

    async fn send(&self, body: Option<&str>) -> http::Response<callgate_server::Body> {
        let headers = [("authorization", self.bearer.as_str()), ("mcp-session-id", &self.session)];
        self.caller.legacy(body, &headers).await
    }

    async fn ask(&self, method: &str, params: &str) -> String {
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let body = self.send(Some(&request)).await.into_body();
        String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    async fn stream(&self) -> callgate_server::Body {
        let response = self.send(None).await;
        assert_eq!(response.status(), 200);
        response.into_body()
    }
}

/// The next text of a stream; nothing at its end.
async fn text(body: &mut callgate_server::Body) -> Option<String> {
    let frame = tokio::time::timeout(Duration::from_secs(30), body.frame()).await.unwrap();
    Some(String::from_utf8(frame?.unwrap().into_data().unwrap().to_vec()).unwrap())
}

#[tokio::test]
async fn earlier_revisions_have_the_same_bound_and_can_still_watch_more_at_it() {
    let tokens = Tokens::of(&["dana", "eve"]);
    let mut limits = Limits::default();
    limits.subscriptions_of_principal = 1;
    let caller = Caller::new(server(&tokens, &Hides::default()).limits(limits));
    let (first, second) = (Old::open(&caller, "dana").await, Old::open(&caller, "dana").await);
    let eve = Old::open(&caller, "eve").await;
    let mut stream = first.stream().await;
    assert!(futures_util::FutureExt::now_or_never(stream.frame()).is_none(), "it stays open");
    assert_eq!(text(&mut second.stream().await).await, None, "there is no room for another one");
    assert_eq!(listen(&caller, "dana").await.err(), Some(503), "both eras count together");
    let mut of_eve = eve.stream().await;
    assert!(futures_util::FutureExt::now_or_never(of_eve.frame()).is_none());
    // What is watched besides takes the place of what was watched before.
    assert!(first.ask("resources/subscribe", r#"{"uri":"doc:a"}"#).await.contains("\"result\":{}"));
    assert!(futures_util::FutureExt::now_or_never(stream.frame()).is_none());
    caller.handle().notify_resource_updated("doc:a");
    assert!(text(&mut stream).await.unwrap().contains(r#""uri":"doc:a""#));
    drop(stream);
    let mut stream = second.stream().await;
    assert!(futures_util::FutureExt::now_or_never(stream.frame()).is_none(), "now there is room");
}

#[tokio::test]
async fn earlier_revisions_hear_nothing_more_once_a_reload_took_their_token_away() {
    let (tokens, policy) = (Tokens::of(&["dana", "eve"]), Hides::default());
    let caller = Caller::new(server(&tokens, &policy));
    let (dana, eve) = (Old::open(&caller, "dana").await, Old::open(&caller, "eve").await);
    let (mut of_dana, mut of_eve) = (dana.stream().await, eve.stream().await);
    for stream in [&mut of_dana, &mut of_eve] {
        assert!(futures_util::FutureExt::now_or_never(stream.frame()).is_none());
    }
    let more = Tool::new("c", Effect::Read, nothing);
    caller.handle().reload(server(&Tokens::of(&["eve"]), &policy).tool(more)).unwrap();
    assert_eq!(text(&mut of_dana).await, None);
    assert!(text(&mut of_eve).await.unwrap().contains("notifications/tools/list_changed"));
}

#[tokio::test]
async fn earlier_revisions_cannot_tell_a_hidden_resource_from_an_unknown_one() {
    let caller = Caller::new(server(&Tokens::of(&["dana"]), &Hides::words(&["b"])));
    let dana = Old::open(&caller, "dana").await;
    let hidden = dana.ask("resources/read", r#"{"uri":"doc:b"}"#).await;
    let absent = dana.ask("resources/read", r#"{"uri":"doc:x"}"#).await;
    assert!(hidden.contains("-32002"), "{hidden}");
    assert_eq!(hidden.replace("doc:b", "doc:x"), absent);
    for uri in ["doc:b", "doc:x"] {
        let subscribed = dana.ask("resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)).await;
        assert_eq!(subscribed, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }
    let mut stream = dana.stream().await;
    assert!(futures_util::FutureExt::now_or_never(stream.frame()).is_none());
    caller.handle().notify_resource_updated("doc:b");
    assert!(futures_util::FutureExt::now_or_never(stream.frame()).is_none());
    assert!(!dana.ask("resources/list", "{}").await.contains("doc:b"));
}
