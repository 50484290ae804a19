use std::fs;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        run(&fs::read(&input).unwrap());
    }
}

#[test]
fn the_decoder_holds_its_properties_over_the_corpus() {
    replay("decode", super::decode);
}

#[test]
fn the_header_codec_holds_its_properties_over_the_corpus() {
    replay("header", super::header);
}
