//! Every error of a source of kind `http` and of tools on it.

use crate::served::Files;

#[test]
fn every_error_of_services_and_requests_is_found_at_once() {
    let files = Files::new(include_str!("../../files/bad_http.toml"));
    files.write("no_pem", "this is no certificate");
    files.write("two_lines", "a\nb");
    insta::assert_snapshot!("bad_http", files.report());
}
