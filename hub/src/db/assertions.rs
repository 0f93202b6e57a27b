//! Client assertions that were used: each is good once.

use jiff::Timestamp;
use model::PrincipalId;
use tokio_rusqlite::rusqlite::params;

use super::{Error, Store};

impl Store {
    /// Notes an assertion; `false` when it was used before. Forgets those that ended over a minute
    /// ago.
    pub(crate) async fn use_assertion(
        &self,
        client: &PrincipalId,
        jti: &str,
        expires: i64,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let (client, jti) = (client.to_string(), jti.to_owned());
        self.write(move |t| {
            t.execute("DELETE FROM assertions WHERE expires < ?", [now.as_second() - 60])?;
            let new = t.execute(
                "INSERT OR IGNORE INTO assertions (client_id, jti, expires) VALUES (?, ?, ?)",
                params![client, jti, expires],
            )?;
            Ok(new == 1)
        })
        .await
    }
}
