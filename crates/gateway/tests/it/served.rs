//! A gate that is served over HTTP on a free loopback port, with a small billing database.

use std::path::{Path, PathBuf};

use callgate_gateway::store::Place;
use callgate_gateway::{Gate, Reloader};
use callgate_protocol::Revision;
use callgate_server::{HttpOptions, HttpServer, Server, Shutdown};
use callgate_testkit::wire::assert_server_message;
use serde_json::Value;
use tempfile::TempDir;

/// Three tenants, large ids, Unicode, NULL, a column that must never leave.
pub(crate) const TABLES: &str = "
    create table invoices (id integer primary key, tenant_id text, reference text, currency text,
                           amount_minor integer, due_on text, status text, note text, secret text);
    insert into invoices values
        (9007199254740993, 'tenant-a', 'A-1', 'EUR', 9007199254740995, '2026-11-01', 'open', 'Zoë''s; drop table', 'x'),
        (2, 'tenant-a', 'A-2', 'JPY', 0, '2026-10-01', 'open', null, 'x'),
        (3, 'tenant-a', 'A-3', 'EUR', 700, '2026-10-01', 'overdue', '💡', 'x'),
        (4, 'tenant-a', 'A-4', 'EUR', -5, null, 'open', '', 'x'),
        (5, 'tenant-b', 'B-1', 'EUR', 100, '2026-10-01', 'open', 'other tenant', 'x');
";

/// The head of a file with the billing source.
pub(crate) const HEAD: &str = r#"
[server]
name = "billing"

[auth.local]
principal = "dana"
tenant = "tenant-a"

[source.billing]
kind = "sqlite"
path = "billing.db"
tenant_scoped = true
"#;

/// A directory with a database and a `callgate.toml`.
pub(crate) struct Files {
    directory: TempDir,
}

impl Files {
    pub(crate) fn new(toml: &str) -> Self {
        let files = Self { directory: tempfile::tempdir().unwrap() };
        let database = rusqlite::Connection::open(files.at("billing.db")).unwrap();
        database.execute_batch(TABLES).unwrap();
        files.write("callgate.toml", toml);
        files
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.at(name), text).unwrap();
    }

    /// Replaces a file as editors do: a new one is written beside it and renamed over it.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        let beside = self.at(&format!("{name}.new"));
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(beside, self.at(name)).unwrap();
    }

    /// What a report says, without the directory of this test.
    pub(crate) fn report(&self) -> String {
        let text = callgate_gateway::check(self.at("callgate.toml")).to_string();
        text.replace(&format!("{}/", self.path().display()), "")
    }

    pub(crate) fn gate(&self) -> Gate {
        Gate::from_file(self.at("callgate.toml")).unwrap_or_else(|report| panic!("{report}"))
    }

    /// The same with a store, whose tables are made first.
    pub(crate) async fn serve_with_store(&self) -> Served {
        let place = Place::of(&self.at("callgate.toml")).unwrap_or_else(|report| panic!("{report}"));
        // Waiting for the store is for threads that may wait.
        let made = move || place.migrate().and_then(|_| place.migrate_sources());
        tokio::task::spawn_blocking(made).await.unwrap().unwrap();
        self.serve().await
    }

    pub(crate) async fn serve(&self) -> Served {
        let (server, reloader) = self.gate().build().unwrap();
        Served::start(&server, Some(reloader)).await
    }
}

/// An answer over HTTP.
#[derive(Debug, PartialEq)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

/// A served gate.
pub(crate) struct Served {
    url: String,
    client: reqwest::Client,
    shutdown: Shutdown,
    pub(crate) reloader: Option<Reloader>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.force();
    }
}

impl Served {
    pub(crate) async fn start(server: &Server, reloader: Option<Reloader>) -> Self {
        let shutdown = Shutdown::new();
        let service = server.http(HttpOptions::default(), &shutdown);
        let http = HttpServer::bind(([127, 0, 0, 1], 0).into(), service).await.unwrap();
        let url = format!("http://{}/mcp", http.local_addr().unwrap());
        tokio::spawn(http.run());
        Self { url, client: reqwest::Client::new(), shutdown, reloader }
    }

    async fn request(&self, method: &str, name: Option<&str>, params: &str) -> String {
        let text = self.send(method, name, params).await.text().await.unwrap();
        assert_server_message(Revision::V2026_07_28, Some(method), &text);
        text
    }

    async fn send(&self, method: &str, name: Option<&str>, params: &str) -> reqwest::Response {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let mut request = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        request.body(body).send().await.unwrap()
    }

    /// What a caller with a token gets, in full but for what differs from one answer to the next.
    pub(crate) async fn send_as(
        &self,
        token: Option<&str>,
        method: &str,
        name: Option<&str>,
        params: Value,
    ) -> Got {
        let answer = self.open_as(token, method, name, params).await;
        let headers = answer.headers().iter().filter(|(name, _)| *name != "date");
        let headers = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        assert_server_message(Revision::V2026_07_28, Some(method), &text);
        Got { status, headers, body: serde_json::from_str(&text).unwrap_or_default() }
    }

