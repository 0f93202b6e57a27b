#!/usr/bin/env bash
# make demo: the main job on any machine, without Docker. KEEP=1 leaves it up until Ctrl-C.
#
# Fetches the pinned Temporal CLI, builds hub, worker and sandbox, and runs the sandbox.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/tools.sh
printf 'building (the first time takes some minutes)\n'
cargo build --locked --package slurm-satellite --package hub --package sandbox --bins
exec target/debug/sandbox ${KEEP:+--keep}
