//! Discovery and lists: order, pages, cursors, caching hints, and who sees what.

use callgate_core::contract::Contract;
use callgate_core::contract::digest::Digest;
use callgate_core::port::{
    Answer as PortAnswer, Authenticate, Authorization, Credentials, Decision, Policy, Question,
};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_protocol::json::Value;
use callgate_server::{Content, Context, Effect, NoInput, Server, ServerBuilder, Tool, ToolError};
use std::sync::Arc;

use super::caller::{Answer, Caller};

async fn nothing(_: Context<'_>, _: NoInput) -> Result<Content, ToolError> {
    Ok(Content::new())
}

fn tool(name: &str) -> Tool {
    Tool::new(name, Effect::Read, nothing)
}

fn with_tools(names: &[&str]) -> ServerBuilder {
    names.iter().fold(Server::builder("lists", "1"), |builder, name| builder.tool(tool(name)))
}

fn names(answer: &Answer) -> Vec<String> {
    let tools = answer.result().get("tools").unwrap();
    tools.items().map(|tool| tool.get("name").and_then(Value::as_str).unwrap().into_owned()).collect()
}

/// Requirements: BASE-06, BASE-07, BASE-08, VER-03, DISC-01, DISC-02, TOOL-02, CACHE-01, CACHE-05
#[tokio::test]
async fn discovery_names_the_revisions_and_what_is_served() {
    let caller = Caller::new(with_tools(&[]).title("Lists").instructions("Ask for lists."));
    let answer = caller.send("server/discover", "").await;
    insta::assert_snapshot!(answer.text());
}

/// Requirements: DISC-01, TOOL-03, RES-01, RES-02
#[tokio::test]
async fn what_is_not_offered_is_an_unknown_method_and_is_not_advertised() {
    let caller = Caller::new(with_tools(&["only"]));
    let answer = caller.send("server/discover", "").await;
    let capabilities = answer.result().get("capabilities").unwrap();
    assert_eq!(capabilities.raw(), r#"{"tools":{"listChanged":true}}"#);
    assert_eq!(names(&caller.send("tools/list", "").await), ["only"]);
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let answer = caller.send(method, "").await;
        assert_eq!((answer.status, answer.error().get("code").unwrap().raw()), (404, "-32601"), "{method}");
    }
}

