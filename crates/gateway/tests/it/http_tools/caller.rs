//! What a caller sent to prove who it is, and which credential the service gets instead.

use callgate_testkit::issuer::{Behaviour as Issued, Issuer, SigningKey};
use callgate_testkit::service::{Behaviour, Service};
use serde_json::json;

use super::{TICKET_GET, files, served};
use crate::served::Served;

/// Headers of a request that no service may ever see.
const CANARIES: [(&str, &str); 8] = [
    ("authorization", "Bearer CANARY-authorization"),
    ("cookie", "session=CANARY-cookie"),
    ("x-api-key", "CANARY-api-key"),
    ("x-mcp-auth", "CANARY-mcp-auth"),
    ("proxy-authorization", "Basic CANARY-proxy"),
    ("mcp-session-id", "CANARY-session"),
    ("forwarded", "for=CANARY-forwarded"),
    ("x-forwarded-for", "CANARY-forwarded-for"),
];

/// The caller who comes with the first of them.
const CALLER: &str = r#"
[auth.token.erin]
digest = "sha256:0fe5ed94c25177101f206271b42e861276a5f2ea005de92f670a57a816860d99"

[policy]
files = ["all.cedar"]
"#;

/// The credentials of a caller stay here: a gateway that passes them on hands them to a third party.
#[tokio::test]
async fn nothing_that_proves_who_calls_reaches_the_service() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"x"}"#));
    for (source, own) in [
        ("", None),
        ("headers = { \"X-Api-Key\" = \"file:key\" }", Some("x-api-key: own-key\r\n")),
        (
            "credential = { kind = \"bearer\", secret = \"file:key\" }",
            Some("authorization: Bearer own-key\r\n"),
        ),
        (
            "credential = { kind = \"header\", header = \"X-Api-Key\", secret = \"file:key\" }",
            Some("x-api-key: own-key\r\n"),
        ),
        (
            "credential = { kind = \"basic\", user = \"us\", secret = \"file:key\" }",
            Some("authorization: Basic dXM6b3duLWtleQ==\r\n"),
        ),
    ] {
        let files = files(&service, &format!("{source}\n{CALLER}"), TICKET_GET);
        files.write("key", "own-key\n");
        files.write("all.cedar", "permit(principal, action, resource);\n");
        assert_eq!(files.report(), "", "{source}");
        let served = files.serve().await;
        let (arguments, meta) = (json!({"reference": "T-1"}), json!({"com.example/token": "CANARY-meta"}));
        let answer =
            served.call_at("?access_token=CANARY-query", "ticket_get", arguments, meta, &CANARIES).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"subject": "x"}), "{answer}");
        let sent = service.last();
        assert!(sent.starts_with("GET /tickets/T-1 "), "{source}: {sent}");
        assert!(!sent.contains("CANARY"), "{source}: {sent}");
        let credentials =
            sent.lines().filter(|line| line.contains("authorization:") || line.contains("x-api-key:"));
        assert_eq!(credentials.count(), usize::from(own.is_some()), "{sent}");
        assert!(own.is_none_or(|own| sent.contains(own)), "{source}: {sent}");
    }
}

