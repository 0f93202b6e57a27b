#!/bin/bash
# Starts slurmrestd in the background and returns. Called by the entrypoint, and by a test that has ended it.
#
# env: DBD         1: there is a slurmdbd
#      REST_ARGS   its arguments; default: the plugins that this release and DBD need
set -u
RELEASE=$(slurmctld -V | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
LOG=/var/log/slurm/slurmrestd.log

# Without slurmdbd, its plugins end slurmrestd at once.
case $RELEASE.${DBD:-0} in
  22.*.0) plugins="-s v0.0.36,v0.0.37,v0.0.38" ;;
  22.*.1) plugins="-s v0.0.36,v0.0.37,v0.0.38,dbv0.0.36,dbv0.0.37,dbv0.0.38" ;;
  *.0) plugins="-s slurmctld" ;;
  *.1) plugins="-s slurmctld,slurmdbd" ;;
esac
touch $LOG
chown slurmrest: $LOG
# A container may not unshare namespaces: without the two flags slurmrestd ends at once.
# shellcheck disable=SC2086
setsid env SLURM_JWT=daemon SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files SLURMRESTD_DEBUG=3 \
  runuser -u slurmrest -- slurmrestd -a rest_auth/jwt ${REST_ARGS:-$plugins} 0.0.0.0:6820 \
  </dev/null >>$LOG 2>&1 &
