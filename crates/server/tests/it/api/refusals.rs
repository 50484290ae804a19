//! Each refusal code, provoked through the public API, in its wire form.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::contract::digest::Digest;
use callgate_core::contract::{Contract, Effect};
use callgate_core::keeping::Stores;
use callgate_core::memory::MemoryApprovals;
use callgate_core::policy::LocalPolicy;
use callgate_core::port::{
    Answer as PortAnswer, Approver, Authenticate, Clock, Credentials, Decision, Entropy, EntropyError,
    Policy, Question, Timestamp,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_server::{
    Content, Context, Delivery, HandleScope, Limits, NoInput, Server, ServerBuilder, Tool, ToolError,
    refusals_manual,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::caller::{Answer, Caller, EVERYTHING};
use super::calls::raw;

/// A clock that stands still.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp(1_800_000_000_000_000)
    }
}

/// A random source that gives sevens, and fails when it has given enough.
struct Sevens(std::sync::atomic::AtomicUsize);

impl Entropy for Sevens {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyError> {
        use std::sync::atomic::Ordering;
        let had = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        buffer.fill(7);
        had.map(|_| ()).map_err(|_| EntropyError)
    }
}

fn server() -> ServerBuilder {
    Server::builder("refusals", "1").clock(Noon).entropy(Sevens(usize::MAX.into()))
}

/// Ports that never answer.
struct Hangs;

impl Authenticate for Hangs {
    fn authenticate<'a>(
        &'a self,
        _: Credentials<'a>,
    ) -> PortAnswer<'a, Result<std::sync::Arc<Principal>, Refusal>> {
        PortAnswer::later(std::future::pending())
    }
}

/// An authenticator that takes no credential.
struct Refuses(Code);

impl Authenticate for Refuses {
    fn authenticate<'a>(
        &'a self,
        _: Credentials<'a>,
    ) -> PortAnswer<'a, Result<std::sync::Arc<Principal>, Refusal>> {
        PortAnswer::now(Err(Refusal::new(self.0, "the reason that a caller may read").with_detail("hunter2")))
    }
}

impl Policy for Hangs {
    fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
        true
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        PortAnswer::later(std::future::pending())
    }
}

/// A policy that decides the same for every call.
struct Decides(Decision);

impl Policy for Decides {
    fn is_visible(&self, _: &Principal, _: &Contract) -> bool {
        true
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        PortAnswer::now(Ok(self.0.clone()))
    }
}

async fn fine(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::text("fine"))
}

#[derive(Deserialize, JsonSchema)]
struct Ok {
    #[expect(dead_code, reason = "only the form is looked at")]
    ok: bool,
}

/// A tool that refuses with a code, as an executor in another crate can.
async fn refuses(code: &Code, _: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Err(ToolError::refused(Refusal::new(*code, "the reason that a caller may read").with_detail("hunter2")))
}

async fn asks(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    context.keep("state");
    let _ = context.elicit::<Ok>("ok", "All right?").await?;
    Ok(Content::new())
}

