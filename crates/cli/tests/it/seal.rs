//! Fresh keys, a file that uses them, and the commands of `docs/artifacts.md`.

use super::support::{callgate, run, stdout};

const FILE: &str =
    "[server]\nname = \"billing\"\n\n[auth.local]\nprincipal = \"dana\"\ntenant = \"tenant-a\"\n\n";

#[test]
fn what_a_fresh_key_says_is_a_configuration_that_is_good() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["seal", "key"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    let key = text.lines().find_map(|line| line.strip_prefix("key  ")).unwrap();
    let table = &text[text.find("[seal]").unwrap()..];
    std::fs::write(directory.path().join("callgate.toml"), format!("{FILE}{table}")).unwrap();
    let check = |key: Option<&str>| {
        let mut command = callgate(directory.path());
        command.args(["check", "--strict"]).env_remove("CALLGATE_SEAL_KEY");
        key.map(|key| command.env("CALLGATE_SEAL_KEY", key));
        command.output().unwrap()
    };
    let good = check(Some(key));
    assert!(good.status.success(), "{}", stdout(&good));
    let missing = check(None);
    assert!(stdout(&missing).contains("missing_secret"), "{}", stdout(&missing));
    let wrong = check(Some("hunter2-hunter2"));
    assert!(stdout(&wrong).contains("invalid_key"), "{}", stdout(&wrong));
    assert!(!stdout(&wrong).contains("hunter2"), "{}", stdout(&wrong));
}

#[test]
fn a_key_in_a_file_is_not_shown_and_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["seal", "key", "--file", "seal.key", "--json"]);
    let line: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(line["file"], "seal.key");
    let key = std::fs::read_to_string(directory.path().join("seal.key")).unwrap();
    assert_eq!(key.trim_end().len(), 44);
    assert!(!stdout(&output).contains(key.trim_end()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(directory.path().join("seal.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let id = line["id"].as_str().unwrap();
    let table = format!("{FILE}[seal]\nkeys = [{{ id = \"{id}\", secret = \"file:seal.key\" }}]\n");
    std::fs::write(directory.path().join("callgate.toml"), table).unwrap();
    let check = run(directory.path(), &["check", "--strict"]);
    assert!(check.status.success(), "{}", stdout(&check));
    let again = run(directory.path(), &["seal", "key", "--file", "seal.key"]);
    assert_eq!(again.status.code(), Some(3));
    assert_eq!(std::fs::read_to_string(directory.path().join("seal.key")).unwrap(), key);
}

#[test]
fn every_command_of_the_chapter_works_as_it_is_written() {
    let page = include_str!("../../../../docs/artifacts.md");
    let blocks = |language: &str| {
        let open = format!("```{language}\n");
        let found = page.split(&open).skip(1).filter_map(|rest| rest.split("\n```").next());
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    let directory = tempfile::tempdir().unwrap();
    assert!(run(directory.path(), &["init"]).status.success());
    let file = directory.path().join("callgate.toml");
    let own = std::fs::read_to_string(&file).unwrap();
    let [tool] = &blocks("toml")[..] else { panic!("the page has other tables; adapt this test") };
    std::fs::write(&file, format!("{own}\n{tool}\n")).unwrap();
    let mut count = 0;
    for command in blocks("sh").iter().flat_map(|block| block.lines()) {
        let arguments: Vec<_> = command.strip_prefix("callgate ").unwrap().split(' ').collect();
        let output = run(directory.path(), &arguments);
        assert!(output.status.success(), "{command}: {}", stdout(&output));
        count += 1;
    }
    assert_eq!(count, 4, "the page has other commands; adapt this test");
    let checked = stdout(&run(directory.path(), &["check", "--strict"]));
    assert!(checked.contains("0 errors, 0 warnings"), "{checked}");
}
