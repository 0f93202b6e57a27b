//! What something looked like at every change, while something else goes on.

use std::time::Duration;

use tokio::sync::watch;

/// What each thing looked like, at every change, until the watch is dropped.
pub(crate) struct Watching<T> {
    task: tokio::task::JoinHandle<Vec<T>>,
    stop: watch::Sender<bool>,
}

impl<T: PartialEq + Send + 'static> Watching<T> {
    pub(crate) fn start<F>(mut look: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Option<T>> + Send,
    {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut seen: Vec<T> = Vec::new();
            while !*stopped.borrow() {
                if let Some(now) = look().await.filter(|now| seen.last() != Some(now)) {
                    seen.push(now);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            seen
        });
        Self { task, stop }
    }

    pub(crate) async fn end(self) -> Vec<T> {
        self.stop.send_replace(true);
        self.task.await.unwrap()
    }
}
