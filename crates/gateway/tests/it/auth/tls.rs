//! TLS that the server ends itself: what it speaks, what it refuses, and certificates that change.

use std::time::Duration;

use callgate_testkit::issuer::{Issuer, SigningKey};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Setting, file, until};
use crate::served::Files;

/// A certificate for this machine, and its key.
fn certificate() -> (String, String, reqwest::Certificate) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let pem = made.cert.pem();
    let trusted = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
    (pem, made.signing_key.serialize_pem(), trusted)
}

async fn serve() -> (Setting, reqwest::Certificate) {
    let issuer = Issuer::start().await;
    let key = SigningKey::p256("key-1");
    issuer.publish(&[&key]);
    let files = Files::new(&file(&issuer, "\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n"));
    let (pem, private, trusted) = certificate();
    files.write("server.pem", &pem);
    files.write("server.key", &private);
    (Setting::serve(files, issuer, key).await, trusted)
}

fn client(trusted: &reqwest::Certificate) -> reqwest::Client {
    reqwest::Client::builder().tls_certs_only([trusted.clone()]).no_proxy().build().unwrap()
}

async fn health(setting: &Setting, client: &reqwest::Client) -> reqwest::Result<reqwest::Response> {
    client.get(format!("https://localhost:{}/healthz", setting.address.port())).send().await
}

/// Requirements: AUTH-RS-03
#[tokio::test]
async fn tls_is_ended_with_both_versions_of_http_and_plain_text_gets_no_answer() {
    let (setting, trusted) = serve().await;
    let response = health(&setting, &client(&trusted)).await.unwrap();
    assert_eq!((response.status().as_u16(), response.version()), (200, reqwest::Version::HTTP_2));
    let old = reqwest::Client::builder().tls_certs_only([trusted]).http1_only().build().unwrap();
    let response = health(&setting, &old).await.unwrap();
    assert_eq!((response.status().as_u16(), response.version()), (200, reqwest::Version::HTTP_11));
    let plain = reqwest::Client::new().get(setting.url("/healthz")).send().await;
    assert!(plain.is_err(), "{plain:?}");
    let stranger = reqwest::Client::builder().build().unwrap();
    assert!(health(&setting, &stranger).await.is_err(), "nobody else vouches for the certificate");
}

#[tokio::test]
async fn changed_certificates_are_taken_up_and_broken_ones_are_not() {
    let (mut setting, first) = serve().await;
    let _watching = setting.reloader.take().unwrap().watch().unwrap();
    assert!(health(&setting, &client(&first)).await.is_ok());
    let (pem, private, second) = certificate();
    setting.files.write("server.key", &private);
    // The pair does not fit together for a moment; the old one stays in force.
    assert!(health(&setting, &client(&first)).await.is_ok());
    setting.files.write("server.pem", &pem);
    until(async || health(&setting, &client(&second)).await.is_ok()).await;
    assert!(health(&setting, &client(&first)).await.is_err(), "the old one is gone");
    setting.files.write("server.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(health(&setting, &client(&second)).await.is_ok(), "a broken file changes nothing");
}

#[tokio::test]
async fn a_client_that_never_shakes_hands_holds_nobody_up() {
    let (setting, trusted) = serve().await;
    let mut silent = TcpStream::connect(setting.address).await.unwrap();
    let mut half = TcpStream::connect(setting.address).await.unwrap();
    half.write_all(&[0x16, 0x03, 0x01, 0x02]).await.unwrap();
    assert!(health(&setting, &client(&trusted)).await.is_ok());
    setting.shutdown.begin();
    let mut nothing = [0; 1];
    let ended = tokio::time::timeout(Duration::from_secs(5), silent.read(&mut nothing)).await;
    assert!(ended.is_ok(), "the end of the server does not wait for it");
}
