#!/usr/bin/env bash
# make idle: what an idle worker takes, memory and CPU. What is measured, against what, is said as it runs.
#
# The worker is the release build, which takes ten minutes of both cores the first time; the rest is as
# in make demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/tools.sh
printf 'building the release worker (the first time takes ten minutes)\n'
cargo build --release --locked --package slurm-satellite
printf 'building the sandbox\n'
cargo build --locked --package slurm-satellite --package hub --package sandbox --bins
exec target/debug/sandbox --idle target/release/satellite
