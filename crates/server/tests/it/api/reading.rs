//! Resources, prompts and completions.

use std::time::Duration;

use callgate_server::{
    Block, Completing, Contents, Context, Messages, NoInput, Prompt, Reading, Resource, ResourceTemplate,
    Role, Server, ServerBuilder, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::caller::{Caller, EVERYTHING};

async fn invoice(_: Context<'_>, reading: Reading) -> Result<Contents, ToolError> {
    match reading.variables["number"].as_str() {
        "7" => {
            Ok(Contents::text("seven")
                .and("invoice://7/scan", Contents::bytes([1, 2]).mime_type("image/png")))
        }
        "panic" => panic!("hunter2"),
        "slow" => std::future::pending().await,
        _ => Err(ToolError::not_found()),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code to review
    code: String,
    language: Option<String>,
}

async fn review(_: Context<'_>, Review { code, language }: Review) -> Result<Messages, ToolError> {
    let language = language.unwrap_or_else(|| "any language".into());
    Ok(Messages::new()
        .description("A review")
        .user(&format!("Review this {language}: {code}"))
        .with(Role::Assistant, Block::text("Gladly.")))
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

async fn asking(context: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
    context.keep("asked");
    let topic = context.elicit::<Topic>("topic", "Which topic?").await?;
    let Topic { topic } = topic.accepted().ok_or(ToolError::new("no topic was given"))?;
    Ok(Messages::new().user(&topic))
}

async fn languages(_: Context<'_>, completing: Completing) -> Result<Vec<String>, ToolError> {
    let hint = completing.arguments.get("code").cloned().unwrap_or_default();
    Ok((0..150).map(|at| format!("{}{hint}{at}", completing.value)).collect())
}

fn server() -> ServerBuilder {
    let fixed = Contents::text("{}").fresh_for(Duration::from_secs(5));
    Server::builder("reading", "1")
        .resource(Resource::fixed("config://main", "Configuration", fixed).mime_type("application/json"))
        .resource(Resource::fixed("blob://b", "Bytes", Contents::bytes(*b"\xff\x00\xfe")).title("B"))
        .resource_template(
            ResourceTemplate::new("invoice://{number}", "Invoice", invoice)
                .mime_type("text/plain")
                .description("One invoice.")
                .complete("number", languages),
        )
        .prompt(Prompt::new("review", review).description("Reviews code.").complete("language", languages))
        .prompt(Prompt::new("asking", asking))
}

/// Requirements: RES-01, RES-02, RES-08, CACHE-01
#[tokio::test]
async fn resources_templates_and_prompts_are_listed_in_order() {
    let caller = Caller::new(server());
    let mut lists = String::new();
    for method in ["server/discover", "resources/list", "resources/templates/list", "prompts/list"] {
        lists.push_str(caller.send(method, "").await.text());
        lists.push('\n');
    }
    insta::assert_snapshot!(lists);
}

/// Requirements: RES-15, CACHE-01
#[tokio::test]
async fn contents_are_read_with_their_type_and_their_freshness() {
    let caller = Caller::new(server());
    let mut reads = String::new();
    for uri in ["config://main", "blob://b", "invoice://7"] {
        reads.push_str(caller.send("resources/read", &format!(r#""uri":"{uri}""#)).await.text());
        reads.push('\n');
    }
    insta::assert_snapshot!(reads);
}

/// Requirements: BASE-21, RES-09, RES-10, RES-13, RES-16
#[tokio::test]
async fn what_does_not_exist_is_an_error_with_its_uri() {
    let caller = Caller::new(server());
    for uri in
        ["invoice://8", "config://other", "", "no uri", "invoice://a/b", "invoice://..", "file:///etc/../x"]
    {
        let answer = caller.send("resources/read", &format!(r#""uri":"{uri}""#)).await;
        assert_eq!((answer.status, answer.error().get("code").unwrap().raw()), (200, "-32602"), "{uri}");
        assert!(answer.error().path(["data", "uri"]).unwrap().is_str(uri));
    }
    for members in ["", r#""uri":7"#] {
        assert_eq!(caller.send("resources/read", members).await.status, 400);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_handler_is_an_internal_error_that_tells_nothing() {
    let caller = Caller::new(server());
    for uri in ["invoice://panic", "invoice://slow"] {
        let answer = caller.send("resources/read", &format!(r#""uri":"{uri}""#)).await;
        assert_eq!(answer.error().get("code").unwrap().raw(), "-32603", "{uri}");
        assert!(!answer.text().contains("hunter2"));
    }
}

#[tokio::test]
async fn a_prompt_is_rendered_from_its_arguments() {
    let caller = Caller::new(server());
    let answer = caller.send("prompts/get", r#""name":"review","arguments":{"code":"fn f() {}"}"#).await;
    insta::assert_snapshot!(answer.text());
}

#[tokio::test]
async fn a_prompt_is_refused_for_arguments_that_do_not_fit() {
    let caller = Caller::new(server());
    for (members, place) in [
        (r#""name":"absent""#, "unknown prompt"),
        (r#""name":7"#, "`name`"),
        (r#""name":"review""#, "code"),
        (r#""name":"review","arguments":{"language":"rust"}"#, "code"),
        (r#""name":"review","arguments":{"code":7}"#, "strings"),
        (r#""name":"review","arguments":[]"#, "`arguments`"),
    ] {
        let answer = caller.send("prompts/get", members).await;
        assert_eq!(answer.error().get("code").unwrap().raw(), "-32602", "{members}");
        assert!(answer.error().get("message").unwrap().raw().contains(place), "{}", answer.text());
    }
}

/// Requirements: MRTR-02, MRTR-05, MRTR-10
#[tokio::test]
async fn a_prompt_may_ask_and_its_state_is_its_own() {
    let caller = Caller::new(server()).declaring(EVERYTHING);
    let asked = caller.send("prompts/get", r#""name":"asking""#).await;
    assert_eq!(asked.string(&["resultType"]), "input_required");
    let state = asked.string(&["requestState"]);
    let responses = r#""inputResponses":{"topic":{"action":"accept","content":{"topic":"invoices"}}}"#;
    let members = format!(r#""name":"asking",{responses},"requestState":"{state}""#);
    assert!(caller.send("prompts/get", &members).await.text().contains("invoices"));
    for members in [
        format!(r#""name":"asking","arguments":{{"a":"b"}},{responses},"requestState":"{state}""#),
        format!(r#""name":"review","arguments":{{"code":""}},"requestState":"{state}""#),
        format!(r#""name":"asking",{responses},"requestState":"x{state}""#),
    ] {
        let refused = caller.send("prompts/get", &members).await;
        assert_eq!(refused.error().get("code").unwrap().raw(), "-32602", "{members}");
    }
    let silent = Caller::new(server()).send("prompts/get", r#""name":"asking""#).await;
    assert_eq!((silent.status, silent.error().get("code").unwrap().raw()), (400, "-32021"));
}

#[tokio::test]
async fn completions_are_capped_and_know_what_was_chosen() {
    let caller = Caller::new(server());
    let prompt = r#""ref":{"type":"ref/prompt","name":"review"}"#;
    let answer = caller
        .send(
            "completion/complete",
            &format!(r#"{prompt},"argument":{{"name":"language","value":"r"}},"context":{{"arguments":{{"code":"c"}}}}"#),
        )
        .await;
    let completion = answer.result().get("completion").unwrap();
    assert_eq!(completion.get("values").unwrap().len(), 100);
    assert!(completion.get("values").unwrap().items().next().unwrap().is_str("rc0"));
    assert_eq!(
        (completion.get("total").unwrap().raw(), completion.get("hasMore").unwrap().raw()),
        ("150", "true")
    );
    let none = caller
        .send("completion/complete", &format!(r#"{prompt},"argument":{{"name":"code","value":""}}"#))
        .await;
    assert_eq!(none.result().get("completion").unwrap().raw(), r#"{"values":[],"total":0,"hasMore":false}"#);
    let template = r#""ref":{"type":"ref/resource","uri":"invoice://{number}"}"#;
    let of_template = format!(r#"{template},"argument":{{"name":"number","value":"1"}}"#);
    assert_eq!(caller.send("completion/complete", &of_template).await.status, 200);
}

#[tokio::test]
async fn a_completion_of_what_does_not_exist_is_refused() {
    let caller = Caller::new(server());
    let argument = r#""argument":{"name":"language","value":""}"#;
    for members in [
        String::new(),
        argument.to_owned(),
        format!(r#"{argument},"ref":{{"type":"ref/prompt","name":"absent"}}"#),
        format!(r#"{argument},"ref":{{"type":"ref/other","name":"review"}}"#),
        format!(r#"{argument},"ref":{{"type":"ref/resource","uri":"invoice://{{number}}"}}"#),
        r#""ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"absent","value":""}"#.to_owned(),
        r#""ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"language"}"#.to_owned(),
        format!(
            r#"{argument},"ref":{{"type":"ref/prompt","name":"review"}},"context":{{"arguments":{{"a":1}}}}"#
        ),
    ] {
        let answer = caller.send("completion/complete", &members).await;
        assert_eq!(answer.error().get("code").unwrap().raw(), "-32602", "{members}");
    }
}

#[tokio::test(start_paused = true)]
async fn prompts_resources_and_completions_count_towards_the_rate_of_their_caller() {
    let number = |number| std::num::NonZeroU32::new(number).unwrap();
    let mut limits = callgate_server::Limits::default();
    let rate = callgate_server::Rate::per_minute(number(60), number(3));
    limits.gate.principal = callgate_server::Allowance::unbounded().with_rate(rate);
    let caller = Caller::new(server().limits(limits));
    let complete =
        r#""ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"language","value":"r"}"#;
    let asked = [
        ("resources/read", r#""uri":"invoice://7""#),
        ("prompts/get", r#""name":"review","arguments":{"code":""}"#),
        ("completion/complete", complete),
    ];
    for (method, members) in asked {
        let answer = caller.send(method, members).await;
        assert!(!answer.text().contains("rate_limited"), "{method}: {}", answer.text());
    }
    for (method, members) in asked {
        let answer = caller.send(method, members).await;
        assert_eq!(answer.error().path(["data", "retryAfterMs"]).unwrap().raw(), "1000", "{method}");
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!caller.send("prompts/get", asked[1].1).await.text().contains("rate_limited"));
}

/// Whoever may not call here hears that, and nothing of what is offered or of what the parameters lack.
///
/// Requirements: AUTH-RS-13
#[tokio::test]
async fn strangers_are_refused_before_their_parameters_are_judged() {
    let caller = Caller::new(super::lists::guarded(server()));
    for (method, members) in [
        ("prompts/get", r#""name":"review","arguments":5"#),
        ("prompts/get", ""),
        ("prompts/get", r#""name":"absent""#),
        ("resources/read", ""),
        ("resources/read", r#""uri":7"#),
        ("resources/read", r#""uri":"a:b","inputResponses":7"#),
        ("completion/complete", ""),
        ("completion/complete", r#""argument":{"name":"x"}"#),
        ("completion/complete", r#""argument":{"name":"x","value":"y"},"context":{"arguments":7}"#),
    ] {
        let (status, _) = caller.open(method, members, &[]).await;
        assert_eq!(status, 401, "{method} {members}");
        let (status, _) = caller.open(method, members, &[("authorization", "Bearer reader")]).await;
        assert_ne!(status, 401, "{method} {members}");
    }
}
