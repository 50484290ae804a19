//! Every bound of one call, at the bound and one past it, and the end of work.

use super::*;

fn numbered(count: usize) -> Tree {
    let tree = Tree::new(&[]);
    for number in 0..count {
        tree.write(&format!("d{}/f{number:04}.txt", number % 7), format!("x\nneedle {number}\ny\nneedle\n"));
    }
    tree
}

#[tokio::test]
async fn pages_of_every_size_and_bound_give_every_match_once_and_in_order() {
    let tree = numbered(60);
    let whole = {
        let mut search = needle();
        search.max_matches = 1000;
        pages(&tree.repository(), &search).await
    };
    assert_eq!(whole.len(), 120);
    let mut sorted = whole.clone();
    sorted.sort_by_key(|place| {
        let (path, line) = place.rsplit_once(':').unwrap();
        (path.to_owned(), line.parse::<u64>().unwrap())
    });
    assert_eq!(whole, sorted);
    for matches in [1, 2, 3, 7, 119, 120] {
        let mut search = needle();
        search.max_matches = matches;
        assert_eq!(pages(&tree.repository(), &search).await, whole, "{matches}");
    }
    let mut search = needle();
    search.max_bytes = 700;
    assert_eq!(pages(&tree.repository(), &search).await, whole);
    for repository in [
        tree.limited(|limits| limits.files = 1),
        tree.limited(|limits| limits.files = 7),
        tree.limited(|limits| limits.scan_bytes = 1),
        tree.limited(|limits| limits.scan_bytes = 100),
        tree.limited(|limits| limits.entries = 20),
    ] {
        let mut search = needle();
        search.max_matches = 1000;
        assert_eq!(pages(&repository, &search).await, whole);
    }
}

#[tokio::test]
async fn a_result_says_which_bound_ended_it() {
    let tree = numbered(10);
    let cut = |repository: Repository, search: Search| async move { found(&repository, search).await.cut };
    let mut search = needle();
    search.max_matches = 20;
    assert_eq!(cut(tree.repository(), search.clone()).await, None);
    search.max_matches = 19;
    assert_eq!(cut(tree.repository(), search.clone()).await, Some(Bound::Matches));
    search.max_matches = 100;
    assert_eq!(cut(tree.limited(|limits| limits.files = 10), search.clone()).await, None);
    assert_eq!(cut(tree.limited(|limits| limits.files = 9), search.clone()).await, Some(Bound::Files));
    assert_eq!(cut(tree.limited(|limits| limits.entries = 17), search.clone()).await, None);
    assert_eq!(cut(tree.limited(|limits| limits.entries = 16), search.clone()).await, Some(Bound::Files));
    assert_eq!(cut(tree.limited(|limits| limits.scan_bytes = 20), search.clone()).await, Some(Bound::Scan));
    search.max_bytes = 500;
    assert_eq!(cut(tree.repository(), search.clone()).await, Some(Bound::Bytes));
    search.max_bytes = 10;
    let error = tree.repository().search("p", search).await.unwrap_err();
    assert_eq!(error, RepositoryError::ItemTooLarge);
}