    async fn open_as(
        &self,
        token: Option<&str>,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> reqwest::Response {
        params["_meta"] = serde_json::json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = self
            .client
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .json(&body);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap()
    }

    /// The answer to a call of a caller with a token.
    pub(crate) async fn call_as(&self, token: &str, tool: &str, arguments: Value) -> Got {
        let params = serde_json::json!({"name": tool, "arguments": arguments});
        self.send_as(Some(token), "tools/call", Some(tool), params).await
    }

    /// The list as a caller with a token gets it.
    pub(crate) async fn list_as(&self, token: &str) -> Value {
        self.send_as(Some(token), "tools/list", None, serde_json::json!({})).await.body
    }

    /// The whole answer to a call, as text.
    pub(crate) async fn answer(&self, tool: &str, arguments: &str) -> String {
        self.request("tools/call", Some(tool), &format!(r#""name":"{tool}","arguments":{arguments},"#)).await
    }

    /// A call with more headers and more metadata, and what it is answered with.
    pub(crate) async fn call_with(
        &self,
        tool: &str,
        arguments: Value,
        meta: Value,
        headers: &[(&str, &str)],
    ) -> Value {
        self.call_at("", tool, arguments, meta, headers).await
    }

    /// The same, with something after the path of the endpoint.
    pub(crate) async fn call_at(
        &self,
        suffix: &str,
        tool: &str,
        arguments: Value,
        mut meta: Value,
        headers: &[(&str, &str)],
    ) -> Value {
        meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        meta["io.modelcontextprotocol/clientCapabilities"] = serde_json::json!({});
        let params = serde_json::json!({"name": tool, "arguments": arguments, "_meta": meta});
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.posted(suffix, tool, body.to_string(), headers).await
    }

    async fn posted(&self, suffix: &str, tool: &str, body: String, headers: &[(&str, &str)]) -> Value {
        let mut request = self
            .client
            .post(format!("{}{suffix}", self.url))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let text = request.body(body).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The structured result of a call with more headers, its arguments exactly as they are written.
    pub(crate) async fn structured_with(
        &self,
        tool: &str,
        arguments: &str,
        headers: &[(&str, &str)],
    ) -> Value {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let mut answer = self.posted("", tool, body, headers).await;
        assert!(answer["result"]["isError"].as_bool() != Some(true), "{answer}");
        answer["result"]["structuredContent"].take()
    }

    /// The `result` of a call.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Value {
        let text = self.answer(tool, arguments).await;
        let mut answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(answer.get("result").is_some(), "{text}");
        answer["result"].take()
    }

    /// The structured result of a call that must succeed.
    pub(crate) async fn structured(&self, tool: &str, arguments: &str) -> Value {
        let mut result = self.call(tool, arguments).await;
        assert!(result.get("isError").is_none_or(|flag| flag == false), "{result}");
        result["structuredContent"].take()
    }

    /// The answer to reading a resource.
    pub(crate) async fn read(&self, uri: &str) -> Value {
        let text = self.request("resources/read", Some(uri), &format!(r#""uri":"{uri}","#)).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The whole of an artifact, part by part.
    pub(crate) async fn artifact(&self, uri: &str) -> String {
        let (mut whole, mut next) = (String::new(), Some(uri.to_owned()));
        while let Some(uri) = next {
            let answer = self.read(&uri).await;
            let part = &answer["result"]["contents"][0];
            whole.push_str(part["text"].as_str().unwrap_or_else(|| panic!("{answer}")));
            next = part["_meta"]["dev.callgate/artifact"]["next"].as_str().map(str::to_owned);
        }
        whole
    }

    /// The text of a call that must end as an error of the tool.
    pub(crate) async fn error(&self, tool: &str, arguments: &str) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// A stream of changes of the list for a caller with a token, acknowledged.
    pub(crate) async fn listen_as(&self, token: &str) -> reqwest::Response {
        let params = serde_json::json!({"notifications": {"toolsListChanged": true}});
        let mut stream = self.open_as(Some(token), "subscriptions/listen", None, params).await;
        let first = stream.chunk().await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&first).contains("acknowledged"), "{first:?}");
        stream
    }

    /// A stream of changes of the list, acknowledged.
    pub(crate) async fn listen(&self) -> reqwest::Response {
        let wanted = r#""notifications":{"toolsListChanged":true},"#;
        let mut stream = self.send("subscriptions/listen", None, wanted).await;
        let first = stream.chunk().await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&first).contains("acknowledged"), "{first:?}");
        stream
    }

    /// The whole answer to a request for the list, as text.
    pub(crate) async fn list(&self) -> String {
        self.request("tools/list", None, "").await
    }

    /// The tools of the list.
    pub(crate) async fn tools(&self) -> Vec<Value> {
        let text = self.list().await;
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        match answer["result"]["tools"].take() {
            Value::Array(tools) => tools,
            other => panic!("{other}: {text}"),
        }
    }
}
