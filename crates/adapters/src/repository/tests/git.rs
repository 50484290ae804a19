//! The commit of a checkout, from files that git wrote and from hostile ones.

use std::os::unix::fs::symlink;

use super::*;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

async fn revision(tree: &Tree) -> Option<String> {
    let searched = found(&tree.repository(), needle()).await.revision;
    let read = tree.repository().read("p", Read::new("a", soon())).await.unwrap().revision;
    assert_eq!(searched, read);
    searched
}

fn tree(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new(files);
    tree.write("a", "needle");
    tree
}

#[tokio::test]
async fn the_commit_is_found_behind_loose_packed_and_detached_references() {
    let some = |id: &str| Some(id.to_owned());
    let loose =
        tree(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/refs/heads/main", &format!("{ONE}\n"))]);
    assert_eq!(revision(&loose).await, some(ONE));
    let packed = format!(
        "# pack-refs with: peeled fully-peeled sorted\n{ONE} refs/heads/maintenance\n{TWO} refs/heads/main\n^{ONE}\n"
    );
    let both = tree(&[(".git/HEAD", "ref: refs/heads/main"), (".git/packed-refs", &packed)]);
    assert_eq!(revision(&both).await, some(TWO));
    // A reference with a file of its own is newer than the packed one.
    both.write(".git/refs/heads/main", ONE);
    assert_eq!(revision(&both).await, some(ONE));
    assert_eq!(revision(&tree(&[(".git/HEAD", ONE)])).await, some(ONE));
    let long = "AB".repeat(32);
    assert_eq!(revision(&tree(&[(".git/HEAD", &long)])).await, Some(long.to_lowercase()));
    let deep = tree(&[
        (".git/HEAD", "ref: refs/heads/team/topic"),
        (".git/refs/heads/team/topic", "ref: refs/remotes/origin/main"),
        (".git/refs/remotes/origin/main", TWO),
    ]);
    assert_eq!(revision(&deep).await, some(TWO));
}

#[tokio::test]
async fn a_commit_that_is_not_below_the_root_or_no_commit_is_not_known() {
    for files in [
        &[][..],
        &[(".git", "gitdir: ../outside\n")],
        &[(".git/HEAD", "ref: refs/heads/unborn")],
        &[(".git/HEAD", "ref: refs/heads/.invalid")],
        &[(".git/HEAD", "ref: refs/../../../outside/secret.txt")],
        &[(".git/HEAD", "ref: /etc/passwd")],
        &[(".git/HEAD", "ref: HEAD")],
        &[(".git/HEAD", "ref: refs/heads/a"), (".git/refs/heads/a", "ref: refs/heads/a")],
        &[(".git/HEAD", "needle CANARY")],
        &[(".git/HEAD", "11111")],
        &[(".git/HEAD", "")],
    ] {
        assert_eq!(revision(&tree(files)).await, None, "{files:?}");
    }
    let linked = tree(&[]);
    fs::create_dir(linked.directory.path().join("outside/git")).unwrap();
    fs::write(linked.directory.path().join("outside/git/HEAD"), ONE).unwrap();
    symlink("../outside/git", linked.root().join(".git")).unwrap();
    assert_eq!(revision(&linked).await, None);
    let head = tree(&[(".git/x", "")]);
    symlink("../../outside/git/HEAD", head.root().join(".git/HEAD")).unwrap();
    assert_eq!(revision(&head).await, None);
    let huge = tree(&[(".git/HEAD", "ref: refs/heads/main")]);
    huge.write(".git/packed-refs", format!("{ONE} refs/heads/other\n").repeat(200_000));
    assert_eq!(revision(&huge).await, None);
}

#[tokio::test]
async fn the_commit_of_a_checkout_that_git_made_is_the_one_git_says() {
    let tree = tree(&[]);
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(tree.root())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output();
        output.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    // The commit is read without git, so a machine without it has nothing to compare with.
    if git(&["init"]).is_err() {
        return;
    }
    git(&["add", "a"]).unwrap();
    git(&["commit", "-m", "one"]).unwrap();
    let head = git(&["rev-parse", "HEAD"]).unwrap();
    assert_eq!(head.len(), 40);
    assert_eq!(revision(&tree).await, Some(head.clone()));
    git(&["pack-refs", "--all"]).unwrap();
    assert_eq!(revision(&tree).await, Some(head.clone()));
    git(&["checkout", "--detach"]).unwrap();
    assert_eq!(revision(&tree).await, Some(head));
}
