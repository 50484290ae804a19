//! The keys of an issuer that rotates, hangs, lies, grows, redirects or goes away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_adapters::oauth::{KeySource, Options};
use callgate_core::refusal::Code;
use callgate_testkit::issuer::{Behaviour, Issuer, SigningKey};
use tokio::time::sleep;

use super::Setting;

/// Long enough for the pause between two fetches of these tests.
const PAUSE: Duration = Duration::from_millis(120);

fn discovered(options: &mut Options, _: &Issuer) {
    options.keys = KeySource::Discovery;
}

#[tokio::test]
async fn all_who_ask_at_once_share_one_fetch() {
    let setting = Arc::new(Setting::with(discovered).await);
    let token = setting.token(&[]);
    let asked = (0..50).map(|_| setting.judge(&token));
    let judged = futures_util::future::join_all(asked).await;
    assert!(judged.iter().all(Result::is_ok));
    assert_eq!(setting.issuer.hits("/jwks"), 1);
    assert_eq!(setting.issuer.hits("/.well-known/oauth-authorization-server"), 1);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_take_the_keys_of_the_others_along() {
    let setting = Setting::new().await;
    setting.issuer.behave("/jwks", Behaviour::Hang);
    let token = setting.token(&[]);
    let left = tokio::time::timeout(Duration::from_millis(20), setting.judge(&token)).await;
    assert!(left.is_err(), "it waits for the keys");
    assert_eq!(setting.refusal(&token).await.code(), Code::IdentityUnavailable);
    assert_eq!(setting.issuer.hits("/jwks"), 1, "the second waits for the same fetch");
}

#[tokio::test]
async fn keys_rotate_without_a_restart_and_withdrawn_ones_end_what_is_remembered() {
    let setting = Setting::new().await;
    let old = setting.token(&[]);
    assert!(setting.judge(&old).await.is_ok());
    let next = SigningKey::p256("key-2");
    setting.issuer.publish(&[&setting.key, &next]);
    sleep(PAUSE).await;
    let new = next.token(&setting.claims(&[]));
    assert!(setting.judge(&new).await.is_ok(), "a key that was not known yet is fetched");
    assert!(setting.judge(&old).await.is_ok(), "the old one is published still");
    setting.issuer.publish(&[&next]);
    sleep(PAUSE).await;
    let unknown = SigningKey::p256("key-3").token(&setting.claims(&[]));
    assert_eq!(setting.refusal(&unknown).await.code(), Code::InvalidToken);
    assert_eq!(setting.refusal(&old).await.code(), Code::InvalidToken, "also one that was remembered");
    assert!(setting.judge(&new).await.is_ok());
}

#[tokio::test]
async fn a_flood_of_unknown_keys_asks_the_issuer_no_more_than_the_bound_allows() {
    let setting = Setting::with(|options, _| options.limits.keys_pause = Duration::from_secs(60)).await;
    assert!(setting.judge(&setting.token(&[])).await.is_ok());
    for number in 0..200 {
        let header = format!(r#"{{"alg":"ES256","kid":"made-up-{number}"}}"#);
        let refusal = setting.refusal(&setting.key.sign(&header, &setting.claims(&[]))).await;
        assert_eq!(refusal.code(), Code::InvalidToken);
    }
    assert_eq!(setting.issuer.hits("/jwks"), 1);
}

#[tokio::test]
async fn keys_that_worked_stay_in_use_while_the_issuer_is_down_but_not_for_ever() {
    let setting = Setting::with(|options, _| {
        options.limits.keys_fresh = Duration::from_millis(50);
        options.limits.keys_pause = Duration::from_millis(50);
        options.limits.keys_kept = Duration::from_millis(900);
        options.cache = Duration::ZERO;
    })
    .await;
    let token = setting.token(&[]);
    assert!(setting.judge(&token).await.is_ok());
    for down in [Behaviour::Status(503), Behaviour::Hang, Behaviour::BreakOff, Behaviour::Json("[]".into())] {
        setting.issuer.behave("/jwks", down);
        sleep(Duration::from_millis(60)).await;
        let began = Instant::now();
        assert!(setting.judge(&token).await.is_ok());
        assert!(began.elapsed() < Duration::from_millis(300), "nobody waits for keys that are not needed");
    }
    sleep(Duration::from_millis(900)).await;
    let refusal = setting.refusal(&token).await;
    assert_eq!(
        refusal.code(),
        Code::IdentityUnavailable,
        "it cannot be said that the token is bad: {refusal:?}"
    );
}

#[tokio::test]
async fn an_issuer_that_misbehaves_costs_a_bounded_time_and_gives_no_keys() {
    let elsewhere = Issuer::start().await;
    let own = SigningKey::p256("key-1");
    elsewhere.publish(&[&own]);
    let many: Vec<_> = (0..100).map(|number| SigningKey::ed25519(&number.to_string()).jwk()).collect();
    for behaviour in [
        Behaviour::Hang,
        Behaviour::Grow,
        Behaviour::BreakOff,
        Behaviour::Status(500),
        Behaviour::Redirect(format!("{}/jwks", elsewhere.url())),
        Behaviour::Json("{}".into()),
        Behaviour::Json("no JSON".into()),
        Behaviour::Json(r#"{"keys":{}}"#.into()),
        Behaviour::Json(r#"{"keys":[],"keys":[]}"#.into()),
        Behaviour::Json(r#"{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0"}]}"#.into()),
        Behaviour::Json(format!("{{\"keys\":[{}]}}", many.join(","))),
    ] {
        let setting = Setting::new().await;
        setting.issuer.behave("/jwks", behaviour.clone());
        let began = Instant::now();
        let refusal = setting.refusal(&own.token(&setting.claims(&[]))).await;
        assert_eq!(refusal.code(), Code::IdentityUnavailable, "{behaviour:?}: {refusal:?}");
        assert!(began.elapsed() < Duration::from_secs(2), "{behaviour:?}");
        for _ in 0..20 {
            let refusal = setting.refusal(&setting.token(&[])).await;
            assert_eq!(refusal.code(), Code::IdentityUnavailable);
        }
        assert_eq!(setting.issuer.hits("/jwks"), 1, "the next fetch waits: {behaviour:?}");
    }
    assert_eq!(elsewhere.hits("/jwks"), 0, "no redirect is followed");
}

#[tokio::test]
async fn metadata_that_lies_about_its_issuer_gives_no_keys() {
    let setting = Setting::with(discovered).await;
    let own = SigningKey::p256("key-1");
    let elsewhere = Issuer::start().await;
    elsewhere.publish(&[&own]);
    let lie = format!(r#"{{"issuer":"https://id.example.com","jwks_uri":"{}/jwks"}}"#, elsewhere.url());
    setting.issuer.behave("/.well-known/oauth-authorization-server", Behaviour::Json(lie));
    let refusal = setting.refusal(&own.token(&setting.claims(&[]))).await;
    assert_eq!(refusal.code(), Code::IdentityUnavailable);
    assert_eq!(elsewhere.hits("/jwks"), 0);
}

#[tokio::test]
async fn metadata_is_found_where_openid_puts_it_too() {
    let setting = Setting::with(discovered).await;
    let url = setting.issuer.url();
    setting.issuer.behave("/.well-known/oauth-authorization-server", Behaviour::Status(404));
    let metadata = format!(r#"{{"issuer":"{url}","jwks_uri":"{url}/jwks"}}"#);
    setting.issuer.behave("/.well-known/openid-configuration", Behaviour::Json(metadata));
    assert!(setting.judge(&setting.token(&[])).await.is_ok());
}

#[tokio::test]
async fn unusable_keys_are_left_out_one_by_one() {
    let setting = Setting::new().await;
    let rsa = SigningKey::rsa("rsa");
    let encryption = SigningKey::p256("enc").jwk().replace("\"sig\"", "\"enc\"");
    let weak = r#"{"kty":"RSA","kid":"weak","n":"3zdS9w8Q","e":"AQAB"}"#;
    let bound = rsa.jwk().replace("\"use\"", "\"alg\":\"RS512\",\"use\"");
    let keys = format!(
        r#"{{"keys":[{{"kty":"new","kid":"a"}},7,{{"kty":"EC","crv":"P-256","kid":"b","x":"AA","y":"AA"}},{encryption},{weak},{bound},{}]}}"#,
        setting.key.jwk()
    );
    setting.issuer.behave("/jwks", Behaviour::Json(keys));
    assert!(setting.judge(&setting.token(&[])).await.is_ok());
    let other = rsa.token(&setting.claims(&[]));
    assert_eq!(setting.refusal(&other).await.code(), Code::InvalidToken, "the key is for RS512 only");
}

#[tokio::test]
async fn keys_in_a_file_are_read_again_when_it_changes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    let setting = Setting::with(|options, _| options.keys = KeySource::File(path.clone())).await;
    let token = setting.token(&[]);
    assert_eq!(setting.refusal(&token).await.code(), Code::IdentityUnavailable, "no file yet");
    std::fs::write(&path, format!("{{\"keys\":[{}]}}", setting.key.jwk())).unwrap();
    sleep(Duration::from_millis(1100)).await;
    assert!(setting.judge(&token).await.is_ok());
    let next = SigningKey::p256("key-2");
    std::fs::write(&path, format!("{{\"keys\":[{}]}}", next.jwk())).unwrap();
    sleep(Duration::from_millis(2100)).await;
    assert!(setting.judge(&next.token(&setting.claims(&[]))).await.is_ok());
    assert_eq!(setting.refusal(&token).await.code(), Code::InvalidToken, "its key was taken out");
}

#[tokio::test]
async fn a_key_that_was_withdrawn_in_a_silence_is_refused_to_the_first_who_comes() {
    let setting = Setting::with(|options, _| {
        options.limits.keys_fresh = Duration::from_millis(100);
        options.limits.keys_grace = Duration::from_millis(100);
        options.cache = Duration::ZERO;
    })
    .await;
    let old = setting.token(&[]);
    assert!(setting.judge(&old).await.is_ok());
    setting.issuer.publish(&[&SigningKey::p256("key-2")]);
    sleep(Duration::from_millis(250)).await;
    assert_eq!(setting.refusal(&old).await.code(), Code::InvalidToken, "no other token came before");
    setting.issuer.publish(&[&setting.key]);
    sleep(Duration::from_millis(250)).await;
    assert!(setting.judge(&old).await.is_ok(), "published again");
    setting.issuer.behave("/jwks", Behaviour::Status(503));
    sleep(Duration::from_millis(250)).await;
    assert!(setting.judge(&old).await.is_ok(), "an issuer that is down withdraws nothing");
}

#[tokio::test]
async fn a_key_that_was_taken_out_of_a_file_is_refused_to_the_first_who_comes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("jwks.json");
    let setting = Setting::with(|options, _| {
        options.keys = KeySource::File(path.clone());
        options.cache = Duration::ZERO;
    })
    .await;
    std::fs::write(&path, format!("{{\"keys\":[{}]}}", setting.key.jwk())).unwrap();
    let token = setting.token(&[]);
    assert!(setting.judge(&token).await.is_ok());
    let next = SigningKey::p256("key-2");
    std::fs::write(&path, format!("{{\"keys\":[{}]}}", next.jwk())).unwrap();
    sleep(Duration::from_millis(2100)).await;
    assert_eq!(setting.refusal(&token).await.code(), Code::InvalidToken);
    assert!(setting.judge(&next.token(&setting.claims(&[]))).await.is_ok());
}
