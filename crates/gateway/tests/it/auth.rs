//! Who calls, as the file says it: a server with an issuer on a real socket, over HTTP and TLS.

mod challenges;
mod files;
mod tls;

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callgate_gateway::Reloader;
use callgate_protocol::Revision;
use callgate_server::Shutdown;
use callgate_testkit::issuer::{Issuer, SigningKey};
use callgate_testkit::wire::assert_server_message;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

use crate::served::{Files, HEAD};

/// The resource as clients know it.
const RESOURCE: &str = "https://mcp.example.com/mcp";

/// One tool for everybody, one that needs two scopes.
const TOOLS: &str = r#"
[policy]
files = ["callers.cedar"]

[tool.count]
description = "Counts the invoices of the caller's company. Use it for totals; it shows no invoice."
effect = "read"
source = "billing"
sql = "select count(*) as n from invoices where tenant_id = :tenant"
output = { n = { type = "integer" } }

[tool.sums]
description = "Sums the invoices of the caller's company. Use it for reports; it shows no invoice."
effect = "read"
source = "billing"
scopes = ["invoices:read", "reports:read"]
sql = "select sum(amount_minor) as n from invoices where tenant_id = :tenant"
output = { n = { type = "integer" } }
"#;

/// A directory with a file, and a policy that leaves it to the scopes who may call.
fn files(toml: &str) -> Files {
    let files = Files::new(toml);
    files.write("callers.cedar", "permit(principal, action, resource);\n");
    files
}

/// The head, with a local caller who needs no credential from this machine, and has the scope `mcp`.
fn head() -> String {
    HEAD.replace("tenant = \"tenant-a\"\n", "tenant = \"tenant-a\"\nscopes = [\"mcp\"]\nloopback = true\n")
}

/// A server with an authorization server.
struct Setting {
    files: Files,
    issuer: Issuer,
    key: SigningKey,
    client: reqwest::Client,
    address: SocketAddr,
    shutdown: Shutdown,
    reloader: Option<Reloader>,
}

impl Drop for Setting {
    fn drop(&mut self) {
        self.shutdown.force();
    }
}

/// The file of a server that trusts an issuer.
fn file(issuer: &Issuer, more: &str) -> String {
    format!(
        r#"{}
[auth.oauth]
issuer = "{}"
resource = "{RESOURCE}"
cache_s = 1
{more}
{TOOLS}"#,
        head(),
        issuer.url()
    )
}

impl Setting {
    async fn new(more: &str) -> Self {
        let issuer = Issuer::start().await;
        let key = SigningKey::p256("key-1");
        issuer.publish(&[&key]);
        let files = files(&file(&issuer, more));
        Self::serve(files, issuer, key).await
    }

    async fn serve(files: Files, issuer: Issuer, key: SigningKey) -> Self {
        let gate = files.gate();
        let options = gate.http_options();
        let (server, reloader) = gate.build().unwrap();
        let shutdown = Shutdown::new();
        let http = server.bind_http(([127, 0, 0, 1], 0).into(), options, shutdown.clone()).await.unwrap();
        let address = http.local_addr().unwrap();
        tokio::spawn(http.run());
        let client = reqwest::Client::new();
        Self { files, issuer, key, client, address, shutdown, reloader: Some(reloader) }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A token for `tenant-b` that lives so many seconds.
    fn token_for(&self, seconds: u64, scope: &str) -> String {
        let expires = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds;
        self.key.token(&format!(
            r#"{{"iss":"{}","aud":"{RESOURCE}","sub":"erin","tenant":"tenant-b","exp":{expires},"scope":"{scope}"}}"#,
            self.issuer.url()
        ))
    }

    fn token(&self, scope: &str) -> String {
        self.token_for(300, scope)
    }

    fn request(&self, method: &str, params: &str) -> RequestBuilder {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        self.client
            .post(self.url("/mcp"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .body(body)
    }

    fn call(&self, tool: &str) -> RequestBuilder {
        let params = format!(r#""name":"{tool}","arguments":{{}},"#);
        self.request("tools/call", &params).header("mcp-name", tool)
    }

    async fn call_with(&self, tool: &str, token: &str) -> Response {
        answer(self.call(tool).header(AUTHORIZATION, format!("Bearer {token}"))).await
    }

    fn metadata(&self) -> String {
        "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"".to_owned()
    }
}

fn challenge(response: &Response) -> String {
    let mut values = response.headers().get_all("www-authenticate").iter();
    let value = values.next().map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    assert!(values.next().is_none(), "one challenge");
    value
}

async fn json(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// Sends a request and takes its answer as it came, once each message in it is one that the server may send in
/// that revision in answer to this request.
async fn judged(revision: Revision, request: RequestBuilder) -> Response {
    let sent = request.try_clone().unwrap().build().unwrap();
    let sent = sent.body().and_then(|body| body.as_bytes()).unwrap_or_default();
    let sent: Value = serde_json::from_slice(sent).unwrap_or_default();
    let answered = sent["method"].as_str().filter(|_| !sent["id"].is_null());
    let response = request.send().await.unwrap();
    let mut parts = http::Response::builder().status(response.status()).version(response.version());
    parts.headers_mut().unwrap().clone_from(response.headers());
    let text = response.text().await.unwrap();
    for message in messages(&text) {
        assert_server_message(revision, answered, message);
    }
    parts.body(text).unwrap().into()
}

/// The messages of an answer: one, those of a stream, or none.
fn messages(text: &str) -> Vec<&str> {
    if text.starts_with('{') {
        return vec![text];
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(str::trim).filter(|data| !data.is_empty()).collect()
}

/// The judged answer to a request of the modern era.
async fn answer(request: RequestBuilder) -> Response {
    judged(Revision::V2026_07_28, request).await
}

async fn rows(response: Response) -> Value {
    assert_eq!(response.status(), 200);
    json(response).await["result"]["structuredContent"]["rows"].clone()
}

/// Waits for something that takes its time.
async fn until(mut is: impl AsyncFnMut() -> bool) {
    let limit = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is().await {
        assert!(tokio::time::Instant::now() < limit, "it did not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