#[tokio::test]
async fn a_secret_of_the_source_is_in_no_answer_and_no_finding() {
    let service = Service::start().await;
    service.behave("/tickets/T-1", Behaviour::failure(500, r#"{"authorization":"own-key"}"#));
    let served = served(&service, "", TICKET_GET).await;
    let text = served.error("ticket_get", r#"{"reference":"T-1"}"#).await;
    assert!(!text.contains("own-key"), "{text}");
    let files = files(&service, "headers = { \"X-Api-Key\" = \"s3cret-canary\" }", TICKET_GET);
    let report = files.report();
    assert!(report.contains("error[secret_in_file]") && !report.contains("s3cret-canary"), "{report}");
}

const TOKENS: &str = r#"token_url = "ISSUER/token"
client_id = "us"
client_secret = "file:secret"
resource = "https://crm.example"
scopes = ["tickets:read", "tickets:list"]
"#;

/// What a token endpoint answers.
fn token(token: &str, more: &str) -> Issued {
    Issued::Json(format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":300{more}}}"#))
}

#[tokio::test]
async fn a_token_of_this_server_is_asked_for_once_and_let_go_of_when_it_is_not_accepted() {
    let (service, issuer) = (Service::start().await, Issuer::start().await);
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"x"}"#));
    issuer.behave("/token", token("service-token-1", ""));
    let source = format!("[source.crm.credential]\nkind = \"client_credentials\"\n{TOKENS}");
    let files = files(&service, &source.replace("ISSUER", &issuer.url()), TICKET_GET);
    files.write("secret", "own secret\n");
    assert_eq!(files.report(), "");
    let served = files.serve().await;
    let call = || served.answer("ticket_get", r#"{"reference":"T-1"}"#);
    let calls = futures_util::future::join_all((0..8).map(|_| call())).await;
    assert!(calls.iter().all(|answer| answer.contains(r#""subject":"x""#)), "{calls:?}");
    assert_eq!(issuer.hits("/token"), 1, "the token was asked for more than once");
    assert!(
        service
            .requests()
            .iter()
            .all(|request| request.contains("authorization: Bearer service-token-1\r\n"))
    );
    let asked = issuer.last("/token").unwrap();
    assert!(asked.contains("authorization: Basic dXM6b3duJTIwc2VjcmV0\r\n"), "{asked}");
    let form = asked.split("\r\n\r\n").nth(1).unwrap();
    assert_eq!(
        form,
        "grant_type=client_credentials&scope=tickets%3Aread%20tickets%3Alist&resource=https%3A%2F%2Fcrm.example"
    );
    service.behave("/tickets/T-1", Behaviour::status(401));
    issuer.behave("/token", token("service-token-2", ""));
    assert!(call().await.contains("source_unavailable"));
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"again"}"#));
    assert!(call().await.contains("again"));
    assert!(service.last().contains("authorization: Bearer service-token-2\r\n"), "{}", service.last());
    assert_eq!(issuer.hits("/token"), 2);
}

#[tokio::test]
async fn without_a_token_of_its_own_nothing_is_sent_to_the_service() {
    let (service, issuer) = (Service::start().await, Issuer::start().await);
    service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"x"}"#));
    let source = format!("[source.crm.credential]\nkind = \"client_credentials\"\n{TOKENS}");
    let files = files(&service, &source.replace("ISSUER", &issuer.url()), TICKET_GET);
    files.write("secret", "own-secret\n");
    for behaviour in [
        Issued::Status(500),
        Issued::Redirect(format!("{}/token", service.url())),
        Issued::BreakOff,
        Issued::Grow,
        Issued::Json("{}".to_owned()),
        Issued::Json(r#"{"access_token":"t","token_type":"mac"}"#.to_owned()),
    ] {
        issuer.behave("/token", behaviour.clone());
        let served = files.serve().await;
        let text = served.error("ticket_get", r#"{"reference":"T-1"}"#).await;
        assert!(
            text.contains("source_unavailable") && text.contains("no credential"),
            "{behaviour:?}: {text}"
        );
        assert!(!text.contains("own-secret") && !text.contains("127.0.0.1"), "{behaviour:?}: {text}");
    }
    assert_eq!(service.requests(), Vec::<String>::new());
}

/// A server whose callers come with tokens, and whose tool speaks for them.
struct Exchange {
    service: Service,
    issuer: Issuer,
    key: SigningKey,
    served: Served,
}

impl Exchange {
    async fn new() -> Self {
        let (service, issuer) = (Service::start().await, Issuer::start().await);
        let key = SigningKey::p256("key-1");
        issuer.publish(&[&key]);
        service.behave("/tickets/T-1", Behaviour::json(r#"{"subject":"x"}"#));
        let source = format!(
            "[source.crm.credential]\nkind = \"token_exchange\"\n{TOKENS}\n[auth.oauth]\nissuer = \"ISSUER\"\nresource = \
             \"https://mcp.example.com/mcp\"\n[policy]\nfiles = [\"all.cedar\"]\n"
        );
        let files = files(&service, &source.replace("ISSUER", &issuer.url()), TICKET_GET);
        let toml = std::fs::read_to_string(files.at("callgate.toml")).unwrap();
        files.write(
            "callgate.toml",
            &toml.replace("tenant = \"tenant-a\"", "tenant = \"tenant-a\"\nloopback = true"),
        );
        files.write("secret", "own-secret\n");
        files.write("all.cedar", "permit(principal, action, resource);\n");
        assert_eq!(files.report(), "");
        let served = files.serve().await;
        Self { service, issuer, key, served }
    }

    /// The access token of a caller.
    fn token(&self, subject: &str) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        self.key.token(&format!(
            r#"{{"iss":"{}","aud":"https://mcp.example.com/mcp","sub":"{subject}","exp":{}}}"#,
            self.issuer.url(),
            now + 300
        ))
    }

    async fn call(&self, token: &str) -> String {
        self.served.call_as(token, "ticket_get", json!({"reference": "T-1"})).await.body.to_string()
    }
}

#[tokio::test]
async fn the_token_of_a_caller_goes_to_the_authorization_server_alone() {
    let exchange = Exchange::new().await;
    let (service, issuer) = (&exchange.service, &exchange.issuer);
    let issued = r#","issued_token_type":"urn:ietf:params:oauth:token-type:access_token""#;
    let (erin, frank) = (exchange.token("erin"), exchange.token("frank"));
    issuer.behave("/token", token("for-erin", issued));
    for _ in 0..3 {
        let answer = exchange.call(&erin).await;
        assert!(answer.contains(r#""subject":"x""#), "{answer}");
    }
    assert_eq!(issuer.hits("/token"), 1, "a token of a caller was exchanged again");
    let asked = issuer.last("/token").unwrap();
    let form = asked.split("\r\n\r\n").nth(1).unwrap();
    assert!(
        form.starts_with(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token="
        ),
        "{form}"
    );
    assert!(
        form.contains(&format!(
            "subject_token={erin}&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&"
        )),
        "{form}"
    );
    assert!(
        form.ends_with("&scope=tickets%3Aread%20tickets%3Alist&resource=https%3A%2F%2Fcrm.example"),
        "{form}"
    );
    issuer.behave("/token", token("for-frank", issued));
    exchange.call(&frank).await;
    assert!(service.last().contains("authorization: Bearer for-frank\r\n"), "{}", service.last());
    exchange.call(&erin).await;
    assert!(service.last().contains("authorization: Bearer for-erin\r\n"), "{}", service.last());
    let all = service.requests().concat();
    assert!(!all.contains(&erin) && !all.contains(&frank), "the token of a caller reached the service");
}

#[tokio::test]
async fn a_caller_for_whom_there_is_no_token_is_refused_before_anything_is_sent() {
    let exchange = Exchange::new().await;
    let (service, issuer) = (&exchange.service, &exchange.issuer);
    let erin = exchange.token("erin");
    let mine = token(&erin, "");
    let cases = [
        (Issued::Status(400), "erin-1", "source_unavailable"),
        (mine, "erin", "source_unavailable"),
        (
            Issued::Json(r#"{"access_token":"x","token_type":"N_A"}"#.to_owned()),
            "erin-2",
            "source_unavailable",
        ),
    ];
    for (behaviour, subject, code) in cases {
        issuer.behave("/token", behaviour.clone());
        let token = if subject == "erin" { erin.clone() } else { exchange.token(subject) };
        let answer = exchange.call(&token).await;
        assert!(answer.contains(code) && !answer.contains(&token), "{behaviour:?}: {answer}");
    }
    // A local caller has nothing to exchange.
    let text = exchange.served.error("ticket_get", r#"{"reference":"T-1"}"#).await;
    assert!(text.contains("forbidden") && text.contains("no access token"), "{text}");
    assert_eq!(service.requests(), Vec::<String>::new());
}
