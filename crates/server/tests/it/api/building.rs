//! What cannot be built, and that every fault is named at once.

use std::net::SocketAddr;

use callgate_server::{
    Completing, Content, Contents, Context, Effect, HttpOptions, Idempotency, KeySource, Messages, NoInput,
    Prompt, Resolution, Resource, ResourceTemplate, ServeError, Server, Shutdown, Tool, ToolError,
};

async fn nothing(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::new())
}

async fn prompt(_: Context<'_>, _: NoInput) -> Result<Messages, ToolError> {
    Ok(Messages::new())
}

async fn values(_: Context<'_>, _: Completing) -> Result<Vec<String>, ToolError> {
    Ok(Vec::new())
}

async fn contents(_: Context<'_>, _: callgate_server::Reading) -> Result<Contents, ToolError> {
    Ok(Contents::text(""))
}

/// Requirements: TOOL-08, BASE-38, RES-08
#[test]
fn every_fault_of_every_part_is_named_at_once() {
    let tool = |name: &str| Tool::new(name, Effect::Read, nothing);
    let faults = Server::builder("faults", "1")
        .tool(tool("twice"))
        .tool(tool("twice"))
        .tool(tool("no spaces"))
        .tool(tool("no_object").input_schema(r#"{"type":"string"}"#))
        .tool(tool("no_schema").output_schema("[").timeout(std::time::Duration::ZERO))
        .tool(Tool::new("appends", Effect::Append, nothing))
        .tool(
            Tool::new("destroys", Effect::Destructive, nothing)
                .idempotency(Idempotency::new(KeySource::Input))
                .resolution(Resolution::Person),
        )
        .prompt(Prompt::new("p", prompt).complete("absent", values))
        .prompt(Prompt::new("p", prompt))
        .resource(Resource::fixed("no uri", "N", Contents::text("")))
        .resource(Resource::fixed("a:b", "N", Contents::text("")))
        .resource(Resource::fixed("a:b", "N", Contents::text("")))
        .resource_template(ResourceTemplate::new("a:{x", "N", contents).complete("y", values))
        .build()
        .unwrap_err();
    insta::assert_snapshot!(faults);
}

#[test]
fn too_many_tools_are_refused() {
    let mut limits = callgate_server::Limits::default();
    limits.gate.tools = 1;
    let builder = Server::builder("many", "1").limits(limits);
    let builder =
        builder.tool(Tool::new("a", Effect::Read, nothing)).tool(Tool::new("b", Effect::Preview, nothing));
    assert!(builder.build().unwrap_err().to_string().contains("2 tools; at most 1"));
}

#[tokio::test]
async fn an_address_of_the_network_needs_an_authenticator() {
    let server = Server::builder("remote", "1").build().unwrap();
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0", "[::ffff:192.0.2.1]:80"] {
        let address: SocketAddr = address.parse().unwrap();
        let refused = server.bind_http(address, HttpOptions::default(), Shutdown::new()).await;
        let error = refused.map(|_| ()).unwrap_err();
        assert!(matches!(error, ServeError::Unauthenticated(_)), "{error}");
        assert!(error.to_string().contains("authenticate"), "{error}");
    }
    for address in ["127.0.0.1:0", "[::ffff:127.0.0.1]:0"] {
        let bound = server.bind_http(address.parse().unwrap(), HttpOptions::default(), Shutdown::new()).await;
        assert!(!matches!(bound, Err(ServeError::Unauthenticated(_))), "{address}");
    }
}

/// The default policy does not tell callers apart, and would let each of them read everything.
#[test]
fn callers_who_are_told_apart_need_a_policy() {
    use std::sync::Arc;

    use callgate_core::contract::digest::Digest;
    use callgate_core::policy::LocalPolicy;
    use callgate_core::port::LocalIdentity;
    use callgate_core::principal::Principal;

    let server = || Server::builder("s", "1").tool(Tool::new("t", Effect::Read, nothing));
    let known = || Arc::new(LocalIdentity::new(Principal::new("dana")));
    let fault = server().authenticate(known()).build().unwrap_err().to_string();
    assert!(fault.contains("policy: ") && fault.contains(".policy(..)"), "{fault}");
    let judged = server().authenticate(known()).policy(LocalPolicy::new(), Digest::of_bytes(b"local"));
    assert!(judged.build().is_ok(), "whoever wants it says so");
    assert!(server().local_principal(Principal::new("dana")).build().is_ok());
}