#[tokio::test]
async fn a_file_of_the_bound_is_shown_and_a_larger_one_is_not() {
    let tree = Tree::new(&[("fits", "needle 89\n"), ("large", "needle 890\n")]);
    let repository = tree.limited(|limits| limits.file_bytes = 10);
    let found = found(&repository, needle()).await;
    assert_eq!((places(&found), found.skipped), (vec!["fits:1".to_owned()], 1));
    assert_eq!(text(&repository, "fits").await.unwrap(), "needle 89\n");
    assert_eq!(text(&repository, "large").await, Err(RepositoryError::FileTooLarge { limit: 10 }));
    // A file without a single byte on disk costs nothing either.
    let sparse = fs::File::create(tree.root().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert!(matches!(text(&tree.repository(), "sparse").await, Err(RepositoryError::FileTooLarge { .. })));
}

#[tokio::test]
async fn folders_that_are_too_deep_too_full_or_of_too_long_a_path_are_left_out_by_both() {
    let tree = Tree::new(&[("1/2/3/at", "needle"), ("1/2/3/4/past", "needle")]);
    let repository = tree.limited(|limits| limits.depth = 3);
    assert_eq!(places(&found(&repository, needle()).await), ["1/2/3/at:1"]);
    assert_eq!(text(&repository, "1/2/3/at").await.unwrap(), "needle");
    assert_eq!(text(&repository, "1/2/3/4/past").await, Err(RepositoryError::NoSuchFile));

    let tree = Tree::new(&[
        ("two/a", "needle"),
        ("two/b", ""),
        ("three/a", "needle"),
        ("three/b", ""),
        ("three/c", ""),
    ]);
    let repository = tree.limited(|limits| limits.folder_entries = 2);
    let found_two = found(&repository, needle()).await;
    assert_eq!((places(&found_two), found_two.skipped), (vec!["two/a:1".to_owned()], 1));
    assert_eq!(text(&repository, "two/a").await.unwrap(), "needle");
    assert_eq!(text(&repository, "three/a").await, Err(RepositoryError::NoSuchFile));

    let tree = Tree::new(&[("a/345", "needle"), ("a/3456", "needle")]);
    let repository = tree.limited(|limits| limits.path_bytes = 5);
    assert_eq!(places(&found(&repository, needle()).await), ["a/345:1"]);
    assert_eq!(text(&repository, "a/345").await.unwrap(), "needle");
    assert_eq!(text(&repository, "a/3456").await, Err(RepositoryError::NoSuchFile));
}

#[tokio::test]
async fn a_tree_of_hundreds_of_levels_is_walked_to_its_bound() {
    let tree = Tree::new(&[("a", "needle")]);
    let mut folder = tree.root();
    for _ in 0..300 {
        folder.push("d");
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("deep"), "needle").unwrap();
    let found = found(&tree.repository(), needle()).await;
    assert_eq!((places(&found), found.skipped), (vec!["a:1".to_owned()], 1));
}

#[tokio::test]
async fn a_line_that_is_too_long_ends_the_search_of_its_file_only() {
    let tree = Tree::new(&[("b", "needle")]);
    tree.write("a", format!("needle\n{}needle\nneedle\n", "x".repeat(300_000)));
    tree.write("long", format!("{}needle{}", "x".repeat(1000), "y".repeat(1000)));
    let found = found(&tree.repository(), needle()).await;
    assert_eq!((places(&found), found.skipped), (vec!["a:1".into(), "b:1".into(), "long:1".into()], 1));
    let long = &matches(&found)[2];
    assert_eq!((&long["column"], &long["textCut"]), (&1001.into(), &true.into()));
    let text = long["text"].as_str().unwrap();
    assert!(text.len() == 400 && text.contains("needle"), "{text}");
    let start = usize::try_from(long["textColumn"].as_u64().unwrap()).unwrap();
    assert_eq!(1001 - start, text.find("needle").unwrap());
}

/// Files that take a debug build and a release build some time.
fn heavy() -> (Tree, Search) {
    let tree = Tree::new(&[]);
    let line = "the quick brown fox jumps over the lazy dog and goes on and on for quite some time\n";
    for number in 0..200 {
        tree.write(&format!("f{number:03}"), line.repeat(10_000));
    }
    // No letter of it is certain, so nothing can be skipped.
    let mut search = Search::new("(?:[a-z]+ ){3}(?:[a-z]* ){2,6}[0-9]", soon());
    search.syntax = Syntax::Regex;
    (tree, search)
}

#[tokio::test]
async fn a_search_whose_time_is_over_gives_what_it_found_and_goes_on_later() {
    let (tree, search) = heavy();
    tree.write("a", "a b c d e f g 1\n");
    let repository = tree.repository();
    let prepared = search::Prepared::new(search, &repository.shared.limits).unwrap();
    let until = Instant::now() + Duration::from_millis(100);
    let budget = budget::Budget::new(Arc::default(), until);
    let root = open_root(&tree.root()).unwrap();
    let found = search::run(&root, &repository.shared, &prepared, &budget).unwrap();
    assert_eq!(found.cut, Some(Bound::Time));
    assert!(found.files < 200, "{}", found.files);
    assert_eq!(places(&found), ["a:1"]);
    let next = found.next.unwrap();
    assert!(next.path == "a" || next.path.starts_with('f'), "{next:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fifth_of_the_time_is_left_to_tell_what_was_found() {
    let now = Instant::now();
    assert_eq!(work_until(now, now + Duration::from_secs(10)), now + Duration::from_secs(8));
    assert_eq!(work_until(now, now), now);
    let tree = Tree::new(&[("a", "needle")]);
    let mut search = needle();
    search.deadline = now;
    let error = tree.repository().search("p", search).await.unwrap_err();
    assert!(matches!(error, RepositoryError::Busy | RepositoryError::TimedOut), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_leaves_takes_the_work_along() {
    let (tree, search) = heavy();
    let mut options = tree.options();
    options.concurrency = 1;
    options.wait = Duration::from_secs(2);
    let repository = Repository::new(options).unwrap();
    for _ in 0..3 {
        let left =
            tokio::time::timeout(Duration::from_millis(50), repository.search("p", search.clone())).await;
        assert!(left.is_err());
        // There is one place: if the work went on, this call would find none.
        assert!(text(&repository, "f000").await.unwrap().starts_with("the quick"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_finds_no_place_comes_again_later() {
    let (tree, search) = heavy();
    let mut options = tree.options();
    options.concurrency = 1;
    options.wait = Duration::from_millis(20);
    let repository = Repository::new(options).unwrap();
    let mut long = std::pin::pin!(repository.search("p", search));
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut long).await.is_err());
    assert_eq!(text(&repository, "f000").await, Err(RepositoryError::Busy));
}

#[tokio::test]
async fn patterns_that_are_made_to_be_slow_stop_within_their_time() {
    let tree = Tree::new(&[]);
    tree.write("a", format!("{}\n", "ab".repeat(100_000)));
    let repository = tree.repository();
    for query in
        ["(?:a|b|ab){1,60}(?:[ab]{1,60}){1,20}c", "(?:\\w+\\s?)+$x", "[a-q][^u-z]{13}x", "(.*)(.*)(.*)(.*)c"]
    {
        let mut search = Search::new(query, Instant::now() + Duration::from_secs(20));
        search.syntax = Syntax::Regex;
        let began = std::time::Instant::now();
        // A pattern may be refused as too large.
        let _ = repository.search("p", search).await;
        assert!(began.elapsed() < Duration::from_secs(20), "{query}: {:?}", began.elapsed());
    }
}

/// Letters in no order that an automaton could learn.
fn letters(count: usize) -> String {
    let mut state = 7_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from((state >> 24) % 26).unwrap())
    };
    (0..count).map(|_| letter()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_a_costly_pattern_is_free_soon_after_its_time_is_over() {
    // Patterns of several sizes that no automaton can be made of, on lines of the lengths that each just
    // meets, and on one that is longer than any.
    for (repeats, line) in [(4500, 250_000), (4500, 4000), (1100, 16_000), (270, 65_000), (60, 250_000)] {
        let tree = Tree::new(&[("z", "needle")]);
        tree.write("a", format!("{}\n", letters(line)).repeat(1 + 700_000 / line));
        let mut options = tree.options();
        options.concurrency = 1;
        options.wait = Duration::from_secs(1);
        let repository = Repository::new(options).unwrap();
        let query = format!("(?-u)[a-d ][^\\n]{{{repeats}}}[A-Z0-9]");
        let mut search = Search::new(query, Instant::now() + Duration::from_secs(1));
        search.syntax = Syntax::Regex;
        let searched = repository.search("p", search).await;
        assert!(!matches!(searched, Err(RepositoryError::Pattern { .. })), "{repeats}: {searched:?}");
        let read = super::text(&repository, "z").await;
        assert_eq!(read.as_deref(), Ok("needle"), "the place of {repeats} repeats, lines of {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_is_compiled_only_in_a_place() {
    let (tree, search) = heavy();
    let mut options = tree.options();
    options.concurrency = 1;
    options.wait = Duration::from_millis(20);
    let repository = Repository::new(options).unwrap();
    let mut long = std::pin::pin!(repository.search("p", search));
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut long).await.is_err());
    let mut invalid = Search::new("(", soon());
    invalid.syntax = Syntax::Regex;
    assert_eq!(repository.search("p", invalid).await.unwrap_err(), RepositoryError::Busy);
}

#[tokio::test]
async fn rules_as_many_as_are_read_cost_a_bounded_time() {
    let tree = Tree::new(&[("a", "needle"), ("b/a", "needle")]);
    let mut rules = String::new();
    for number in 0.. {
        let line = format!("**/x{number}*a*b?[c-e]{{f,g}}*/**/z*\n");
        if rules.len() + line.len() > 64 << 10 {
            break;
        }
        rules.push_str(&line);
    }
    tree.write("b/.gitignore", rules);
    let began = std::time::Instant::now();
    let found = found(&tree.repository(), needle()).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    // The folder is shown, or its rules were too costly to compile.
    assert_eq!(u64::try_from(found.count).unwrap() + found.skipped, 2);
}
