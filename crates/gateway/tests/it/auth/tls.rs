//! TLS that the server ends itself: what it speaks, what it refuses, and certificates that change.

use std::time::Duration;

use callgate_testkit::issuer::{Issuer, SigningKey};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Setting, file, files, until};

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
    let files = files(&file(&issuer, "\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n"));
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
async fn a_refused_file_does_not_bring_its_certificate_into_force() {
    let (setting, first) = serve().await;
    let reloader = setting.reloader.as_ref().unwrap();
    let (pem, private, second) = certificate();
    setting.files.write("server.pem", &pem);
    setting.files.write("server.key", &private);
    let good = std::fs::read_to_string(setting.files.at("callers.cedar")).unwrap();
    setting.files.write("callers.cedar", "permit(principal, action, resource) when { resource.no_such };");
    assert!(reloader.reload().is_err());
    assert!(health(&setting, &client(&first)).await.is_ok(), "the certificate of the file in force");
    setting.files.write("callers.cedar", &good);
    reloader.reload().unwrap();
    assert!(health(&setting, &client(&second)).await.is_ok());
    assert!(health(&setting, &client(&first)).await.is_err());
}

#[tokio::test]
async fn tls_that_is_added_or_removed_while_the_server_runs_is_said_to_need_a_restart() {
    let (pem, private, _) = certificate();
    let plain = Setting::new("").await;
    let reload = |setting: &Setting| setting.reloader.as_ref().unwrap().reload().unwrap().to_string();
    let text = std::fs::read_to_string(plain.files.at("callgate.toml")).unwrap();
    plain.files.write("server.pem", &pem);
    plain.files.write("server.key", &private);
    let tls = "\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
    assert!(!reload(&plain).contains("tls_unchanged"));
    plain.files.write("callgate.toml", &format!("{text}{tls}"));
    let report = reload(&plain);
    assert!(report.contains("[tls] was added and takes effect when the server is started again"), "{report}");
    let (ending, trusted) = serve().await;
    let text = std::fs::read_to_string(ending.files.at("callgate.toml")).unwrap();
    ending.files.write("callgate.toml", &text.replace(tls, ""));
    let report = reload(&ending);
    assert!(report.contains("[tls] was removed"), "{report}");
    assert!(health(&ending, &client(&trusted)).await.is_ok(), "it goes on as it began");
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

/// The report of a file whose certificate begins and ends so many seconds from now.
fn report_of(begins: i64, ends: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = |seconds: i64| {
        let time = now.as_secs().checked_add_signed(seconds).unwrap();
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(time)
    };
    let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    (parameters.not_before, parameters.not_after) = (at(begins), at(ends));
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let head = crate::served::HEAD;
    let files = files(&format!(
        "{head}\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n{}",
        super::TOOLS
    ));
    files.write("server.pem", &certificate.pem());
    files.write("server.key", &key.serialize_pem());
    assert!(
        callgate_gateway::Gate::from_file(files.at("callgate.toml")).is_ok(),
        "it is served all the same"
    );
    files.report()
}

#[test]
fn a_certificate_that_clients_refuse_or_soon_will_is_warned_about() {
    const DAY: i64 = 86_400;
    for (begins, ends, message) in [
        (-90 * DAY, -3 * DAY - 60, "certificate_expired]: the certificate expired 3 days ago"),
        (-90 * DAY, -60, "certificate_expired]: the certificate expired less than a day ago"),
        (-90 * DAY, 60, "certificate_expires]: the certificate expires in less than a day"),
        (-90 * DAY, 13 * DAY + 600, "certificate_expires]: the certificate expires in 13 days"),
        (2 * DAY + 600, 90 * DAY, "certificate_early]: the certificate is not valid for another 2 days"),
    ] {
        let report = report_of(begins, ends);
        assert!(report.contains(&format!("warning[{message}")), "{report}");
        assert!(report.contains("callgate.toml:"), "it has its place: {report}");
    }
    for ends in [14 * DAY + 600, 3650 * DAY] {
        let report = report_of(-60, ends);
        assert!(!report.contains("certificate_"), "{report}");
    }
}
