//! The demo as a child: what it says, how it is stopped, and that nothing is left of it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const PORTS: [u16; 4] = [7233, 8233, 8080, 9464];
/// A child that is told to end takes a moment, and so do its containers.
const CEILING: Duration = Duration::from_secs(30);

/// One demo at a time: its ports are fixed.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn demo(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Everything it says, to its end.
pub(crate) fn whole(mut child: Child) -> (String, Option<i32>) {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (text, child.wait().unwrap().code())
}

/// Reads until it has said this; what it has said, and from where the rest comes.
pub(crate) fn until(child: &mut Child, words: &str) -> (String, BufReader<ChildStdout>) {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains(words) {
        assert_ne!(reader.read_line(&mut text).unwrap(), 0, "it ended without {words:?}: {text}");
    }
    (text, reader)
}

pub(crate) fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Nobody listens on any of its ports.
pub(crate) fn assert_nothing_is_left() {
    until_none("ports that are taken", || {
        PORTS.into_iter().filter(|p| TcpListener::bind(("127.0.0.1", *p)).is_err()).collect()
    });
}

/// Looks until there is none.
pub(crate) fn until_none<T: std::fmt::Debug>(what: &str, look: impl Fn() -> Vec<T>) {
    let started = Instant::now();
    loop {
        let left = look();
        if left.is_empty() {
            return;
        }
        assert!(started.elapsed() < CEILING, "{what}: {left:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
