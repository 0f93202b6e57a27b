#!/usr/bin/env bash
# make demo: the main job on any machine, without Docker. KEEP=1 leaves it up until Ctrl-C.
# make demo-real: the same with --real, on real SLURM and OpenStack; Docker is installed where it can be.
#
# Fetches the pinned Temporal CLI, builds the images if they are needed, hub, worker and sandbox, and runs
# the sandbox.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/tools.sh
if [ "${1:-}" = --real ]; then
  tests/images/engine.sh
  tests/images/build.sh
fi
printf 'building (the first time takes some minutes)\n'
cargo build --locked --package slurm-satellite --package hub --package sandbox --bins
exec target/debug/sandbox "$@" ${KEEP:+--keep}
