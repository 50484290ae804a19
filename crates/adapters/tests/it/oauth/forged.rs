//! Tokens that somebody made up: each is refused, with nothing of it in the answer.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use callgate_core::refusal::Code;
use callgate_testkit::issuer::{SigningKey, assemble};

use super::{AUDIENCE, NOW, Setting};

async fn refused(setting: &Setting, tokens: &[(&str, String)]) {
    for (what, token) in tokens {
        let refusal = setting.refusal(token).await;
        assert_eq!(refusal.code(), Code::InvalidToken, "{what}: {refusal}");
    }
    let good = setting.token(&[]);
    assert!(setting.judge(&good).await.is_ok(), "a good one is still good");
}

/// Requirements: AUTH-RS-09
#[tokio::test]
async fn no_algorithm_is_taken_from_the_token_alone() {
    let setting = Setting::new().await;
    let rsa = SigningKey::rsa("rsa");
    setting.issuer.publish(&[&setting.key, &rsa]);
    let claims = setting.claims(&[]);
    let pem = format!(
        "-----BEGIN RSA PUBLIC KEY-----\n{}\n-----END RSA PUBLIC KEY-----\n",
        STANDARD.encode(rsa.public())
    );
    let with_secret = |secret: &[u8], header: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        assemble(header, &claims, |message| hmac::sign(&key, message).as_ref().to_vec())
    };
    let hs256 = r#"{"alg":"HS256","kid":"rsa"}"#;
    let unsigned = |header: &str| assemble(header, &claims, |_| Vec::new());
    let modulus = rsa.public()[9..265].to_vec();
    refused(
        &setting,
        &[
            ("none", unsigned(r#"{"alg":"none"}"#)),
            ("none with a key", unsigned(r#"{"alg":"none","kid":"key-1"}"#)),
            ("None", unsigned(r#"{"alg":"None","kid":"key-1"}"#)),
            ("no signature", unsigned(r#"{"alg":"ES256","kid":"key-1"}"#)),
            ("an HMAC with the DER of the public key", with_secret(&rsa.public(), hs256)),
            ("an HMAC with its PEM", with_secret(pem.as_bytes(), hs256)),
            ("an HMAC with its modulus", with_secret(&modulus, hs256)),
            ("an HMAC that is called RSA", with_secret(&rsa.public(), r#"{"alg":"RS256","kid":"rsa"}"#)),
            ("an empty HMAC key", with_secret(b"", hs256)),
            ("the algorithm of another key", setting.key.sign(r#"{"alg":"ES256","kid":"rsa"}"#, &claims)),
            ("RSA with a key on a curve", rsa.sign(r#"{"alg":"RS256","kid":"key-1"}"#, &claims)),
            ("a list of algorithms", setting.key.sign(r#"{"alg":["ES256"],"kid":"key-1"}"#, &claims)),
            ("a number", setting.key.sign(r#"{"alg":7,"kid":"key-1"}"#, &claims)),
        ],
    )
    .await;
}

/// Requirements: AUTH-RS-09
#[tokio::test]
async fn no_key_comes_from_the_token_and_no_name_of_a_key_leads_elsewhere() {
    let setting = Setting::new().await;
    let own = SigningKey::p256("own");
    let claims = setting.claims(&[]);
    let url = format!("{}/own", setting.issuer.url());
    setting
        .issuer
        .behave("/own", callgate_testkit::issuer::Behaviour::Json(format!("{{\"keys\":[{}]}}", own.jwk())));
    let sign = |more: &str| own.sign(&format!("{{\"alg\":\"ES256\",{more}}}"), &claims);
    let mut tokens = vec![
        ("a key in the header", sign(&format!("\"jwk\":{}", own.jwk()))),
        ("a key in the header under a known name", sign(&format!("\"kid\":\"key-1\",\"jwk\":{}", own.jwk()))),
        ("the address of keys", sign(&format!("\"kid\":\"own\",\"jku\":\"{url}\""))),
        ("the address of certificates", sign(&format!("\"kid\":\"own\",\"x5u\":\"{url}\""))),
        ("no name", sign(r#""typ":"JWT""#)),
    ];
    for kid in ["../../../../dev/null", "/own", "key-1' or '1'='1", "key-1\\u0000", "http://127.0.0.1/", ""] {
        tokens.push(("a name that is a path", sign(&format!("\"kid\":\"{kid}\""))));
    }
    tokens.push(("a name that is no text", sign(r#""kid":{"a":1}"#)));
    tokens.push(("a very long name", sign(&format!("\"kid\":\"{}\"", "k".repeat(600)))));
    refused(&setting, &tokens).await;
    assert_eq!(setting.issuer.hits("/own"), 0, "nothing that a token names is asked");
}

/// Requirements: AUTH-RS-09, AUTH-RS-10, AUTH-RS-12
#[tokio::test]
async fn claims_of_another_issuer_audience_time_or_type_are_refused() {
    let setting = Setting::new().await;
    let url = setting.issuer.url();
    let past = (NOW - 31).to_string();
    let cases: Vec<(&str, &str, String)> = vec![
        ("iss", "missing", String::new()),
        ("iss", "another", r#""https://evil.example.com""#.into()),
        ("iss", "with a slash", format!("\"{url}/\"")),
        ("iss", "in a list", format!("[\"{url}\"]")),
        ("iss", "null", "null".into()),
        ("aud", "missing", String::new()),
        ("aud", "another", r#""https://mcp.example.com""#.into()),
        ("aud", "longer", format!("\"{AUDIENCE}/\"")),
        ("aud", "in other case", format!("\"{}\"", AUDIENCE.to_uppercase())),
        ("aud", "empty", "[]".into()),
        ("aud", "null", "null".into()),
        ("aud", "an object", format!("{{\"{AUDIENCE}\":true}}")),
        ("aud", "a list with a number", format!("[\"{AUDIENCE}\",7]")),
        ("aud", "a nested list", format!("[[\"{AUDIENCE}\"]]")),
        ("exp", "missing", String::new()),
        ("exp", "past", past),
        ("exp", "a string", format!("\"{}\"", NOW + 300)),
        ("exp", "null", "null".into()),
        ("exp", "true", "true".into()),
        ("exp", "negative", "-1".into()),
        ("exp", "beyond all dates", "1e400".into()),
        ("nbf", "in future", (NOW + 31).to_string()),
        ("nbf", "a string", "\"0\"".into()),
        ("sub", "missing", String::new()),
        ("sub", "a number", "7".into()),
        ("sub", "empty", "\"\"".into()),
        ("sub", "with a newline", r#""dana\nadmin""#.into()),
        ("sub", "too long", format!("\"{}\"", "d".repeat(600))),
        ("groups", "numbers", "[1]".into()),
        ("groups", "an object", "{}".into()),
        ("groups", "too many", format!("[{}]", vec!["\"g\""; 600].join(","))),
        ("scope", "a number", "7".into()),
        ("scope", "nested", r#"[["mcp"]]"#.into()),
        ("client_id", "a number", "7".into()),
        ("cnf", "a key of the client", r#"{"jkt":"abc"}"#.into()),
    ];
    let tokens: Vec<_> = cases
        .iter()
        .map(|(name, what, value)| (format!("`{name}` {what}"), setting.token(&[(name, value)])))
        .collect();
    let tokens: Vec<_> = tokens.iter().map(|(what, token)| (what.as_str(), token.clone())).collect();
    refused(&setting, &tokens).await;
}

#[tokio::test]
async fn what_is_not_exactly_one_readable_token_is_refused() {
    let setting = Setting::new().await;
    let claims = setting.claims(&[]);
    let good = setting.token(&[]);
    let header =
        |more: &str| setting.key.sign(&format!("{{\"alg\":\"ES256\",\"kid\":\"key-1\"{more}}}"), &claims);
    let doubled = claims.replacen('{', r#"{"sub":"admin","#, 1);
    let escaped = claims.replacen('{', r#"{"su\u0062":"admin","#, 1);
    let parts: Vec<&str> = good.split('.').collect();
    let flipped = |at: usize| {
        let mut parts: Vec<String> = good.split('.').map(str::to_owned).collect();
        let mut bytes = URL_SAFE_NO_PAD.decode(&parts[at]).unwrap();
        bytes[10] ^= 1;
        parts[at] = URL_SAFE_NO_PAD.encode(bytes);
        parts.join(".")
    };
    let other = setting.key.token(&setting.claims(&[("sub", "\"admin\"")]));
    let mixed = format!("{}.{}.{}", parts[0], other.split('.').nth(1).unwrap(), parts[2]);
    refused(
        &setting,
        &[
            ("a claim that stands twice", setting.key.token(&doubled)),
            ("a claim that stands twice, escaped", setting.key.token(&escaped)),
            ("a header that stands twice", header(r#","alg":"ES256""#)),
            ("an extension", header(r#","crit":["exp"],"exp":1"#)),
            ("an empty list of extensions", header(r#","crit":[]"#)),
            ("an unencoded payload", header(r#","b64":false,"crit":["b64"]"#)),
            ("a compressed payload", header(r#","zip":"DEF""#)),
            ("a logout token", header(r#","typ":"logout+jwt""#)),
            ("a proof", header(r#","typ":"dpop+jwt""#)),
            ("a type that is no text", header(r#","typ":["at+jwt"]"#)),
            ("changed claims", flipped(1)),
            ("a changed signature", flipped(2)),
            ("the claims of another token", mixed),
            ("no signature", format!("{}.{}.", parts[0], parts[1])),
            ("a signature cut short", good[..good.len() - 4].to_owned()),
            ("a fourth part", format!("{good}.e30")),
            ("padding", format!("{good}==")),
            ("five parts", "e30.e30.e30.e30.e30".to_owned()),
            ("claims that are a list", setting.key.token("[]")),
            ("claims that are no JSON", setting.key.token("dana")),
            (
                "claims with a deep value",
                setting
                    .key
                    .token(&setting.claims(&[("a", &format!("{}1{}", "[".repeat(99), "]".repeat(99)))])),
            ),
            ("a huge token", setting.token(&[("a", &format!("\"{}\"", "a".repeat(20_000)))])),
            ("not even a token", "x".repeat(60_000)),
        ],
    )
    .await;
}

#[tokio::test]
async fn where_access_tokens_are_marked_others_are_refused() {
    let strict = Setting::with(|options, _| {
        options.token_type = callgate_adapters::oauth::TokenType::AccessToken;
    })
    .await;
    let of_type = |typ: &str| {
        strict.key.sign(&format!("{{\"alg\":\"ES256\",\"kid\":\"key-1\"{typ}}}"), &strict.claims(&[]))
    };
    refused(&strict, &[("plain", of_type(r#","typ":"JWT""#)), ("unmarked", of_type(""))]).await;
    assert!(strict.judge(&of_type(r#","typ":"application/at+JWT""#)).await.is_ok());
}

/// No text near a good token is another good token: each bit of it counts.
#[test]
fn no_change_of_a_good_token_is_accepted() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let setting = runtime.block_on(Setting::new());
    let good = setting.token(&[("scope", r#""a b c""#)]);
    assert!(runtime.block_on(setting.judge(&good)).is_ok());
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    let change = (0..good.len(), 0..alphabet.len(), 0..3_u8);
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 600,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    });
    let result = runner.run(&change, |(at, letter, kind)| {
        let mut bytes = good.clone().into_bytes();
        match kind {
            0 => bytes[at] = alphabet[letter],
            1 => bytes.insert(at, alphabet[letter]),
            _ => {
                bytes.remove(at);
            }
        }
        let changed = String::from_utf8(bytes).unwrap();
        if changed != good {
            let judged = runtime.block_on(setting.judge(&changed));
            proptest::prop_assert!(judged.is_err(), "accepted: {changed}");
        }
        Ok(())
    });
    result.unwrap();
}
