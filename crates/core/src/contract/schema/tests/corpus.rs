//! The kept corpus of the fuzz target is replayed on every run.

use crate::contract::schema::fuzzing::fuzz_schema;

#[test]
fn every_input_of_the_corpus_keeps_the_promises() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/schema");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        fuzz_schema(&std::fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed >= 20, "{replayed}");
}
