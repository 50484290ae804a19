//! What the file may say of callers, and what is wrong with it.

use callgate_gateway::{Gate, ServeError};
use callgate_server::{ServeError as Cause, Shutdown};

use super::{RESOURCE, TOOLS, files};
use crate::served::HEAD;

fn load_error(more: &str) -> String {
    let directory = files(&format!("{HEAD}{more}{TOOLS}"));
    let report = directory.report();
    assert!(Gate::from_file(directory.at("callgate.toml")).is_err(), "{report}");
    report
}

#[test]
fn every_fault_of_the_tables_has_its_place() {
    let report = load_error(
        r#"
[auth.oauth]
issuer = "http://id.example.com"
resource = "mcp.example.com"
jwks = "https://user:pass@id.example.com/keys"
algorithms = ["HS256", "none", "RS256", "RS265"]
leeway_s = 3000
required_scopes = ["a b"]
scopes_supported = ["invoices:read"]
[auth.oauth.claims]
tenant = "a..b"
owner = "sub"
[auth.oauth.implies]
"x y" = ["z"]
[auth.oauth.introspection]
url = "https://id.example.com/introspect"
client_id = "callgate"
client_secret = "hunter2-literal"
[auth.token.ci]
digest = "the-token-itself"
[auth.token.late]
digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
expires = "tomorrow"
[tls]
certificate = "none.pem"
key = "none.key"
[http]
tls = "proxy"
"#,
    );
    assert!(!report.contains("hunter2") && !report.contains("the-token-itself"), "{report}");
    insta::assert_snapshot!(report);
}

/// Requirements: AUTH-RS-19
#[test]
fn a_literal_secret_is_an_error_and_is_never_shown() {
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    let introspection = "[auth.oauth.introspection]\nurl = \"https://id.example.com/i\"\nclient_id = \"c\"\n";
    let report = load_error(&format!("{oauth}{introspection}client_secret = \"hunter2\"\n"));
    assert!(report.contains("secret_in_file") && !report.contains("hunter2"), "{report}");
    let report =
        load_error(&format!("{oauth}{introspection}client_secret = \"env:CALLGATE_TEST_NOT_SET\"\n"));
    assert!(report.contains("missing_secret"), "{report}");
    let directory =
        files(&format!("{HEAD}{oauth}{introspection}client_secret = \"file:secret.txt\"\n{TOOLS}"));
    directory.write("secret.txt", "hunter2\n");
    let gate = directory.gate();
    assert!(!format!("{gate:?} {:?}", gate.config()).contains("hunter2"));
}

#[tokio::test]
async fn an_address_that_others_reach_needs_callers_and_protection() {
    let anywhere = ([0, 0, 0, 0], 0).into();
    let refused = async |more: &str| {
        let directory = files(&format!("{HEAD}{more}{TOOLS}"));
        let gate = directory.gate();
        let options = gate.http_options();
        let (server, _) = gate.build().unwrap();
        server.bind_http(anywhere, options, Shutdown::new()).await.map(|_| ()).err()
    };
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    let error = refused("").await;
    assert!(matches!(error, Some(Cause::Unauthenticated(_))), "{error:?}");
    assert!(error.unwrap().to_string().contains("[auth.oauth]"));
    let error = refused("\n[http]\ntls = \"proxy\"\n").await;
    assert!(matches!(error, Some(Cause::Unauthenticated(_))), "a proxy tells nobody apart: {error:?}");
    let error = refused(&oauth).await;
    assert!(matches!(error, Some(Cause::PlainText(_))), "{error:?}");
    assert!(error.unwrap().to_string().contains("[tls]"));
    assert!(refused(&format!("{oauth}\n[http]\ntls = \"proxy\"\n")).await.is_none());
}

/// Requirements: AUTH-RS-02
#[tokio::test]
async fn stdio_needs_a_caller_that_the_file_names() {
    let head = HEAD.replace("[auth.local]\nprincipal = \"dana\"\ntenant = \"tenant-a\"\n", "");
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    let directory = files(&format!("{head}{oauth}{TOOLS}"));
    assert!(matches!(directory.gate().check_stdio(), Err(ServeError::NoLocalCaller)));
    let directory = files(&format!("{HEAD}{oauth}{TOOLS}"));
    assert!(directory.gate().check_stdio().is_ok());
}

