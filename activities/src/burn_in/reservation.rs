//! The reservation that keeps the node for the burn-in user, where the release makes them by REST.

use clients::slurm::{NewReservation, Reservation};

use super::BurnIn;
use crate::wait::{Look, patiently, until};
use crate::{Code, Failure};

/// It lasts longer than the job by this: looks, queues, a worker that was away.
const BEYOND: u64 = 3_600;

impl BurnIn<'_> {
    /// The name by which it is found: its job's. The device is in it, since two of a site may be given the
    /// same request id.
    fn reservation_name(&self) -> String {
        self.job_name()
    }

    /// The reservation, made and read back; `None` where the release makes none.
    pub(super) async fn ensure_reserved(&self) -> Result<Option<String>, Failure> {
        self.attempt.step("reserve_node", Code::BurnInNotRun)?;
        let (world, attempt, name) = (self.world, self.attempt, self.reservation_name());
        if !patiently(world, attempt, || world.slurm.dialect()).await?.reservations {
            return Ok(None);
        }
        let seconds = self.time_limit().as_secs() + BEYOND;
        let new = NewReservation {
            name: name.clone(),
            user: self.settings.user.clone(),
            node: self.name.clone(),
            seconds,
        };
        until(world, attempt, || async {
            let found = world.slurm.reservations().await?.into_iter().find(|r| r.name == name);
            match found {
                Some(there) if self.serves(&there, world.slurm.now().await?) => return Ok(Look::Ready(())),
                Some(_) => {
                    world.slurm.delete_reservation(&name).await?;
                }
                None => {}
            }
            attempt.check()?;
            world.slurm.create_reservation(&new).await?;
            Ok(Look::NotYet(format!("reservation {name} to show")))
        })
        .await?;
        Ok(Some(name))
    }

    /// It keeps everybody else off this node, for as long as the job may take from now on.
    fn serves(&self, there: &Reservation, now: i64) -> bool {
        let flag = |f: &str| there.flags.iter().any(|g| g == f);
        let limit = i64::try_from(self.time_limit().as_secs()).unwrap_or(i64::MAX);
        let lasts = there.end_time > now.saturating_add(limit);
        there.users == [self.settings.user.clone()]
            && there.nodes.len() == 1
            && there.nodes.contains(self.name.as_str())
            && flag("MAINT")
            && flag("IGNORE_JOBS")
            && lasts
    }

    /// Deletes it; whether there was one. Refused while a job is in it, and then tried again.
    pub(super) async fn remove_reservation(&self) -> Result<bool, Failure> {
        let (world, attempt, name) = (self.world, self.attempt, self.reservation_name());
        if !patiently(world, attempt, || world.slurm.dialect()).await?.reservations {
            return Ok(false);
        }
        attempt.step("remove_reservation", Code::BurnInUnknown)?;
        until(world, attempt, || async {
            if !world.slurm.reservations().await?.iter().any(|r| r.name == name) {
                return Ok(Look::Ready(false));
            }
            attempt.check()?;
            world.slurm.delete_reservation(&name).await?;
            Ok(Look::Ready(true))
        })
        .await
    }
}
