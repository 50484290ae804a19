//! Tokens of an authorization server on a real socket, good ones and every kind of bad one.

mod forged;
mod keys;
mod opaque;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use callgate_adapters::oauth::{Bearer, KeySource, Options, Tenancy};
use callgate_core::port::{Authenticate as _, Authorization, Clock, Credentials, Timestamp, Transport};
use callgate_core::principal::Principal;
use callgate_core::refusal::{Code, Refusal};
use callgate_testkit::issuer::{Issuer, SigningKey};

/// For whom tokens are issued.
const AUDIENCE: &str = "https://mcp.example.com/mcp";
/// The time at which most tests happen, in seconds.
const NOW: i64 = 1_800_000_000;

/// A clock that tests move.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst) * 1_000_000)
    }
}

/// An issuer, and a server that trusts it.
struct Setting {
    issuer: Issuer,
    key: SigningKey,
    clock: Arc<Hand>,
    bearer: Bearer,
}

impl Setting {
    async fn new() -> Self {
        Self::with(|_, _| {}).await
    }

    /// With options that the test changes.
    async fn with(change: impl FnOnce(&mut Options, &Issuer)) -> Self {
        let issuer = Issuer::start().await;
        let key = SigningKey::p256("key-1");
        issuer.publish(&[&key]);
        let mut options = Options::new(issuer.url(), AUDIENCE);
        options.keys = KeySource::Url(format!("{}/jwks", issuer.url()));
        options.limits.fetch_timeout = Duration::from_millis(400);
        options.limits.keys_pause = Duration::from_millis(100);
        change(&mut options, &issuer);
        let clock = Arc::new(Hand(AtomicI64::new(NOW)));
        let bearer = Bearer::new(Some(options), Vec::new(), Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
        Self { issuer, key, clock, bearer }
    }

    /// Claims that are all right, with members added; a member given again replaces the first.
    fn claims(&self, more: &[(&str, &str)]) -> String {
        let mut members = vec![
            ("iss", format!("\"{}\"", self.issuer.url())),
            ("aud", format!("\"{AUDIENCE}\"")),
            ("sub", "\"dana\"".to_owned()),
            ("exp", (NOW + 300).to_string()),
        ];
        for (name, value) in more {
            members.retain(|(known, _)| known != name);
            if !value.is_empty() {
                members.push((name, (*value).to_owned()));
            }
        }
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }

    fn token(&self, more: &[(&str, &str)]) -> String {
        self.key.token(&self.claims(more))
    }

    async fn judge(&self, token: &str) -> Result<Arc<Principal>, Refusal> {
        self.present(Authorization::One(&format!("Bearer {token}"))).await
    }

    async fn present(&self, authorization: Authorization<'_>) -> Result<Arc<Principal>, Refusal> {
        self.bearer.authenticate(Credentials::new(Transport::Remote, authorization)).await
    }

    /// The code with which a token is refused. No part of the token is in what is said.
    async fn refusal(&self, token: &str) -> Refusal {
        let refusal = self.judge(token).await.expect_err("the token is accepted");
        let said = format!("{refusal} {refusal:?} {:?}", self.bearer);
        for part in token.split('.').filter(|part| part.len() > 12) {
            assert!(!said.contains(part), "{said}");
        }
        refusal
    }
}

/// Requirements: AUTH-RS-09, AUTH-RS-10, AUTH-RS-19
#[tokio::test]
async fn a_good_token_gives_the_principal_that_its_claims_name() {
    let setting = Setting::with(|options, _| options.required_scopes = vec!["mcp".into()]).await;
    let token = setting.token(&[
        ("aud", &format!(r#"["https://other.example.com","{AUDIENCE}"]"#)),
        ("tenant", r#""tenant-a""#),
        ("groups", r#"["clerks","readers"]"#),
        ("scope", r#""mcp invoices:read""#),
        ("purpose", r#""audit""#),
        ("client_id", r#""agent-7""#),
        ("nbf", &NOW.to_string()),
    ]);
    let principal = setting.judge(&token).await.unwrap();
    let expected = Principal::new("dana")
        .with_tenant("tenant-a")
        .with_groups(["clerks", "readers"])
        .with_scopes(["mcp", "invoices:read"])
        .with_purpose("audit")
        .with_client("agent-7")
        .with_expiry(Timestamp((NOW + 330) * 1_000_000));
    assert!(*principal == expected);
}

#[tokio::test]
async fn every_accepted_algorithm_verifies_with_a_key_of_its_kind() {
    let setting = Setting::new().await;
    let (rsa, ed25519) = (SigningKey::rsa("rsa"), SigningKey::ed25519("ed"));
    setting.issuer.publish(&[&setting.key, &rsa, &ed25519]);
    for key in [&rsa, &setting.key, &ed25519] {
        assert!(setting.judge(&key.token(&setting.claims(&[]))).await.is_ok(), "{}", key.algorithm());
    }
    let pss = rsa.sign(r#"{"alg":"PS256","kid":"rsa"}"#, &setting.claims(&[]));
    assert!(setting.judge(&pss).await.is_ok());
    let nameless = setting.key.sign(r#"{"alg":"ES256"}"#, &setting.claims(&[]));
    assert!(setting.judge(&nameless).await.is_ok(), "a key that fits is found without a name");
}

/// Requirements: AUTH-RS-11, AUTH-RS-13
#[tokio::test]
async fn a_token_is_good_only_within_its_time_and_the_leeway() {
    let setting = Setting::with(|options, _| options.cache = Duration::from_secs(600)).await;
    let token = setting.token(&[("exp", &(NOW + 100).to_string()), ("nbf", &(NOW + 10).to_string())]);
    assert!(setting.judge(&token).await.is_ok(), "not before, within the leeway");
    setting.clock.0.store(NOW + 129, Ordering::SeqCst);
    assert!(setting.judge(&token).await.is_ok(), "expired, within the leeway");
    setting.clock.0.store(NOW + 130, Ordering::SeqCst);
    assert_eq!(setting.refusal(&token).await.code(), Code::InvalidToken, "also where it was remembered");
    let early = setting.token(&[("exp", &(NOW + 900).to_string()), ("nbf", &(NOW + 161).to_string())]);
    assert_eq!(setting.refusal(&early).await.code(), Code::InvalidToken);
    let fraction = setting.token(&[("exp", &format!("{}.5", NOW + 900))]);
    assert!(setting.judge(&fraction).await.is_ok(), "a date may have a fraction");
}

/// Requirements: AUTH-RS-13, AUTH-RS-15, AUTH-RS-17
#[tokio::test]
async fn a_token_without_the_scopes_that_all_need_is_told_all_of_them() {
    let setting = Setting::with(|options, _| {
        options.required_scopes = vec!["mcp".into(), "invoices:read".into()];
        options.implies.insert("invoices".into(), vec!["invoices:read".into()]);
    })
    .await;
    let refusal = setting.refusal(&setting.token(&[("scope", r#""mcp""#)])).await;
    assert_eq!(refusal.code(), Code::InsufficientScope);
    assert_eq!(refusal.scopes(), ["mcp", "invoices:read"]);
    let broader = setting.judge(&setting.token(&[("scp", r#"["mcp","invoices"]"#)])).await.unwrap();
    assert!(broader.has_scope("invoices:read") && !broader.has_scope("invoices:write"));
}

#[tokio::test]
async fn a_token_without_a_tenant_is_refused_where_data_is_kept_apart_by_tenant() {
    let setting = Setting::with(|options, _| options.tenancy = Tenancy::Required).await;
    let refusal = setting.refusal(&setting.token(&[])).await;
    assert_eq!(refusal.code(), Code::InvalidToken);
    assert!(refusal.public().contains("`tenant`"), "{refusal}");
    for tenant in ["7", "null", "[]", r#""""#, r#"" ""#, r#"["tenant-a"]"#, r#""a\u0000b""#] {
        let token = setting.token(&[("tenant", tenant)]);
        assert_eq!(setting.refusal(&token).await.code(), Code::InvalidToken, "{tenant}");
    }
    let principal = setting.judge(&setting.token(&[("tenant", r#""tenant-a""#)])).await.unwrap();
    assert_eq!(principal.tenant.as_deref(), Some("tenant-a"));
}

/// Requirements: AUTH-RS-11, AUTH-RS-13
#[tokio::test]
async fn what_is_no_single_bearer_token_is_refused_by_its_kind() {
    let setting = Setting::new().await;
    let code = async |authorization| setting.present(authorization).await.unwrap_err().code();
    assert_eq!(code(Authorization::Absent).await, Code::Unauthenticated);
    assert_eq!(code(Authorization::Malformed).await, Code::MalformedCredential);
    assert_eq!(code(Authorization::One("Basic ZGFuYTpodW50ZXIy")).await, Code::Unauthenticated);
    assert_eq!(code(Authorization::One("Bearer")).await, Code::MalformedCredential);
    assert_eq!(code(Authorization::One("Bearer a b")).await, Code::MalformedCredential);
    assert_eq!(code(Authorization::One("Bearer abc")).await, Code::InvalidToken);
}
