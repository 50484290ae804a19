//! Opaque tokens: what the authorization server says of them, and what it must say.

use std::time::Duration;

use callgate_adapters::oauth::{ClientAuthentication, Introspection, OpaqueTokens, Options};
use callgate_adapters::secret::Secret;
use callgate_core::refusal::Code;
use callgate_testkit::issuer::{Behaviour, Issuer};

use super::{AUDIENCE, NOW, Setting};

const TOKEN: &str = "opaque-0123456789abcdef";

fn asked(options: &mut Options, issuer: &Issuer) {
    let secret = Secret::new("hunter2 & more".to_owned());
    options.introspection =
        Some(Introspection::new(format!("{}/introspect", issuer.url()), "call:gate", secret));
}

fn says(setting: &Setting, text: &str) {
    setting.issuer.behave("/introspect", Behaviour::Json(text.to_owned()));
}

/// Requirements: AUTH-RS-09, AUTH-RS-10
#[tokio::test]
async fn an_active_token_for_this_server_is_good_and_is_asked_about_once() {
    let setting = Setting::with(asked).await;
    let claims = setting.claims(&[("active", "true"), ("scope", r#""invoices:read""#), ("iss", "")]);
    says(&setting, &claims);
    for _ in 0..3 {
        let principal = setting.judge(TOKEN).await.unwrap();
        assert!(&*principal.subject == "dana" && principal.has_scope("invoices:read"));
    }
    assert_eq!(setting.issuer.hits("/introspect"), 1);
    let request = setting.issuer.last("/introspect").unwrap();
    assert!(request.starts_with("POST "), "{request}");
    // Both parts of the secret are encoded before they are joined (RFC 6749, section 2.3.1).
    assert!(
        request.contains("authorization: Basic Y2FsbCUzQWdhdGU6aHVudGVyMiUyMCUyNiUyMG1vcmU="),
        "{request}"
    );
    assert!(request.ends_with(&format!("token_type_hint=access_token&token={TOKEN}")), "{request}");
}

/// Requirements: AUTH-RS-10, AUTH-RS-11
#[tokio::test]
async fn an_answer_that_does_not_speak_for_this_server_is_a_refusal() {
    let setting = Setting::with(|options, issuer| {
        asked(options, issuer);
        options.limits.refused_for = Duration::ZERO;
    })
    .await;
    let aud = format!("\"{AUDIENCE}\"");
    for (what, members) in [
        ("inactive", vec![("active", "false")]),
        ("no answer", vec![("active", "")]),
        ("in quotes", vec![("active", "\"true\"")]),
        ("a number", vec![("active", "1")]),
        ("no audience", vec![("active", "true"), ("aud", "")]),
        ("another audience", vec![("active", "true"), ("aud", r#""https://other.example.com""#)]),
        ("another issuer", vec![("active", "true"), ("iss", r#""https://evil.example.com""#)]),
        ("no expiry", vec![("active", "true"), ("exp", "")]),
        ("expired", vec![("active", "true"), ("exp", "1700000000")]),
        ("no subject", vec![("active", "true"), ("sub", "")]),
    ] {
        says(&setting, &setting.claims(&members));
        let refusal = setting.refusal(TOKEN).await;
        assert_eq!(refusal.code(), Code::InvalidToken, "{what}: {refusal}");
    }
    let good = format!(r#"{{"active":true,"aud":{aud},"sub":"dana","exp":{}}}"#, NOW + 10);
    says(&setting, &good.replacen('{', r#"{"active":false,"#, 1));
    assert_eq!(setting.refusal(TOKEN).await.code(), Code::IdentityUnavailable, "an answer that says both");
    says(&setting, &good);
    assert!(setting.judge(TOKEN).await.is_ok());
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_refuses_for_now_and_tells_no_secret() {
    for behaviour in [
        Behaviour::Hang,
        Behaviour::Grow,
        Behaviour::BreakOff,
        Behaviour::Status(401),
        Behaviour::Status(500),
        Behaviour::Redirect("/introspect2".into()),
        Behaviour::Json("no JSON".into()),
    ] {
        let setting = Setting::with(asked).await;
        setting.issuer.behave("/introspect", behaviour.clone());
        let refusal = setting.refusal(TOKEN).await;
        assert_eq!(refusal.code(), Code::IdentityUnavailable, "{behaviour:?}");
        let said = format!("{refusal} {refusal:?}");
        assert!(!said.contains("hunter2") && !said.contains(TOKEN), "{said}");
        assert_eq!(setting.issuer.hits("/introspect2"), 0);
    }
}

#[tokio::test]
async fn signed_tokens_are_asked_about_where_revocation_must_hold_at_once() {
    let setting = Setting::with(|options, issuer| {
        asked(options, issuer);
        let introspection = options.introspection.as_mut().unwrap();
        introspection.tokens = OpaqueTokens::All;
        introspection.authentication = ClientAuthentication::Post;
    })
    .await;
    let token = setting.token(&[]);
    says(&setting, &setting.claims(&[("active", "true")]));
    assert!(setting.judge(&token).await.is_ok());
    let request = setting.issuer.last("/introspect").unwrap();
    assert!(request.ends_with("&client_id=call%3Agate&client_secret=hunter2%20%26%20more"), "{request}");
    assert!(!request.to_lowercase().contains("authorization:"), "{request}");
    says(&setting, r#"{"active":false}"#);
    assert_eq!(setting.refusal(&token).await.code(), Code::InvalidToken, "revoked");
    assert_eq!(setting.issuer.hits("/jwks"), 0);
}

#[tokio::test]
async fn opaque_tokens_are_refused_where_nobody_can_be_asked() {
    let setting = Setting::new().await;
    assert_eq!(setting.refusal(TOKEN).await.code(), Code::InvalidToken);
    assert_eq!(setting.issuer.hits("/jwks"), 0);
}

#[tokio::test]
async fn a_refused_token_is_asked_about_once_and_again_after_a_short_time() {
    let setting = Setting::with(|options, issuer| {
        asked(options, issuer);
        options.limits.refused_for = Duration::from_millis(200);
    })
    .await;
    says(&setting, r#"{"active":false}"#);
    for _ in 0..20 {
        assert_eq!(setting.refusal(TOKEN).await.code(), Code::InvalidToken);
    }
    assert_eq!(setting.issuer.hits("/introspect"), 1);
    says(&setting, &setting.claims(&[("active", "true")]));
    assert!(setting.judge("another-opaque-token").await.is_ok(), "another token is another matter");
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert!(setting.judge(TOKEN).await.is_ok());
}

#[tokio::test]
async fn an_endpoint_that_keeps_failing_is_left_alone_for_a_while() {
    let setting = Setting::with(asked).await;
    setting.issuer.behave("/introspect", Behaviour::Status(503));
    for number in 0..20 {
        let refusal = setting.refusal(&format!("made-up-token-{number}")).await;
        assert_eq!(refusal.code(), Code::IdentityUnavailable);
    }
    assert_eq!(setting.issuer.hits("/introspect"), 3);
    says(&setting, &setting.claims(&[("active", "true")]));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(setting.judge(TOKEN).await.is_ok(), "it is asked again");
    // What it says of strange tokens is no failure of its own.
    setting.issuer.behave("/introspect", Behaviour::Status(400));
    for number in 0..20 {
        let refusal = setting.refusal(&format!("strange-token-{number}")).await;
        assert_eq!(refusal.code(), Code::IdentityUnavailable);
    }
    says(&setting, &setting.claims(&[("active", "true")]));
    assert!(setting.judge("a-good-token-0123456789").await.is_ok());
}

#[tokio::test]
async fn made_up_tokens_do_not_wait_in_a_queue_without_end() {
    let setting = Setting::with(|options, issuer| {
        asked(options, issuer);
        options.limits.introspections = 2;
        options.limits.introspections_waiting = 3;
    })
    .await;
    setting.issuer.behave("/introspect", Behaviour::Hang);
    let tokens: Vec<_> = (0..50).map(|number| format!("made-up-token-{number}")).collect();
    let asking = futures_util::future::join_all(tokens.iter().take(5).map(|token| setting.judge(token)));
    let others = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let began = std::time::Instant::now();
        for token in tokens.iter().skip(5) {
            assert_eq!(setting.refusal(token).await.code(), Code::IdentityUnavailable);
        }
        assert!(began.elapsed() < Duration::from_millis(200), "they are refused at once");
    };
    tokio::join!(asking, others);
}
