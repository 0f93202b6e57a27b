//! How the satellite speaks to the world: SLURM, OpenStack, the hub.
