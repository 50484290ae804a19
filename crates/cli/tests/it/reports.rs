//! The example of the report behind a link, from end to end over HTTP with two people of one company.

use std::path::Path;

use serde_json::{Value, json};

use super::serve::{Served, listen};
use super::support::callgate;

/// The example, served.
struct Example {
    _directory: tempfile::TempDir,
    _served: Served,
    address: String,
}

fn example() -> Example {
    let directory = tempfile::tempdir().unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/reports");
    for name in ["callgate.toml", "main.cedar"] {
        std::fs::copy(files.join(name), directory.path().join(name)).unwrap();
    }
    let tables = std::fs::read_to_string(files.join("reports.sql")).unwrap();
    callgate_adapters::sqlite::create(&directory.path().join("reports.db"), &tables).unwrap();
    let checked = callgate(directory.path()).args(["check", "--strict"]).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let (served, address) = listen(directory.path());
    Example { _directory: directory, _served: served, address }
}

impl Example {
    fn send(&self, token: &str, method: &str, name: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {0}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n\
             mcp-name: {name}\r\ncontent-length: {1}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        let answer = exchange(&self.address, &format!("{head}{body}"));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        self.send(token, "tools/call", tool, json!({"name": tool, "arguments": arguments}))
    }

    fn read(&self, token: &str, uri: &str) -> Value {
        self.send(token, "resources/read", uri, json!({"uri": uri}))
    }
}

fn exchange(address: &str, request: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_monthly_report_is_a_link_that_only_who_asked_reads_part_by_part() {
    let example = example();
    let answer = example.call("dana-demo-token", "monthly_report", json!({"month": "2026-03"}));
    let result = &answer["result"];
    let link = &result["content"][1];
    assert_eq!(link["type"], "resource_link", "{answer}");
    let uri = link["uri"].as_str().unwrap();
    let artifact = &result["structuredContent"]["artifact"];
    let (mut whole, mut next) = (String::new(), Some(format!("{uri}?length=20000")));
    let mut parts = 0;
    while let Some(uri) = next {
        let answer = example.read("dana-demo-token", &uri);
        let part = &answer["result"]["contents"][0];
        let text = part["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(text.ends_with('\n') && text.len() <= 20_000);
        whole.push_str(text);
        next = part["_meta"]["dev.callgate/artifact"]["next"].as_str().map(str::to_owned);
        parts += 1;
    }
    assert!(parts > 2, "{parts}");
    assert_eq!(link["size"], whole.len());
    let lines: Vec<_> = whole.trim_end().split("\r\n").collect();
    assert_eq!(lines[0], "order_id,placed_on,customer,amount_minor,currency,note");
    assert_eq!(artifact["rows"], lines.len() - 1);
    assert!(lines[1].starts_with("90071992547") && lines[1].contains(",2026-03-01,"), "{}", lines[1]);
    assert!(whole.contains(r#","'=HYPERLINK(""http://example.com"")","#), "formulas are texts");
    assert!(
        whole.contains(r#","Ünal, Zoë","#) && whole.contains(",EUR,\r\n") && whole.contains(",EUR,\"\"\r\n")
    );

    // Somebody else of the same company, and whoever makes an address up, get one answer.
    let foreign = example.read("eve-demo-token", uri).to_string().replace(uri, "URI");
    let made_up = format!("artifact://callgate/{}", "0123456789".repeat(4));
    let unknown = example.read("dana-demo-token", &made_up).to_string().replace(&made_up, "URI");
    assert_eq!(foreign, unknown);
    assert!(foreign.contains("Resource not found"), "{foreign}");
    let list = example.send("dana-demo-token", "resources/list", "", json!({}));
    assert_eq!(list["result"]["resources"], json!([]), "{list}");
}

#[test]
fn a_small_day_is_a_message_and_a_large_one_a_link() {
    let example = example();
    let answer = example.call("eve-demo-token", "orders_of_day", json!({"day": "2026-03-05"}));
    let uri = answer["result"]["structuredContent"]["artifact"]["uri"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"));
    let read = example.read("eve-demo-token", uri);
    let kept: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert!(kept["rows"].as_array().unwrap().len() > 30);
    let none = example.call("eve-demo-token", "orders_of_day", json!({"day": "2030-03-05"}));
    assert_eq!(none["result"]["structuredContent"]["rows"], json!([]), "{none}");
}
