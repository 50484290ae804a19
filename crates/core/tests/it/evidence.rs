//! Misuse of evidence does not compile.

#[test]
fn skipping_forging_and_reusing_evidence_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