#[test]
fn a_scope_that_nobody_can_have_is_pointed_out() {
    let warned = |more: &str| {
        let directory = files(&format!("{HEAD}{more}{TOOLS}"));
        directory.report().matches("unreachable_scope").count()
    };
    assert_eq!(warned(""), 2, "without tokens nobody has a scope");
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    assert_eq!(warned(&oauth), 0, "an issuer may grant anything");
    assert_eq!(warned(&format!("{oauth}scopes_supported = [\"invoices:read\"]\n")), 1);
    assert_eq!(
        warned(&format!(
            "{oauth}scopes_supported = [\"all\"]\nimplies = {{ all = [\"invoices:read\", \"reports:read\"] }}\n"
        )),
        0
    );
}

/// Who calls with a credential is somebody in particular: the policy for local callers is not for them.
#[test]
fn credentials_without_a_policy_are_an_error_that_says_what_to_write() {
    let (policy, tools) = TOOLS.split_at(TOOLS.find("[tool").unwrap());
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    let token = format!("\n[auth.token.ci]\ndigest = \"sha256:{}\"\ntenant = \"tenant-a\"\n", "0".repeat(64));
    for credentials in [&oauth, &token] {
        let directory = files(&format!("{HEAD}{credentials}{tools}"));
        let report = directory.report();
        assert!(report.contains("error[missing_policy]"), "{report}");
        assert!(report.contains("permit(principal in Group::") && report.contains("files = ["), "{report}");
        assert!(Gate::from_file(directory.at("callgate.toml")).is_err());
        let directory = files(&format!("{HEAD}{credentials}{policy}{tools}"));
        assert!(!directory.report().contains("missing_policy"));
    }
    assert!(!files(&format!("{HEAD}{tools}")).report().contains("missing_policy"), "only the local caller");
}

#[test]
fn what_holds_for_every_token_holds_for_those_of_the_file() {
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    let token = |name: &str, digit: &str, scopes: &str| {
        format!(
            "[auth.token.{name}]\ndigest = \"sha256:{}\"\ntenant = \"tenant-a\"\nscopes = [{scopes}]\n",
            digit.repeat(64)
        )
    };
    let required = "required_scopes = [\"mcp\"]\n[auth.oauth.implies]\nall = [\"mcp\"]\n";
    let report = load_error(&format!(
        "{oauth}{required}{}{}{}",
        token("with", "0", "\"mcp\""),
        token("implied", "1", "\"all\""),
        token("without", "2", "\"other\"")
    ));
    assert!(report.contains("the token `without` lacks the scope `mcp`"), "{report}");
    assert!(report.contains("`[auth.local]` lacks the scope `mcp`"), "{report}");
    assert_eq!(report.matches("missing_scope").count(), 2, "{report}");
    let twice = load_error(&format!("{oauth}{}{}", token("a", "0", ""), token("b", "0", "")));
    assert!(twice.contains("error[duplicate_digest]"), "{twice}");
    // What is implied is followed to its end, in whatever order it is written.
    let chain = "scopes_supported = [\"a\"]\n[auth.oauth.implies]\nb = [\"invoices:read\", \"reports:read\"]\na = [\"b\"]\n";
    let report = files(&format!("{HEAD}{oauth}{chain}{TOOLS}")).report();
    assert!(!report.contains("unreachable_scope"), "{report}");
}

#[test]
fn a_local_caller_whom_no_transport_lets_in_is_an_error() {
    let head = HEAD.replace("tenant = \"tenant-a\"\n", "tenant = \"tenant-a\"\nloopback = false\n");
    let report = files(&format!("{head}{TOOLS}")).report();
    assert!(report.contains("error[conflict]") && report.contains("loopback"), "{report}");
    let oauth = format!("\n[auth.oauth]\nissuer = \"https://id.example.com\"\nresource = \"{RESOURCE}\"\n");
    let report = files(&format!("{head}{oauth}{TOOLS}")).report();
    assert!(!report.contains("error["), "{report}");
}
