//! The clients against recorded answers, over HTTP, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod fake;
mod hub;
mod hub_oauth;
mod openstack;
mod openstack_names;
mod openstack_rebuild;
mod openstack_servers;
mod slurm;
mod slurm_absence;
mod slurm_accounting;
mod slurm_jobs;
mod slurm_older;
mod slurm_oldest;
mod slurm_records;
mod slurm_reservations;
mod slurm_shapes;
mod slurm_token;
