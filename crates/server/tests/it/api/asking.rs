//! Multi-round-trip requests: what is asked, what comes back, and what state is worth.

use callgate_core::principal::Principal;
use callgate_core::seal::KeyRing;
use callgate_server::{
    Content, Context, Effect, Elicited, Limits, NoInput, Server, ServerBuilder, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::caller::{Answer, Caller, EVERYTHING};

#[derive(Deserialize, JsonSchema)]
struct Ticket {
    /// What it is about
    subject: String,
    urgency: Option<Urgency>,
    hours: Option<u8>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Urgency {
    Low,
    High,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

async fn ticket(context: Context<'_>, Topic { topic }: Topic) -> Result<Content, ToolError> {
    let round = context.kept().map_or(0, |kept| kept[0]);
    context.keep([round + 1]);
    Ok(match context.elicit::<Ticket>("ticket", "Describe the ticket").await? {
        Elicited::Accepted(Ticket { subject, urgency, hours }) => {
            Content::text(&format!("{topic}: {subject} {urgency:?} {hours:?} after {round} rounds"))
        }
        Elicited::Declined => Content::text("declined"),
        Elicited::Cancelled => Content::text("cancelled"),
    })
}

fn server() -> ServerBuilder {
    Server::builder("asking", "1").tool(Tool::new("ticket", Effect::Read, ticket))
}

fn caller() -> Caller {
    Caller::new(server()).declaring(EVERYTHING)
}

const TOPIC: &str = r#"{"topic":"printer"}"#;

async fn answer(caller: &Caller, arguments: &str, state: &str, response: &str) -> Answer {
    let members = format!(r#""inputResponses":{{"ticket":{response}}},"requestState":"{state}""#);
    caller.tool_with("ticket", arguments, &members).await
}

/// Requirements: BASE-01, BASE-08, MRTR-01, MRTR-03, MRTR-04, MRTR-05, ELIC-10, ELIC-12, CACHE-02
#[tokio::test]
async fn a_form_goes_out_with_sealed_state_and_the_call_ends_with_the_answer() {
    let caller = caller();
    let asked = caller.tool("ticket", TOPIC).await;
    assert_eq!(asked.string(&["resultType"]), "input_required");
    insta::assert_snapshot!(asked.result().get("inputRequests").unwrap().raw());
    let state = asked.string(&["requestState"]);
    let response = r#"{"action":"accept","content":{"subject":"jam","urgency":"high","hours":8}}"#;
    let done = answer(&caller, TOPIC, &state, response).await;
    assert_eq!(done.content(), "printer: jam Some(High) Some(8) after 1 rounds");
}

/// Requirements: MRTR-07, ELIC-20
#[tokio::test]
async fn refusals_of_the_person_reach_the_handler_and_missing_answers_are_asked_for_again() {
    let caller = caller();
    let state = caller.tool("ticket", TOPIC).await.string(&["requestState"]);
    for (action, text) in [("decline", "declined"), ("cancel", "cancelled")] {
        let done = answer(&caller, TOPIC, &state, &format!(r#"{{"action":"{action}"}}"#)).await;
        assert_eq!(done.content(), text);
    }
    let members = format!(r#""inputResponses":{{"other":{{"action":"accept"}}}},"requestState":"{state}""#);
    let again = caller.tool_with("ticket", TOPIC, &members).await;
    assert_eq!(again.string(&["resultType"]), "input_required");
    assert_ne!(again.string(&["requestState"]), state);
}

/// Requirements: MRTR-08, MRTR-09, MRTR-10, ELIC-17, ELIC-22
#[tokio::test]
async fn state_is_worth_nothing_when_it_is_changed_or_belongs_to_something_else() {
    let keys = || KeyRing::new([(1, [7; 32])]);
    async fn other(context: Context<'_>, input: Topic) -> Result<Content, ToolError> {
        ticket(context, input).await
    }
    let tool = Tool::new("other", Effect::Read, other);
    let caller = Caller::new(server().tool(tool).keys(keys())).declaring(EVERYTHING);
    let state = caller.tool("ticket", TOPIC).await.string(&["requestState"]);
    let good = r#"{"action":"accept","content":{"subject":"jam"}}"#;
    assert!(!answer(&caller, TOPIC, &state, good).await.is_error());
    let members = format!(r#""inputResponses":{{"ticket":{good}}},"requestState":"{state}""#);
    // Another instance with the same keys opens it, as a load balancer may send the next round there.
    let instance = Caller::new(server().keys(keys())).declaring(EVERYTHING);
    assert!(!answer(&instance, TOPIC, &state, good).await.is_error());
    let stranger = Caller::new(server().keys(keys()).local_principal(Principal::new("mallory")));
    let stranger = stranger.declaring(EVERYTHING);
    let elsewhere = Caller::new(server()).declaring(EVERYTHING);
    let mut flipped = state.clone();
    flipped.replace_range(20..21, if &state[20..21] == "A" { "B" } else { "A" });
    for (what, refused) in [
        ("changed", answer(&caller, TOPIC, &flipped, good).await),
        ("empty", answer(&caller, TOPIC, "", good).await),
        ("other arguments", answer(&caller, r#"{"topic":"scanner"}"#, &state, good).await),
        ("other tool", caller.tool_with("other", TOPIC, &members).await),
        ("other principal", answer(&stranger, TOPIC, &state, good).await),
        ("other key", answer(&elsewhere, TOPIC, &state, good).await),
    ] {
        assert_eq!(refused.error().get("code").unwrap().raw(), "-32602", "{what}");
        assert_eq!(
            refused.error().get("message").unwrap().raw(),
            r#""requestState is not valid for this request""#
        );
    }
}

/// Requirements: ELIC-34
#[tokio::test]
async fn malformed_answers_are_errors_and_never_reach_the_handler() {
    let caller = caller();
    let state = caller.tool("ticket", TOPIC).await.string(&["requestState"]);
    for response in [
        r#"{"action":"accept"}"#,
        r#"{"action":"accept","content":[]}"#,
        r#"{"action":"accept","content":{}}"#,
        r#"{"action":"accept","content":{"subject":7}}"#,
        r#"{"action":"accept","content":{"subject":"x","urgency":"medium"}}"#,
        r#"{"action":"accept","content":{"subject":"x","hours":256}}"#,
        r#"{"action":"agree"}"#,
        r#"{"content":{"subject":"x"}}"#,
        "\"accept\"",
        "null",
    ] {
        let refused = answer(&caller, TOPIC, &state, response).await;
        assert_eq!(refused.error().get("code").unwrap().raw(), "-32602", "{response}");
    }
    for members in [r#""inputResponses":[]"#, r#""inputResponses":"x""#, r#""requestState":7"#] {
        let refused = caller.tool_with("ticket", TOPIC, members).await;
        assert_eq!(refused.error().get("code").unwrap().raw(), "-32602", "{members}");
    }
}

/// Requirements: BASE-27, BASE-53, BASE-54, BASE-55, MRTR-06, ELIC-09
#[tokio::test]
async fn nothing_is_asked_that_this_request_did_not_declare() {
    let caller = caller();
    assert_eq!(caller.tool("ticket", TOPIC).await.string(&["resultType"]), "input_required");
    for declared in ["{}", r#"{"sampling":{}}"#, r#"{"elicitation":{"url":{}}}"#] {
        let silent = Caller::new(server()).declaring(declared);
        let refused = silent.tool("ticket", TOPIC).await;
        assert_eq!((refused.status, refused.error().get("code").unwrap().raw()), (400, "-32021"));
        let required = refused.error().path(["data", "requiredCapabilities"]).unwrap().raw();
        assert_eq!(required, r#"{"elicitation":{"form":{}}}"#);
    }
}

#[tokio::test]
async fn several_questions_go_out_together() {
    async fn everything(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
        let params = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}"#;
        let (form, page, sample, roots) = tokio::join!(
            context.elicit::<Topic>("form", "Topic?"),
            context.elicit_url("page", "Sign in", "https://example.com/sign-in"),
            context.sample("model", params),
            context.roots("roots"),
        );
        let page = page?;
        let topic = form?.accepted().map(|Topic { topic }| topic);
        Ok(Content::text(&format!("{topic:?} {page:?} {} {}", sample?.text(), roots?.text())))
    }
    let tool = Tool::new("everything", Effect::Read, everything);
    let caller = Caller::new(server().tool(tool)).declaring(EVERYTHING);
    let asked = caller.tool("everything", "{}").await;
    let keys: Vec<_> =
        asked.result().get("inputRequests").unwrap().members().map(|(key, _)| key.raw()).collect();
    assert_eq!(keys, [r#""form""#, r#""page""#, r#""model""#, r#""roots""#]);
    assert!(asked.result().get("requestState").is_none(), "nothing was kept");
    let responses = r#""inputResponses":{"form":{"action":"accept","content":{"topic":"t"}},"page":{"action":"accept"},"model":{"role":"assistant","model":"m","content":{"type":"text","text":"ho"}},"roots":{"roots":[]},"extra":{"action":"accept"}}"#;
    let done = caller.tool_with("everything", "{}", responses).await;
    assert!(
        done.content().starts_with(r#"Some("t") Accepted(()) {"role":"assistant""#),
        "{}",
        done.content()
    );
}

/// Requirements: ELIC-14, ELIC-15
#[tokio::test]
async fn a_url_is_asked_for_by_mode_message_and_a_valid_url_only() {
    async fn visit(url: &&'static str, context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
        context.elicit_url("page", "Please sign in", url).await?;
        Ok(Content::new())
    }
    let call = async |url: &'static str| {
        let caller = Caller::new(server().tool(Tool::with_state("visit", Effect::Read, url, visit)));
        caller.declaring(EVERYTHING).tool("visit", "{}").await
    };
    let asked = call("https://example.com/a?b=c").await;
    let params = asked.result().path(["inputRequests", "page", "params"]).unwrap();
    for (member, value) in
        [("mode", "url"), ("message", "Please sign in"), ("url", "https://example.com/a?b=c")]
    {
        assert!(params.get(member).unwrap().is_str(value), "{}", params.raw());
    }
    for url in ["", "example.com", "ftp://example.com", "https://exa mple.com", "javascript:alert(1)"] {
        assert!(call(url).await.is_error(), "{url}");
    }
}

/// Requirements: ELIC-01
#[tokio::test]
async fn a_form_that_asks_for_a_secret_is_never_sent() {
    #[derive(Deserialize, JsonSchema)]
    struct Login {
        #[expect(dead_code, reason = "it is never filled in")]
        password: String,
    }
    async fn login(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
        context.elicit::<Login>("login", "Please log in").await?;
        Ok(Content::new())
    }
    let caller = Caller::new(server().tool(Tool::new("login", Effect::Read, login))).declaring(EVERYTHING);
    let answer = caller.tool("login", "{}").await;
    assert!(answer.is_error() && !answer.text().contains("inputRequests"), "{}", answer.text());
}

#[tokio::test]
async fn more_questions_or_state_than_the_limit_allows_is_a_failure_of_the_tool() {
    async fn many(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
        let (one, two) = tokio::join!(context.elicit::<Topic>("1", "1?"), context.elicit::<Topic>("2", "2?"));
        two?;
        one?;
        Ok(Content::new())
    }
    async fn heavy(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
        context.keep([0; 9]);
        context.elicit::<Topic>("1", "1?").await?;
        Ok(Content::new())
    }
    let mut limits = Limits::default();
    limits.gate.questions = 1;
    limits.gate.state_bytes = 8;
    let builder = server().limits(limits);
    let builder = builder.tool(Tool::new("many", Effect::Read, many));
    let caller = Caller::new(builder.tool(Tool::new("heavy", Effect::Read, heavy))).declaring(EVERYTHING);
    for name in ["many", "heavy"] {
        let answer = caller.tool(name, "{}").await;
        assert!(answer.is_error() && answer.content().starts_with("tool_failed"), "{}", answer.text());
    }
}
