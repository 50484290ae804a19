//! The commands of `docs/authentication.md`, run as they stand there.

use std::process::{Command, Stdio};

use super::support::run;

const PAGE: &str = include_str!("../../../../docs/authentication.md");

/// The fenced blocks of a language, in the order of the page.
fn blocks(language: &str) -> Vec<String> {
    let open = format!("```{language}\n");
    PAGE.split(&open).skip(1).filter_map(|rest| rest.split("\n```").next()).map(str::to_owned).collect()
}

/// The server of the page on a free port, with the token that the page makes.
#[test]
fn the_commands_of_the_page_protect_a_server_and_call_it() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["init"]).status.code(), Some(0));
    let file = &blocks("toml")[0];
    let [check_and_serve, metadata, make_token, call] = &blocks("sh")[..] else {
        panic!("the page has other commands; adapt this test");
    };
    std::fs::write(directory.path().join("page.toml"), file).unwrap();
    std::fs::write(directory.path().join("callers.cedar"), &blocks("cedar")[0]).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = format!(
        r#"set -eu
{make_token}
digest=$(printf %s "$TOKEN" | sha256sum | cut -d ' ' -f 1)
sed "s/DIGEST/$digest/" page.toml > callgate.toml
{check_and_serve}
server=$!
trap 'kill $server' EXIT
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  curl -s -o /dev/null http://127.0.0.1:8300/healthz && break
  sleep 0.2
done
{metadata}
{call}
"#
    )
    .replace("8300", &port.to_string());
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_callgate"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(directory.path())
        .env("PATH", path)
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.contains("callgate.toml: 0 errors, 0 warnings"), "{said}");
    assert!(said.contains(r#"{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://id.example.com"],"scopes_supported":["invoices:read","mcp"],"bearer_methods_supported":["header"]}"#), "{said}");
    assert!(said.to_lowercase().contains(r#"www-authenticate: bearer scope="mcp invoices:read", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp""#), "{said}");
    assert!(said.contains(r#""structuredContent":{"rows":[{"n":"#), "{said}");
    assert!(!complained.contains("panicked"), "{complained}");
}

#[test]
fn every_file_of_the_page_is_one_that_is_read() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run(directory.path(), &["init"]).status.code(), Some(0));
    std::fs::write(directory.path().join("callers.cedar"), &blocks("cedar")[0]).unwrap();
    let [whole, introspection, tls] = &blocks("toml")[..] else {
        panic!("the page has other files; adapt this test");
    };
    let whole = whole.replace("DIGEST", &"0".repeat(64));
    let at_proxy = whole.replace("tls = \"proxy\"", "");
    for (name, text, findings) in [
        ("introspection", format!("{whole}\n{introspection}"), &["missing_secret"][..]),
        ("tls", format!("{at_proxy}\n{tls}"), &["unreadable_file", "unreadable_file"]),
    ] {
        std::fs::write(directory.path().join("callgate.toml"), text).unwrap();
        let output = run(directory.path(), &["check", "--json"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let codes: Vec<_> = said
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|finding| finding["code"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(codes, findings, "{name}: only what is not on this machine is missing: {said}");
    }
}