/// Requirements: TOOL-03, TOOL-04, RES-03, CACHE-16
#[tokio::test]
async fn pages_follow_the_names_and_end_where_the_list_ends() {
    let caller = Caller::new(with_tools(&["d", "a", "e", "B", "c"]).page_size(2));
    let mut seen = Vec::new();
    let mut scopes = Vec::new();
    let mut cursor = None;
    loop {
        let members = cursor.map(|cursor| format!(r#""cursor":"{cursor}""#)).unwrap_or_default();
        let answer = caller.send("tools/list", &members).await;
        seen.push(names(&answer));
        scopes.push((answer.string(&["cacheScope"]), answer.result().get("ttlMs").unwrap().raw().to_owned()));
        match answer.result().get("nextCursor").and_then(Value::as_str) {
            Some(next) => cursor = Some(next.into_owned()),
            None => break,
        }
    }
    assert_eq!(seen, [vec!["B", "a"], vec!["c", "d"], vec!["e"]]);
    assert!(scopes.iter().all(|hint| *hint == ("public".to_owned(), "60000".to_owned())), "{scopes:?}");
}

#[tokio::test]
async fn a_page_that_is_exactly_full_has_no_next_page() {
    let caller = Caller::new(with_tools(&["a", "b"]).page_size(2));
    assert!(caller.send("tools/list", "").await.result().get("nextCursor").is_none());
}

/// A cursor that nobody gave, one of another list, and the empty one are refused, and never the whole list.
#[tokio::test]
async fn a_bogus_cursor_is_refused() {
    let caller = Caller::new(with_tools(&["a", "b"]).page_size(1));
    let good = caller.send("tools/list", "").await.string(&["nextCursor"]);
    let mut changed = good.clone();
    changed.replace_range(6..7, if &good[6..7] == "A" { "B" } else { "A" });
    for cursor in
        ["\"\"", "\"bogus\"", "\"AQ\"", &format!("\"{changed}\""), &format!("\"{good}=\""), "null", "1", "{}"]
    {
        let answer = caller.send("tools/list", &format!(r#""cursor":{cursor}"#)).await;
        assert_eq!((answer.status, answer.error().get("code").unwrap().raw()), (400, "-32602"), "{cursor}");
    }
}

#[tokio::test]
async fn a_cursor_stays_valid_when_the_list_changes() {
    let caller = Caller::new(with_tools(&["a", "c", "e"]).page_size(2));
    let next = caller.send("tools/list", "").await.string(&["nextCursor"]);
    caller.handle().add_tools([tool("d")]).unwrap();
    caller.handle().remove_tools(&["c"]).unwrap();
    let page = caller.send("tools/list", &format!(r#""cursor":"{next}""#)).await;
    assert_eq!(names(&page), ["d", "e"], "the page starts after the last entry that was seen");
}

/// Answers `reader` or `writer` by the `Authorization` header, and nobody without one.
struct Tokens;

impl Authenticate for Tokens {
    fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> PortAnswer<'a, Result<Arc<Principal>, Refusal>> {
        PortAnswer::now(match credentials.authorization {
            Authorization::One(token) => Ok(Arc::new(Principal::new(token.trim_start_matches("Bearer ")))),
            _ => Err(Refusal::new(Code::Unauthenticated, "a credential is required")),
        })
    }
}

/// Shows tools whose names start with `add` to writers only.
struct Writers;

impl Policy for Writers {
    fn is_visible(&self, principal: &Principal, contract: &Contract) -> bool {
        &*principal.subject == "writer" || !contract.name().as_str().starts_with("add")
    }

    fn is_same_for_all(&self) -> bool {
        false
    }

    fn decide<'a>(&'a self, question: Question<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        let _ = question;
        PortAnswer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }
}

pub(super) fn guarded(builder: ServerBuilder) -> ServerBuilder {
    builder.authenticate(Tokens).policy(Writers, Digest::of_bytes(b"writers"))
}

async fn list_as(caller: &Caller, token: &str, members: &str) -> Answer {
    use http_body_util::BodyExt as _;
    let headers = [("authorization", format!("Bearer {token}"))];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (status, body) = caller.open("tools/list", members, &headers).await;
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Answer {
        status,
        document: callgate_protocol::json::Document::parse(text, &callgate_protocol::json::Limits::DEFAULT)
            .unwrap(),
    }
}

/// Case 21: what one credential sees never reaches another one, page for page, and is never marked as
/// shareable. Requirements below.
///
/// Requirements: TOOL-04, TOOL-26, CACHE-16, CACHE-17, CACHE-18
#[tokio::test]
async fn a_list_varies_by_the_credential_of_the_request_and_is_then_private() {
    let caller = Caller::new(guarded(with_tools(&["add", "add_more", "slow", "sum"])).page_size(2));
    for _ in 0..2 {
        let first = list_as(&caller, "writer", "").await;
        assert_eq!(names(&first), ["add", "add_more"]);
        assert_eq!(first.string(&["cacheScope"]), "private");
        let cursor = format!(r#""cursor":"{}""#, first.string(&["nextCursor"]));
        let reader = list_as(&caller, "reader", "").await;
        assert_eq!(names(&reader), ["slow", "sum"]);
        assert!(reader.result().get("nextCursor").is_none());
        assert_eq!(reader.string(&["cacheScope"]), "private");
        let swapped = list_as(&caller, "reader", &cursor).await;
        let code = swapped.error().get("code").unwrap().raw();
        assert_eq!((swapped.status, code), (400, "-32602"), "another's cursor is none");
        assert_eq!(names(&list_as(&caller, "writer", &cursor).await), ["slow", "sum"]);
        let nobody = caller.send("tools/list", "").await;
        assert_eq!((nobody.status, nobody.error().get("code").unwrap().raw()), (401, "-32600"));
    }
}

/// Hides one tool from everybody, and lets the others be listed for a moment only.
struct HidesFromAll;

impl Policy for HidesFromAll {
    fn is_visible(&self, _: &Principal, contract: &Contract) -> bool {
        contract.name().as_str() != "hidden"
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn is_steady(&self) -> bool {
        false
    }

    fn decide<'a>(&'a self, _: Question<'a>) -> PortAnswer<'a, Result<Decision, Refusal>> {
        PortAnswer::now(Ok(Decision::Permit { policies: Vec::new() }))
    }
}

#[tokio::test]
async fn what_is_hidden_from_everybody_is_in_no_shared_list() {
    let builder = with_tools(&["a", "hidden", "z"]).policy(HidesFromAll, Digest::of_bytes(b"hides"));
    let answer = Caller::new(builder).send("tools/list", "").await;
    assert_eq!(names(&answer), ["a", "z"]);
    assert_eq!(answer.string(&["cacheScope"]), "public");
    assert_eq!(answer.result().get("ttlMs").unwrap().raw(), "0", "the next moment can differ");
}

/// Requirements: TOOL-08, TOOL-21
#[tokio::test]
async fn a_tool_is_listed_with_the_schemas_of_its_types() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Query {
        /// Which page
        page: Option<u8>,
        kind: Kind,
        nested: Nested,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Open,
        Overdue,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Nested {
        flag: bool,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Found {
        total: u64,
        note: Option<String>,
    }
    async fn find(_: Context<'_>, _: Query) -> Result<Found, ToolError> {
        Ok(Found { total: 0, note: None })
    }
    let tool = Tool::new("find", Effect::ExternalRead, find).title("Find").description("Finds.");
    let caller = Caller::new(Server::builder("lists", "1").tool(tool).tool(self::tool("none")));
    let answer = caller.send("tools/list", "").await;
    insta::assert_snapshot!(answer.result().get("tools").unwrap().raw());
}
