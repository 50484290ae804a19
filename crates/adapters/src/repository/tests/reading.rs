//! Lines of a file: ranges, bounds, digests, and files that change.

use callgate_core::contract::digest::Digest;

use super::*;

async fn read(repository: &Repository, change: impl FnOnce(&mut Read)) -> Result<Excerpt, RepositoryError> {
    let mut read = Read::new("a", soon());
    change(&mut read);
    repository.read("p", read).await
}

#[tokio::test]
async fn a_range_of_lines_is_given_as_it_stands_with_the_digest_of_the_whole() {
    let whole = "one\r\ntwo\n\nfour";
    let tree = Tree::new(&[("a", whole)]);
    let repository = tree.repository();
    let all = read(&repository, |_| {}).await.unwrap();
    assert_eq!((all.text.as_str(), all.start_line, all.end_line, all.total_lines), (whole, 1, 4, 4));
    assert_eq!(
        (all.digest, all.size, all.cut, all.changed),
        (Digest::of_bytes(whole.as_bytes()), 14, None, false)
    );
    assert!(all.modified.is_some());
    for (start, end, text, last) in [
        (2, Some(3), "two\n\n", 3),
        (4, None, "four", 4),
        (1, Some(1), "one\r\n", 1),
        (3, Some(999), "\nfour", 4),
        (2, Some(1), "", 1),
    ] {
        let part = read(&repository, |read| (read.start_line, read.end_line) = (start, end)).await.unwrap();
        assert_eq!((part.text.as_str(), part.end_line, part.digest), (text, last, all.digest), "{start}");
    }
    let past = read(&repository, |read| read.start_line = 5).await.unwrap_err();
    assert_eq!(past, RepositoryError::NoSuchLine { lines: 4 });
    let past = read(&repository, |read| read.start_line = u64::MAX).await.unwrap_err();
    assert_eq!(past, RepositoryError::NoSuchLine { lines: 4 });
}

#[tokio::test]
async fn an_empty_file_has_no_lines() {
    let tree = Tree::new(&[("a", "")]);
    let empty = read(&tree.repository(), |_| {}).await.unwrap();
    assert_eq!((empty.text.as_str(), empty.end_line, empty.total_lines, empty.size), ("", 0, 0, 0));
}

#[tokio::test]
async fn lines_and_bytes_are_bounded_and_the_next_reading_goes_on() {
    let tree = Tree::new(&[("a", &(1..=100).map(|line| format!("line {line}\n")).collect::<String>())]);
    let repository = tree.repository();
    let ten = read(&repository, |read| read.max_lines = 10).await.unwrap();
    assert_eq!((ten.end_line, ten.cut, ten.line_cut), (10, Some(Bound::Lines), false));
    let exact = read(&repository, |read| (read.max_lines, read.end_line) = (10, Some(10))).await.unwrap();
    assert_eq!((exact.end_line, exact.cut), (10, None));
    let mut text = String::new();
    let mut start = 1;
    while start <= 100 {
        let part = read(&repository, |read| (read.max_bytes, read.start_line) = (100, start)).await.unwrap();
        assert!(part.text.len() <= 100 && !part.line_cut);
        text.push_str(&part.text);
        start = part.end_line + 1;
    }
    assert_eq!(text, fs::read_to_string(tree.root().join("a")).unwrap());
}

#[tokio::test]
async fn a_line_that_is_longer_than_a_result_is_cut_at_a_character_and_marked() {
    let tree = Tree::new(&[("a", &format!("{}\nsecond\n", "é\u{1}".repeat(100)))]);
    let repository = tree.repository();
    let part = read(&repository, |read| read.max_bytes = 49).await.unwrap();
    // A control character takes six bytes of JSON.
    assert_eq!((part.text.as_str(), part.line_cut, part.end_line), ("é\u{1}".repeat(6).as_str(), true, 1));
    assert_eq!(part.cut, Some(Bound::Bytes));
    let next = read(&repository, |read| (read.max_bytes, read.start_line) = (50, 2)).await.unwrap();
    assert_eq!((next.text.as_str(), next.cut), ("second\n", None));
    assert_eq!(
        read(&repository, |read| read.max_bytes = 1).await.unwrap_err(),
        RepositoryError::ItemTooLarge
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_grow_shrink_and_vanish_meanwhile_give_an_answer_each_time() {
    let tree = Tree::new(&[("a", "needle\n")]);
    let path = tree.root().join("a");
    let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stop = Arc::clone(&ended);
    let writer = std::thread::spawn(move || {
        for round in 0.. {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
            match round % 3 {
                0 => fs::write(&path, "needle\n".repeat(50_000)).unwrap(),
                1 => fs::write(&path, "needle\n").unwrap(),
                _ => drop(fs::remove_file(&path)),
            }
        }
    });
    let repository = tree.repository();
    for _ in 0..100 {
        match read(&repository, |_| {}).await {
            // Of a write in progress the system may show a part without a trace; what is told of it is true.
            Ok(excerpt) if excerpt.cut.is_none() => {
                assert!(excerpt.text.lines().all(|line| "needle".starts_with(line)));
                assert_eq!(excerpt.digest, Digest::of_bytes(excerpt.text.as_bytes()));
            }
            Ok(excerpt) => assert_eq!(excerpt.cut, Some(Bound::Lines)),
            Err(error) => assert_eq!(error, RepositoryError::NoSuchFile),
        }
        let found = found(&repository, needle()).await;
        assert!(found.count <= 100);
    }
    ended.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().unwrap();
}
