//! What goes over the wire: every request is kept, and faults are put in.
//!
//! *Invariant*: what is kept is masked; a request is in the log from the moment it arrives, in the
//! order of arrival.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::fault::{Answer, Fault, Faults};
use crate::mask;

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// slurmrestd.
    Slurmrestd,
    /// Keystone.
    Keystone,
    /// Glance.
    Glance,
    /// Nova.
    Nova,
    /// A service of the test's own, put behind the same wire by [`Wire::beside`].
    Beside(&'static str),
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slurmrestd => "slurmrestd",
            Self::Keystone => "keystone",
            Self::Glance => "glance",
            Self::Nova => "nova",
            Self::Beside(name) => name,
        })
    }
}

/// A request that was made. Displayed as a line of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Who was asked.
    pub service: Service,
    /// Such as `GET`.
    pub method: String,
    /// The path, as sent.
    pub path: String,
    /// The query, as sent, without its `?`.
    pub query: String,
    /// The status of the answer; none while it is not answered, or when the answer was lost.
    pub status: Option<u16>,
    /// The body, masked; a string with its length where it is not JSON.
    pub body: Option<Value>,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.service, self.method, self.path)?;
        if !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        if let Some(body) = &self.body {
            write!(f, " {body}")?;
        }
        match self.status {
            Some(status) => write!(f, " -> {status}"),
            None => f.write_str(" -> nothing"),
        }
    }
}

/// The wire of one fake, or of all that were started together. A handle: clones are the same wire.
#[derive(Debug, Clone)]
pub struct Wire(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    ticks: watch::Sender<u64>,
    /// Counted up at each release.
    released: watch::Sender<u64>,
    held: watch::Sender<usize>,
    pace: OnceLock<Pace>,
}

/// What is done before each request is answered.
struct Pace(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pace")
    }
}

#[derive(Debug, Default)]
struct State {
    log: Vec<Request>,
    /// How many of the log were forgotten.
    forgotten: usize,
    faults: Faults,
}

impl Wire {
    pub(crate) fn new() -> Self {
        let (ticks, released, held) = (watch::Sender::new(0), watch::Sender::new(0), watch::Sender::new(0));
        let pace = OnceLock::new();
        Self(Arc::new(Inner { state: Mutex::default(), ticks, released, held, pace }))
    }

    /// Every request so far, or since [`Self::forget`].
    #[must_use]
    pub fn log(&self) -> Vec<Request> {
        self.state().log.clone()
    }

    /// The same, a line each, fit for a snapshot: ids are named in the order of their appearance.
    #[must_use]
    pub fn conversation(&self) -> String {
        let lines: String = self.state().log.iter().map(|r| format!("{r}\n")).collect();
        mask::normalised(&lines)
    }

    /// Empties the log.
    pub fn forget(&self) {
        let mut state = self.state();
        state.forgotten += state.log.len();
        state.log.clear();
    }

    /// Puts in a fault.
    pub fn fault(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// How many faults have not happened yet.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.state().faults.left()
    }

    /// Lets go what hangs now.
    pub fn release(&self) {
        self.0.released.send_modify(|n| *n += 1);
    }

    /// Returns once a request is held, by [`Answer::Hang`], [`Answer::DoneButHeld`] or [`Answer::Delay`].
    pub async fn until_held(&self) {
        // an error would be a sender that is gone; it lives as long as this handle
        let _ = self.0.held.subscribe().wait_for(|held| *held > 0).await;
    }

    /// From now on this is done before each request is answered. The first one stays.
    pub(crate) fn pace(&self, pace: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.pace.set(Pace(Box::new(pace)));
    }

    pub(crate) fn keep_pace(&self) {
        if let Some(pace) = self.0.pace.get() {
            (pace.0)();
        }
    }

    pub(crate) fn tick(&self) {
        self.0.ticks.send_modify(|n| *n += 1);
    }

    /// Keeps a request; its number, and the fault that is due.
    pub(crate) fn arrived(&self, request: Request) -> (usize, Option<Answer>) {
        let mut state = self.state();
        let fault = state.faults.take(request.service, &request.method, &request.path);
        state.log.push(request);
        (state.forgotten + state.log.len() - 1, fault)
    }

    pub(crate) fn answered(&self, number: usize, status: u16) {
        let mut state = self.state();
        let forgotten = state.forgotten;
        if let Some(request) = number.checked_sub(forgotten).and_then(|at| state.log.get_mut(at)) {
            request.status = Some(status);
        }
    }

    pub(crate) async fn hold_until_released(&self) {
        let mut released = self.0.released.subscribe();
        let now = *released.borrow();
        let _held = Held::new(&self.0.held);
        let _ = released.wait_for(|n| *n > now).await;
    }

    pub(crate) async fn hold_for_ticks(&self, many: u64) {
        let mut ticks = self.0.ticks.subscribe();
        let due = *ticks.borrow() + many;
        let _held = Held::new(&self.0.held);
        let _ = ticks.wait_for(|n| *n >= due).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a held request, also when its caller hangs up.
struct Held<'a>(&'a watch::Sender<usize>);

impl<'a> Held<'a> {
    fn new(held: &'a watch::Sender<usize>) -> Self {
        held.send_modify(|n| *n += 1);
        Self(held)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}
