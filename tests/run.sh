#!/usr/bin/env bash
# make test: everything, the real services included, on a machine that has nothing yet.
#
# Image builds (bound by the network) run beside the compiler; both are joined before the tests. What each
# part took is printed as it ends. The first failure ends the run with the part's name and its log's tail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p target
STARTED=$SECONDS

say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - STARTED)); }

say "tools"
tests/tools.sh

say "docker engine and images: building beside the compiler, log in target/images.log"
(tests/images/engine.sh && tests/images/build.sh) >target/images.log 2>&1 &
IMAGES=$!
trap 'kill "$IMAGES" 2>/dev/null || true' EXIT

say "format and lints"
cargo fmt --check
.venv/bin/buf lint
cargo clippy --workspace --all-targets --locked -- -D warnings

say "build"
cargo build --workspace --all-targets --locked

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --quiet --locked

say "waiting for the images"
if ! wait "$IMAGES"; then
  tail -n 40 target/images.log >&2
  echo "the images could not be built; the tail of target/images.log is above" >&2
  exit 1
fi
tail -n 4 target/images.log

say "tests"
cargo test --workspace --locked
say "all passed"
