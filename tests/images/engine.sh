#!/usr/bin/env bash
# Makes sure that a Docker engine answers, because every image and every integration test needs one.
#
# An engine that answers is left alone. Where none does, on a Debian-like system and as root, Debian's own
# docker.io is installed and its daemon started, detached, so that it outlives this script. Everywhere else
# the script says what to do and fails. Running it twice is running it once.
set -euo pipefail

LOG=${SLURM_SATELLITE_DOCKERD_LOG:-/var/log/slurm-satellite-dockerd.log}
PID_FILE=/var/run/docker.pid
LOCK=/run/lock/slurm-satellite-engine.lock
READY_CEILING=60

say() { printf 'engine: %s\n' "$*"; }
fail() { printf 'engine: %s\n' "$*" >&2; exit 1; }

answers() { command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1; }

say_it_answers() {
  say "docker engine $(docker version --format '{{.Server.Version}}') answers"
}

# The client alone is not enough: a machine may have the docker command and no daemon.
missing_packages() {
  command -v dockerd >/dev/null || echo docker.io
  command -v docker >/dev/null || echo docker.io
  command -v iptables >/dev/null || echo iptables
  command -v debootstrap >/dev/null || echo debootstrap
}

install_packages() {
  local packages
  packages=$(missing_packages | sort -u | tr '\n' ' ')
  [ -n "$packages" ] || return 0
  say "installing $packages(about a minute)"
  local log started=$SECONDS
  log=$(mktemp)
  # One unreachable third-party source must not stop an install that Debian's own archive can serve.
  apt-get update -qq >"$log" 2>&1 || say "apt-get update complained; going on with the lists there are"
  # The package's own start of the daemon is not wanted: this script starts it, where its log can be found.
  # shellcheck disable=SC2086
  if ! DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
      apt-get install -y -qq --no-install-recommends $packages >>"$log" 2>&1; then
    tail -n 30 "$log" >&2
    fail "apt-get could not install $packages"
  fi
  rm -f "$log"
  say "installed in $((SECONDS - started)) s"
}

# After kill -9 or a reboot the pid file can name a process that is gone or that is somebody else.
drop_stale_pid_file() {
  [ -s "$PID_FILE" ] || return 0
  local pid
  pid=$(cat "$PID_FILE")
  if [ "$(cat "/proc/$pid/comm" 2>/dev/null || true)" != dockerd ]; then
    say "removing a stale pid file ($PID_FILE names $pid, which is no dockerd)"
    rm -f "$PID_FILE"
  fi
}

# A daemon that was just killed can be seen for a moment as a zombie: that one does not run.
daemon_runs() { ps -C dockerd -o stat= | grep -qv '^Z'; }

start_daemon() {
  drop_stale_pid_file
  say "starting dockerd, log in $LOG"
  # The lock (file descriptor 9) must not be inherited, or the daemon would hold it for ever.
  setsid nohup dockerd >>"$LOG" 2>&1 </dev/null 9>&- &
  disown
  sleep 1 # until the process bears its name
}

# One that runs may be on its way up or on its way out, so a daemon that is gone is started here; twice at most.
wait_until_it_answers() {
  local started=$SECONDS starts=0
  until answers; do
    if [ $((SECONDS - started)) -ge "$READY_CEILING" ]; then
      tail -n 30 "$LOG" >&2 || true
      fail "no answer after $READY_CEILING s; the tail of $LOG is above"
    fi
    if ! daemon_runs; then
      if [ "$starts" = 2 ]; then
        tail -n 30 "$LOG" >&2 || true
        fail "dockerd ended twice; the tail of $LOG is above"
      fi
      starts=$((starts + 1))
      start_daemon
    fi
    sleep 0.3
  done
  say "ready after $((SECONDS - started)) s"
}

if answers; then
  say_it_answers
  exit 0
fi
[ "$(id -u)" = 0 ] || fail "no Docker engine answers, and only root can start one here. Start your engine (for example: sudo systemctl start docker), see that 'docker info' works for this user, and run this again."
[ -e /etc/debian_version ] || fail "no Docker engine answers, and this script knows only how to install one on Debian and its kin. Install and start Docker, see that 'docker info' works, and run this again."
[ -z "${DOCKER_HOST:-}" ] || fail "DOCKER_HOST is set, to an engine that does not answer. Mend it or unset it."

exec 9>"$LOCK"
flock 9
if answers; then # another run was faster
  say_it_answers
  exit 0
fi
install_packages
wait_until_it_answers
say_it_answers
