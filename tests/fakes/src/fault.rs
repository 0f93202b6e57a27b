//! What goes wrong, as data.

use serde_json::Value;

use crate::wire::Service;

/// One request that goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Whose requests are counted; none: everybody's.
    pub service: Option<Service>,
    /// `POST`; `*` is any.
    pub method: String,
    /// The path; each `*` stands for any run of characters, slashes too: `/v2.1/servers/*`.
    pub path: String,
    /// The how-manieth of the requests that fit, from 1, counted from when the fault was put in.
    pub nth: usize,
    /// What happens.
    pub answer: Answer,
}

/// What happens in place of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Nothing is done, and this is answered: JSON, or plain text for a string.
    Status {
        /// The HTTP status.
        code: u16,
        /// The body.
        body: Value,
    },
    /// It is done, and this is answered all the same.
    DoneButStatus {
        /// The HTTP status.
        code: u16,
        /// The body.
        body: Value,
    },
    /// It is done, and the connection is closed in the middle of the answer.
    Cut,
    /// It is done, and the connection is closed without an answer.
    DoneButLost,
    /// Nothing is done, and the connection is closed without an answer.
    Lost,
    /// It is held until [`Wire::release`](crate::Wire::release), and done then. A caller who hangs
    /// up before that has had nothing done.
    Hang,
    /// It is done, and its answer is held until [`Wire::release`](crate::Wire::release).
    DoneButHeld,
    /// It is held for so many ticks, and done then.
    Delay(u64),
    /// It is done, and answered one byte at a time.
    OneByte,
}

impl Fault {
    /// The next request of `service` that fits.
    pub fn on(service: Service, method: &str, path: &str, answer: Answer) -> Self {
        Self { service: Some(service), method: method.to_owned(), path: path.to_owned(), nth: 1, answer }
    }

    /// The nth request of all, whatever it is: for breaking an operation at every step.
    #[must_use]
    pub fn at(nth: usize, answer: Answer) -> Self {
        Self { service: None, method: "*".to_owned(), path: "*".to_owned(), nth, answer }
    }

    /// The same, for the nth of them.
    #[must_use]
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth;
        self
    }

    fn fits(&self, service: Service, method: &str, path: &str) -> bool {
        self.service.is_none_or(|s| s == service)
            && (self.method == "*" || self.method == method)
            && fits(&self.path, path)
    }
}

/// Faults to come, each with how many requests it has let pass.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<(Fault, usize)>);

impl Faults {
    pub(crate) fn push(&mut self, fault: Fault) {
        self.0.push((fault, 0));
    }

    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    /// Counts a request for every fault that it fits; the first that is due is taken.
    pub(crate) fn take(&mut self, service: Service, method: &str, path: &str) -> Option<Answer> {
        let mut due = None;
        for (at, (fault, seen)) in self.0.iter_mut().enumerate() {
            if fault.fits(service, method, path) {
                *seen += 1;
                if due.is_none() && *seen >= fault.nth {
                    due = Some(at);
                }
            }
        }
        due.map(|at| self.0.remove(at).0.answer)
    }
}

/// Whether `text` is `pattern`, each `*` of which stands for any run of characters.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| fits(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_run() {
        for (pattern, text, expected) in [
            ("/v2.1/servers", "/v2.1/servers", true),
            ("/v2.1/servers", "/v2.1/servers/1", false),
            ("/v2.1/servers/*", "/v2.1/servers/1", true),
            ("/v2.1/servers/*", "/v2.1/servers", false),
            ("*", "/anything", true),
            ("*/node/*", "/slurm/v0.0.45/node/n1", true),
            ("*/nodes", "/slurm/v0.0.45/node/n1", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn every_fault_counts_for_itself_and_fires_once() {
        let mut faults = Faults::default();
        faults.push(Fault::on(Service::Nova, "GET", "/a", Answer::Cut).nth(2));
        faults.push(Fault::at(2, Answer::Lost));
        assert_eq!(faults.take(Service::Nova, "GET", "/a"), None);
        assert_eq!(faults.take(Service::Nova, "GET", "/a"), Some(Answer::Cut));
        assert_eq!(faults.take(Service::Slurmrestd, "GET", "/b"), Some(Answer::Lost));
        assert_eq!((faults.take(Service::Nova, "GET", "/a"), faults.left()), (None, 0));
    }
}
