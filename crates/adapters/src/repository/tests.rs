//! Searching and reading over real directories.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;

mod bounds;
mod git;
mod hidden;
mod paths;
mod reading;

/// A directory with one project `p`, and beside it what must never be seen.
struct Tree {
    directory: TempDir,
}

/// What stands in every file that must never be seen.
const CANARY: &str = "CANARY";

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(tree.root()).unwrap();
        fs::create_dir(tree.directory.path().join("outside")).unwrap();
        fs::write(tree.outside(), format!("outside {CANARY} needle\n")).unwrap();
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.directory.path().join("outside/secret.txt")
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn options(&self) -> Options {
        Options::new(vec![("p".to_owned(), self.root())])
    }

    fn repository(&self) -> Repository {
        Repository::new(self.options()).unwrap()
    }

    fn limited(&self, change: impl FnOnce(&mut Limits)) -> Repository {
        let mut options = self.options();
        change(&mut options.limits);
        Repository::new(options).unwrap()
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn needle() -> Search {
    Search::new("needle", soon())
}

async fn found(repository: &Repository, search: Search) -> Found {
    repository.search("p", search).await.unwrap()
}

fn matches(found: &Found) -> Vec<Value> {
    let matches: Vec<Value> = serde_json::from_str(&found.json).unwrap();
    assert_eq!(matches.len(), found.count);
    matches
}

/// `path:line` of each match.
fn places(found: &Found) -> Vec<String> {
    let place = |found: &Value| format!("{}:{}", found["path"].as_str().unwrap(), found["line"]);
    matches(found).iter().map(place).collect()
}

/// All pages of a search, until there is no more.
async fn pages(repository: &Repository, search: &Search) -> Vec<String> {
    let mut search = search.clone();
    let mut all = Vec::new();
    for _ in 0..10_000 {
        let page = found(repository, search.clone()).await;
        all.extend(places(&page));
        assert_eq!(page.next.is_some(), page.cut.is_some());
        match page.next {
            None => return all,
            Some(next) => {
                assert_ne!(search.after.as_ref(), Some(&next), "a page gets on");
                search.after = Some(next);
            }
        }
    }
    panic!("the pages do not end");
}

async fn text(repository: &Repository, path: &str) -> Result<String, RepositoryError> {
    repository.read("p", Read::new(path, soon())).await.map(|excerpt| excerpt.text)
}

#[tokio::test]
async fn matches_come_in_the_order_of_paths_and_lines_with_their_places() {
    let tree = Tree::new(&[
        ("b.txt", "one\nneedle\nthree needle needle\n"),
        ("a/deep/x.rs", "ä needle\r\nno"),
        ("a.txt", "needle"),
        ("a0", "needle"),
    ]);
    let found = found(&tree.repository(), needle()).await;
    assert_eq!(places(&found), ["a.txt:1", "a/deep/x.rs:1", "a0:1", "b.txt:2", "b.txt:3"]);
    assert_eq!((found.cut, found.files, found.skipped), (None, 4, 0));
    let matches = matches(&found);
    let deep = &matches[1];
    assert_eq!(
        (&deep["column"], &deep["offset"], &deep["length"], &deep["text"]),
        (&4.into(), &3.into(), &6.into(), &"ä needle".into())
    );
    let last = &matches[4];
    assert_eq!((&last["column"], &last["offset"]), (&7.into(), &17.into()));
    let changed = last["modifiedAt"].as_str().unwrap();
    assert!(changed.starts_with("20") && changed.ends_with('Z'), "{changed}");
}

#[tokio::test]
async fn a_query_is_a_text_unless_it_is_said_to_be_a_pattern() {
    let tree = Tree::new(&[("a", "a.c\nabc\nABC\n(x\n^\n")]);
    let repository = tree.repository();
    for (query, syntax, case, expected) in [
        ("a.c", Syntax::Literal, Case::Sensitive, &["a:1"][..]),
        ("a.c", Syntax::Regex, Case::Sensitive, &["a:1", "a:2"]),
        ("a.c", Syntax::Regex, Case::Insensitive, &["a:1", "a:2", "a:3"]),
        ("abc", Syntax::Literal, Case::Smart, &["a:2", "a:3"]),
        ("ABC", Syntax::Literal, Case::Smart, &["a:3"]),
        ("^A", Syntax::Regex, Case::Sensitive, &["a:3"]),
        ("c$", Syntax::Regex, Case::Sensitive, &["a:1", "a:2"]),
        ("(", Syntax::Literal, Case::Sensitive, &["a:4"]),
        ("^", Syntax::Literal, Case::Sensitive, &["a:5"]),
    ] {
        let mut search = Search::new(query, soon());
        (search.syntax, search.case) = (syntax, case);
        assert_eq!(places(&found(&repository, search).await), expected, "{query}");
    }
}

#[tokio::test]
async fn a_pattern_that_cannot_be_searched_for_is_refused() {
    let tree = Tree::new(&[("a", "x")]);
    let repository = tree.repository();
    let long = "x".repeat(1025);
    for query in ["(", "a\\nb", "(?=x)", "(x)\\1", "(\\w{100}){100}", "", &long] {
        let mut search = Search::new(query, soon());
        search.syntax = Syntax::Regex;
        let error = repository.search("p", search).await.unwrap_err();
        assert!(matches!(error, RepositoryError::Pattern { .. }), "{query}: {error}");
    }
    let error = repository.search("p", Search::new("a\nb", soon())).await.unwrap_err();
    assert!(matches!(error, RepositoryError::Pattern { .. }), "{error}");
    let mut search = needle();
    search.path = Some("[z-a".to_owned());
    assert!(matches!(repository.search("p", search).await, Err(RepositoryError::PathFilter { .. })));
    assert_eq!(repository.search("q", needle()).await.unwrap_err(), RepositoryError::UnknownProject);
}

#[tokio::test]
async fn lines_around_a_match_are_given_once() {
    let tree = Tree::new(&[("a", "1\n2\nneedle 3\n4\nneedle 5\n6\n7\n8\n9\nneedle 10\n")]);
    let mut search = needle();
    search.context = 2;
    let all = matches(&found(&tree.repository(), search.clone()).await);
    let lines = |found: &Value, name: &str| {
        let lines = found[name].as_array().cloned().unwrap_or_default();
        lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (lines(&all[0], "before"), lines(&all[0], "after")),
        (vec!["1".into(), "2".into()], vec!["4".into()])
    );
    assert_eq!((lines(&all[1], "before"), lines(&all[1], "after")), (vec![], vec!["6".into(), "7".into()]));
    assert_eq!((lines(&all[2], "before"), lines(&all[2], "after")), (vec!["8".into(), "9".into()], vec![]));
    // The page after begins with what comes after the line of the page before.
    search.max_matches = 1;
    let repository = tree.repository();
    let first = found(&repository, search.clone()).await;
    search.after = first.next;
    let second = matches(&found(&repository, search).await);
    assert_eq!((&second[0]["line"], lines(&second[0], "before")), (&5.into(), vec!["4".to_owned()]));
}

#[tokio::test]
async fn what_is_no_utf_8_is_replaced_and_marked() {
    let tree = Tree::new(&[]);
    tree.write("latin.txt", b"caf\xe9 needle\nneedle\n");
    let repository = tree.repository();
    let matches = matches(&found(&repository, needle()).await);
    assert_eq!(
        (&matches[0]["text"], &matches[0]["invalidUtf8"]),
        (&"caf\u{fffd} needle".into(), &true.into())
    );
    assert_eq!((&matches[0]["column"], matches[1].get("invalidUtf8")), (&6.into(), None));
    let excerpt = repository.read("p", Read::new("latin.txt", soon())).await.unwrap();
    assert!(excerpt.replaced && excerpt.text.starts_with("caf\u{fffd}"));
}

#[tokio::test]
async fn a_checkout_that_is_replaced_is_noticed_and_one_that_is_gone_is_unavailable() {
    let tree = Tree::new(&[("a", "needle")]);
    let repository = tree.repository();
    assert_eq!(places(&found(&repository, needle()).await), ["a:1"]);
    fs::rename(tree.root(), tree.directory.path().join("old")).unwrap();
    let error = repository.search("p", needle()).await.unwrap_err();
    assert!(matches!(error, RepositoryError::Unavailable { .. }), "{error}");
    tree.write("b", "needle");
    assert_eq!(places(&found(&repository, needle()).await), ["b:1"]);
}

#[test]
fn a_root_that_cannot_be_used_says_why() {
    let tree = Tree::new(&[("file", "x")]);
    let root = |path: &Path| {
        let options = Options::new(vec![("p".to_owned(), path.to_owned())]);
        Repository::new(options).unwrap().probe("p")
    };
    assert_eq!(root(&tree.root()), Ok(fs::canonicalize(tree.root()).unwrap()));
    assert_eq!(root(&tree.root().join("none")), Err(RootFault::Missing));
    assert_eq!(root(&tree.root().join("file")), Err(RootFault::NotADirectory));
    tree.write(".gitignore", "x\n".repeat(100_000));
    assert_eq!(root(&tree.root()), Err(RootFault::Rules));
    let mut options = tree.options();
    options.exclude = vec!["*.pem".to_owned(), "a[".to_owned()];
    assert_eq!(Repository::new(options).unwrap_err(), OptionsFault::Exclude { index: 1 });
}