async fn provoke(code: Code) -> Answer {
    let tool = |name: &str| Tool::new(name, Effect::Read, fine);
    match code {
        Code::MalformedCall => Caller::new(server().tool(tool("t"))).send("tools/call", r#""name":1"#).await,
        Code::UnknownTool => Caller::new(server()).tool("t", "{}").await,
        Code::HeaderMismatch => {
            let schema =
                r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
            Caller::new(server().tool(tool("t").input_schema(schema))).tool("t", r#"{"region":"eu"}"#).await
        }
        Code::InvalidArguments => Caller::new(server().tool(tool("t"))).tool("t", r#"{"a":"hunter2"}"#).await,
        Code::ArgumentsTooCostly => {
            let schema = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"},{"type":"integer","multipleOf":7}]}},"u":{}}}"##;
            let mut limits = Limits::default();
            limits.gate.schema.evaluate_work = 64;
            let caller = Caller::new(server().limits(limits).tool(tool("t").input_schema(schema)));
            let deep = format!("{{\"a\":[{}]}}", vec!["7"; 400].join(","));
            caller.tool("t", &deep).await
        }
        Code::Unauthenticated => {
            let mut caller = Caller::new(server().tool(tool("t")));
            caller.remote = ([203, 0, 113, 7], 80).into();
            caller.tool("t", "{}").await
        }
        Code::InvalidToken | Code::MalformedCredential => {
            Caller::new(
                server()
                    .authenticate(Refuses(code))
                    .policy(LocalPolicy::new(), Digest::of_bytes(b"local"))
                    .tool(tool("t")),
            )
            .tool("t", "{}")
            .await
        }
        Code::IdentityUnavailable => {
            Caller::new(
                server()
                    .authenticate(Hangs)
                    .policy(LocalPolicy::new(), Digest::of_bytes(b"local"))
                    .tool(tool("t")),
            )
            .tool("t", "{}")
            .await
        }
        Code::InsufficientScope => {
            Caller::new(server().tool(tool("t").scope("read").scope("write"))).tool("t", "{}").await
        }
        Code::GateUnavailable => {
            Caller::new(server().policy(Hangs, Digest::of_bytes(b"hangs")).tool(tool("t")))
                .tool("t", "{}")
                .await
        }
        Code::Forbidden => {
            let deny = Decides(Decision::Deny { policies: vec!["no-reads".into()], errors: Vec::new() });
            Caller::new(server().policy(deny, Digest::of_bytes(b"deny")).tool(tool("t")))
                .tool("t", "{}")
                .await
        }
        Code::ApprovalRequired => {
            let wait = Decides(Decision::NeedsApproval { approver: Approver::Caller, policies: Vec::new() });
            Caller::new(server().policy(wait, Digest::of_bytes(b"wait")).tool(tool("t")))
                .tool("t", "{}")
                .await
        }
        Code::ApprovalPending => {
            let wait =
                Decides(Decision::NeedsApproval { approver: Approver::SecondPerson, policies: Vec::new() });
            let stores = Stores::in_memory().with_approvals(Arc::new(MemoryApprovals::shown_to_people()));
            let server = server().stores(stores).policy(wait, Digest::of_bytes(b"wait"));
            Caller::new(server.tool(tool("t"))).tool("t", "{}").await
        }
        Code::ApprovalDenied => {
            let wait = Decides(Decision::NeedsApproval { approver: Approver::Caller, policies: Vec::new() });
            let caller = Caller::new(server().policy(wait, Digest::of_bytes(b"wait")).tool(tool("t")));
            let caller = caller.declaring(EVERYTHING);
            let asked = caller.tool("t", "{}").await;
            let state = asked.string(&["requestState"]);
            let answer = format!(
                r#""requestState":"{state}","inputResponses":{{"dev.callgate/approval":{{"action":"decline"}}}}"#
            );
            caller.tool_with("t", "{}", &answer).await
        }
        Code::Busy => {
            let mut limits = Limits::default();
            limits.gate.calls_in_flight = 0;
            Caller::new(server().limits(limits).tool(tool("t"))).tool("t", "{}").await
        }
        Code::MissingCapability => {
            Caller::new(server().tool(Tool::new("t", Effect::Read, asks))).tool("t", "{}").await
        }
        Code::InvalidState => {
            let caller = Caller::new(server().tool(tool("t")));
            caller.tool_with("t", "{}", r#""requestState":"forged""#).await
        }
        Code::InvalidInputResponse => {
            let caller = Caller::new(server().tool(Tool::new("t", Effect::Read, asks))).declaring(EVERYTHING);
            let responses = r#""inputResponses":{"ok":{"action":"accept","content":{"ok":"hunter2"}}}"#;
            caller.tool_with("t", "{}", responses).await
        }
        Code::Timeout => {
            async fn hangs(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
                std::future::pending().await
            }
            let tool = Tool::new("t", Effect::Read, hangs).timeout(Duration::from_secs(1));
            Caller::new(server().tool(tool)).tool("t", "{}").await
        }
        Code::ToolPanicked => {
            async fn panics(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
                panic!("hunter2")
            }
            Caller::new(server().tool(Tool::new("t", Effect::Read, panics))).tool("t", "{}").await
        }
        Code::OutputInvalid => {
            let tool = tool("t").output_schema(r#"{"type":"object","required":["a"]}"#);
            Caller::new(server().tool(tool)).tool("t", "{}").await
        }
        Code::OutputTooLarge => Caller::new(server().tool(tool("t").output_bytes(8))).tool("t", "{}").await,
        Code::Internal => {
            // Two for the key of the server, none for the id of the call.
            let builder = server().entropy(Sevens(2.into()));
            Caller::new(builder.tool(tool("t"))).tool("t", "{}").await
        }
        Code::InvalidHandle => {
            async fn checks(context: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
                context.handles().check("hunter2", &HandleScope::tool()).await.map(|_| Content::new())
            }
            Caller::new(server().tool(Tool::new("t", Effect::Read, checks))).tool("t", "{}").await
        }
        Code::StoreFull => {
            let mut limits = Limits::default();
            limits.gate.artifacts_of_principal = 0;
            let tool = tool("t").output_bytes(8).delivery(Delivery::Overflow);
            Caller::new(server().limits(limits).tool(tool)).tool("t", "{}").await
        }
        Code::InvalidCursor
        | Code::NotFound
        | Code::RateLimited
        | Code::LedgerRequired
        | Code::IdempotencyKeyRequired
        | Code::IdempotencyConflict
        | Code::CallInFlight
        | Code::OutcomeUnknown
        | Code::PreconditionFailed
        | Code::ResultNotKept
        | Code::LedgerFull
        | Code::Cancelled
        | Code::ToolFailed
        | Code::SourceUnavailable => {
            Caller::new(server().tool(Tool::with_state("t", Effect::Read, code, refuses)))
                .tool("t", "{}")
                .await
        }
    }
}

/// Requirements: BASE-12, BASE-13, BASE-15, BASE-54, BASE-55
#[tokio::test(start_paused = true)]
async fn each_code_has_its_wire_form_and_tells_no_secret() {
    let mut forms = String::new();
    for code in Code::ALL {
        let answer = provoke(code).await;
        assert!(!answer.text().contains("hunter2"), "{code}: {}", answer.text());
        let told = answer.document.root();
        let told = told
            .path(["result", "_meta", "dev.callgate/refusal", "code"])
            .or(told.path(["error", "data", "code"]))
            .and_then(|told| told.as_str());
        // The data of this one error is the specification's.
        if code != Code::MissingCapability {
            assert_eq!(told.as_deref(), Some(code.as_str()), "{}", answer.text());
        }
        forms.push_str(&format!("{code} HTTP {}\n{}\n\n", answer.status, answer.text()));
    }
    insta::assert_snapshot!(forms);
}

#[test]
fn the_manual_is_what_the_codes_say() {
    let committed = include_str!("../../../../../docs/refusals.md");
    assert_eq!(committed, refusals_manual(), "docs/refusals.md is stale: run `cargo xtask generate`");
}

#[tokio::test]
async fn a_tool_that_may_not_be_seen_answers_as_one_that_does_not_exist() {
    let caller = Caller::new(super::lists::guarded(server()).tool(Tool::new("add_user", Effect::Read, fine)));
    let call = async |name: &str| {
        use http_body_util::BodyExt as _;
        let headers = [("authorization", "Bearer reader")];
        let members = format!(r#""name":"{name}","arguments":{{"wrong":1}}"#);
        let (status, body) = caller.open("tools/call", &members, &headers).await;
        (status, body.collect().await.unwrap().to_bytes())
    };
    assert_eq!(call("add_user").await, call("absent").await);
}

#[tokio::test]
async fn raw_arguments_of_a_refused_call_appear_nowhere() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","enum":["x"],"maxLength":1}}}"#;
    struct Never;
    impl callgate_core::port::Execute for Never {
        fn execute<'a>(
            &'a self,
            _: &'a callgate_core::invocation::Invocation<'a>,
        ) -> PortAnswer<'a, callgate_core::port::Execution> {
            panic!("a refused call is never executed")
        }
    }
    let caller = Caller::new(server().tool(raw("t", schema, None, Never)));
    let answer = caller.tool("t", r#"{"a":"hunter2"}"#).await;
    assert!(answer.is_error() && !answer.text().contains("hunter2"), "{}", answer.text());
    assert!(answer.content().starts_with("invalid_arguments"));
}
