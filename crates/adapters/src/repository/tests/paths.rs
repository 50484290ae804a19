//! Paths that nobody means well with, chosen at random, never leave the root.

use std::os::unix::fs::symlink;

use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};

use super::*;

/// Steps of a path that lead somewhere: out, round, through links, or to what is hidden.
fn step() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        Just("outside".to_owned()),
        Just("secret.txt".to_owned()),
        Just("root".to_owned()),
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("shown.txt".to_owned()),
        Just("link".to_owned()),
        Just("up".to_owned()),
        Just("absolute".to_owned()),
        Just("proc".to_owned()),
        Just(".git".to_owned()),
        Just(".env".to_owned()),
        Just("ignored".to_owned()),
        Just("..\\outside".to_owned()),
        Just("%2e%2e".to_owned()),
        Just("a\0".to_owned()),
        Just("\u{ff0e}\u{ff0e}".to_owned()),
        "\\PC{0,6}",
    ]
}

fn hostile() -> Tree {
    let tree = Tree::new(&[
        ("shown.txt", "fine"),
        ("a/shown.txt", "fine"),
        ("a/b/shown.txt", "fine"),
        (".git/secret.txt", CANARY),
        (".env", CANARY),
        (".gitignore", "ignored\n"),
        ("ignored/secret.txt", CANARY),
    ]);
    let outside = tree.directory.path().join("outside");
    for (link, target) in [
        ("link", outside.clone()),
        ("a/link", PathBuf::from("../../outside")),
        ("a/b/secret.txt", outside.join("secret.txt")),
        ("up", PathBuf::from("..")),
        ("a/up", PathBuf::from("../..")),
        ("absolute", PathBuf::from("/")),
        ("proc", PathBuf::from("/proc/self/cwd")),
        ("b", PathBuf::from(".git")),
    ] {
        symlink(target, tree.root().join(link)).unwrap();
    }
    tree
}

proptest! {
    #[test]
    fn random_paths_never_leave_the_root(steps in proptest::collection::vec(step(), 1..8), lead in any::<bool>()) {
        thread_local! {
            static PLACE: (Tree, Repository, tokio::runtime::Runtime) = {
                let tree = hostile();
                let repository = tree.repository();
                (tree, repository, tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap())
            };
        }
        PLACE.with(|(tree, repository, runtime)| {
            let mut path = steps.join("/");
            if lead {
                path = format!("{}/{path}", tree.root().display());
            }
            let allowed = ["shown.txt", "a/shown.txt", "a/b/shown.txt"].contains(&path.as_str());
            match runtime.block_on(text(repository, &path)) {
                Ok(text) => prop_assert!(allowed && text == "fine", "{path:?} gave {text:?}"),
                Err(error) => prop_assert!(!allowed && error == RepositoryError::NoSuchFile, "{path:?}: {error}"),
            }
            // As a filter of a search a path narrows what is shown and adds nothing.
            let mut search = Search::new(CANARY, soon());
            search.path = Some(path.clone());
            match runtime.block_on(repository.search("p", search)) {
                Ok(found) => prop_assert!(found.count == 0, "{path:?}: {}", found.json),
                Err(error) => prop_assert!(matches!(error, RepositoryError::PathFilter { .. }), "{path:?}: {error}"),
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_path_of_many_thousand_steps_is_no_file() {
    let tree = hostile();
    for path in ["a/".repeat(10_000), "../".repeat(10_000), "x".repeat(100_000), "/".repeat(5000)] {
        assert_eq!(text(&tree.repository(), &path).await, Err(RepositoryError::NoSuchFile));
    }
}
