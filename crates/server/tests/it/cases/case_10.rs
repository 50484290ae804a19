//! Case 10: a reference that leaves the schema. The kind of fault: anything by which a schema makes the
//! process open a connection or a file, and a reference that is not resolved and let pass.

use std::io::ErrorKind;
use std::net::TcpListener;

use callgate_core::contract::schema::{Schema, SchemaLimits};

use crate::cases::fixture::register;

/// Requirements: BASE-39, BASE-40, BASE-42.
#[test]
fn no_reference_is_ever_fetched_and_each_is_refused_by_its_uri() {
    let canary = TcpListener::bind("127.0.0.1:0").unwrap();
    canary.set_nonblocking(true).unwrap();
    let port = canary.local_addr().unwrap().port();
    let secret = std::env::temp_dir().join(format!("callgate-case-10-{port}.json"));
    std::fs::write(&secret, r#"{"type":"string"}"#).unwrap();
    let file = format!("file://{}", secret.display());
    let http = format!("http://127.0.0.1:{port}");
    for (members, uri) in [
        (format!(r#""$ref":"{http}/a""#), format!("{http}/a")),
        (format!(r##""$ref":"{http}/a#/x""##), format!("{http}/a")),
        (format!(r#""$ref":"{file}""#), file.clone()),
        (r#""$ref":"file:///etc/hostname""#.to_owned(), "file:///etc/hostname".to_owned()),
        (format!(r#""$id":"{http}/base/","$ref":"b.json""#), "b.json".to_owned()),
        (format!(r#""$schema":"{http}/meta""#), format!("{http}/meta")),
        (format!(r##""$dynamicRef":"{http}/c#x""##), format!("{http}/c")),
        (r#""$ref":"other.json""#.to_owned(), "other.json".to_owned()),
        (r#""$ref":"urn:example:nowhere""#.to_owned(), "urn:example:nowhere".to_owned()),
        (r##""$ref":"#/$defs/Gone""##.to_owned(), "#/$defs/Gone".to_owned()),
        (r##""$ref":"#gone""##.to_owned(), "#gone".to_owned()),
    ] {
        let root = format!(r#"{{"type":"object",{members}}}"#);
        let inner = format!(r#"{{"type":"object","properties":{{"a":{{{members}}}}}}}"#);
        for (input, output) in [
            (root.as_str(), None),
            (inner.as_str(), None),
            (r#"{"type":"object"}"#, Some(root.as_str())),
            (r#"{"type":"object"}"#, Some(inner.as_str())),
        ] {
            let faults = register("t", input, output).unwrap_err();
            assert!(faults.iter().any(|fault| fault.contains(&uri)), "{members}: {faults:?}");
        }
        // The schema of a form is compiled by the same compiler.
        assert!(Schema::compile(&inner, &SchemaLimits::DEFAULT).is_err());
    }
    let opened = canary.accept().map(|_| ()).unwrap_err();
    assert_eq!(opened.kind(), ErrorKind::WouldBlock, "nobody connected");
    std::fs::remove_file(secret).unwrap();
}

/// Requirements: BASE-38.
#[test]
fn references_inside_the_schema_are_followed() {
    for schema in [
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"$ref":"#"}}}"##,
        r##"{"type":"object","$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/d"}},"$defs":{"d":true}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"#anchor"}},"$defs":{"d":{"$anchor":"anchor"}}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"inner"}},"$defs":{"d":{"$id":"inner"}}}"##,
    ] {
        register("t", schema, None).unwrap();
    }
}
