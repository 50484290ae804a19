//! What is never shown, to a search and to a reading alike.

use std::os::unix::fs::symlink;

use super::*;

/// Files that are shown, and all others, which hold the needle as well.
fn project() -> Tree {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n/build/\n!keep.log\nnode_modules\n"),
        (".ignore", "drafts/\n"),
        ("src/.gitignore", "generated.rs\n!again.log\n"),
        ("shown.txt", "needle"),
        ("src/main.rs", "needle"),
        ("src/build/also.rs", "needle"),
        ("keep.log", "needle"),
        ("src/again.log", "needle"),
        ("generated.rs", "needle"),
        // Not shown:
        (".env", "needle CANARY"),
        (".github/workflow.yml", "needle CANARY"),
        (".git/config", "needle CANARY"),
        (".git/info/exclude", "local.txt\n# needle CANARY\n"),
        ("src/.hidden/a.rs", "needle CANARY"),
        ("debug.log", "needle CANARY"),
        ("src/debug.log", "needle CANARY"),
        ("build/a.rs", "needle CANARY"),
        ("drafts/keep.log", "needle CANARY"),
        ("node_modules/a/index.js", "needle CANARY"),
        ("src/node_modules/index.js", "needle CANARY"),
        ("src/generated.rs", "needle CANARY"),
        ("local.txt", "needle CANARY"),
        ("certs/key.pem", "needle CANARY"),
    ]);
    tree.write("binary.dat", b"needle CANARY\0");
    tree.write("utf16.txt", [0xff, 0xfe, b'n', 0, b'e', 0]);
    tree.write("late.dat", [&b"needle CANARY\n".repeat(10_000)[..], &[0]].concat());
    symlink(tree.outside(), tree.root().join("link.txt")).unwrap();
    symlink(tree.directory.path().join("outside"), tree.root().join("linked")).unwrap();
    symlink(tree.root().join("src/main.rs"), tree.root().join("inside.rs")).unwrap();
    symlink("src", tree.root().join("folder")).unwrap();
    symlink("..", tree.root().join("src/up")).unwrap();
    symlink("loop", tree.root().join("loop")).unwrap();
    tree
}

fn shown(tree: &Tree) -> Repository {
    let mut options = tree.options();
    options.exclude = vec!["*.pem".to_owned()];
    Repository::new(options).unwrap()
}

#[tokio::test]
async fn ignored_hidden_excluded_and_binary_files_and_links_are_not_searched() {
    let tree = project();
    let found = found(&shown(&tree), needle()).await;
    assert_eq!(
        places(&found),
        [
            "generated.rs:1",
            "keep.log:1",
            "shown.txt:1",
            "src/again.log:1",
            "src/build/also.rs:1",
            "src/main.rs:1"
        ]
    );
    assert!(!found.json.contains(CANARY));
    // The three binary ones; what is ignored or hidden is not even counted.
    assert_eq!(found.skipped, 3);
}

#[tokio::test]
async fn what_a_search_does_not_show_is_not_read_and_both_agree_on_every_path() {
    let tree = project();
    let repository = shown(&tree);
    let shown = places(&found(&repository, needle()).await);
    let mut folders = vec![tree.root()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                folders.push(path.clone());
            }
            let name = path.strip_prefix(tree.root()).unwrap().to_str().unwrap().to_owned();
            let is_shown = shown.contains(&format!("{name}:1"));
            match text(&repository, &name).await {
                Ok(text) => assert!(is_shown && text == "needle", "{name}"),
                Err(RepositoryError::Binary) => assert!(!is_shown),
                Err(error) => {
                    assert!(!is_shown, "{name}");
                    assert_eq!(error, RepositoryError::NoSuchFile, "{name}");
                }
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
    // Through links, with and without a way back.
    for path in ["link.txt", "linked/secret.txt", "folder/main.rs", "src/up/shown.txt", "inside.rs", "loop/x"]
    {
        assert_eq!(text(&repository, path).await, Err(RepositoryError::NoSuchFile), "{path}");
    }
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_neither_opened_nor_waited_for() {
    let tree = Tree::new(&[("a.txt", "needle")]);
    let made = std::process::Command::new("mkfifo").arg(tree.root().join("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(tree.root().join("socket")).unwrap();
    symlink("/dev/zero", tree.root().join("zero")).unwrap();
    let repository = tree.repository();
    let work = async {
        assert_eq!(places(&found(&repository, needle()).await), ["a.txt:1"]);
        for path in ["pipe", "socket", "zero"] {
            assert_eq!(text(&repository, path).await, Err(RepositoryError::NoSuchFile), "{path}");
        }
    };
    tokio::time::timeout(Duration::from_secs(20), work).await.unwrap();
}

#[tokio::test]
async fn a_folder_whose_rules_cannot_be_read_is_not_shown() {
    let tree = Tree::new(&[("a/x", "needle"), ("b/x", "needle"), ("c/x", "needle"), ("d", "needle")]);
    tree.write("b/.gitignore", "y\n".repeat(100_000));
    symlink(tree.outside(), tree.root().join("c/.ignore")).unwrap();
    let repository = tree.repository();
    let found = found(&repository, needle()).await;
    assert_eq!((places(&found), found.skipped), (vec!["a/x:1".into(), "d:1".into()], 2));
    assert_eq!(text(&repository, "b/x").await, Err(RepositoryError::NoSuchFile));
    assert_eq!(text(&repository, "c/x").await, Err(RepositoryError::NoSuchFile));
}

#[tokio::test]
async fn names_that_are_no_text_are_counted_and_not_shown() {
    use std::os::unix::ffi::OsStrExt as _;

    let tree = Tree::new(&[("a", "needle"), ("back\\slash", "needle"), ("a b\u{202e}", "needle")]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(tree.root().join(name), "needle CANARY").unwrap();
    let repository = tree.repository();
    let found = found(&repository, needle()).await;
    assert_eq!((places(&found).len(), found.skipped), (3, 1));
    assert_eq!(text(&repository, "back\\slash").await.unwrap(), "needle");
    assert_eq!(text(&repository, "caf\u{fffd}").await, Err(RepositoryError::NoSuchFile));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    let tree = Tree::new(&[("real/secret.txt", "needle inside"), ("z.txt", "needle")]);
    let (folder, spare) = (tree.root().join("real"), tree.directory.path().join("spare"));
    let outside = tree.directory.path().join("outside");
    let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stop = Arc::clone(&ended);
    let swapper = std::thread::spawn(move || {
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            fs::rename(&folder, &spare).unwrap();
            symlink(&outside, &folder).unwrap();
            fs::remove_file(&folder).unwrap();
            fs::rename(&spare, &folder).unwrap();
        }
    });
    let repository = tree.repository();
    let (mut inside, mut refused) = (0, 0);
    for _ in 0..300 {
        let found = found(&repository, needle()).await;
        assert!(!found.json.contains(CANARY), "{}", found.json);
        match text(&repository, "real/secret.txt").await {
            Ok(text) => {
                assert!(!text.contains(CANARY));
                inside += 1;
            }
            Err(error) => {
                assert_eq!(error, RepositoryError::NoSuchFile);
                refused += 1;
            }
        }
    }
    ended.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(inside + refused == 300);
}
