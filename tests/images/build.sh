#!/usr/bin/env bash
# Builds the container images that the integration tests start: build.sh [NAME…], see ALL for the names.
#
# An image is named by the hash of what goes into it, so an unchanged image is never built twice, and a test
# can never run against an old one: it reads the names from target/images.json, which this script writes.
# Base images are pulled where a registry answers, else made with debootstrap from the machine's own mirror.
#
# env: SLURM_SATELLITE_MIRROR   Debian mirror for debootstrap; default: the first one in this machine's apt sources
#      SLURM_SATELLITE_PULL_S   seconds to wait for a registry before debootstrap is used; default 20
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TARGET=$(cd "$HERE/../.." && pwd)/target
LOGS=$TARGET/image-logs
ALL="slurm-26.05 slurm-24.11 slurm-22.05 openstack node-26.05 node-24.11 openstack-bookworm
  slurm-26.05-dbd slurm-24.11-dbd slurm-22.05-dbd"
PREFIX=slurm-satellite

say() { printf 'build: %s\n' "$*"; }
fail() { printf 'build: %s\n' "$*" >&2; exit 1; }

# --- what each image is made of -------------------------------------------------------------------------------

context_of() {
  case $1 in
    slurm-26.05 | slurm-24.11 | slurm-22.05) echo "$HERE/slurm" ;; # one recipe, three releases
    slurm-*-dbd) echo "$HERE/slurm-dbd" ;;
    openstack | openstack-bookworm) echo "$HERE/openstack" ;;
    node-26.05 | node-24.11) echo "$HERE/node" ;;
    *) fail "no image is called '$1'; there are: $ALL" ;;
  esac
}

# Either base:SUITE, or another image of ours.
base_of() {
  case $1 in
    slurm-26.05) echo base:forky ;; # forky and not sid: the same SLURM package, fewer surprises
    slurm-24.11) echo base:trixie ;;
    slurm-22.05) echo base:bookworm ;;
    slurm-*-dbd) echo "${1%-dbd}" ;;
    openstack) echo base:trixie ;; # Nova 31
    openstack-bookworm) echo base:bookworm ;; # Nova 26
    node-26.05) echo slurm-26.05 ;;
    node-24.11) echo slurm-24.11 ;;
  esac
}

# Whether the image rests on this suite, at whatever depth.
suite_is() {
  local base
  base=$(base_of "$2")
  case $base in
    base:*) [ "$base" = "base:$1" ] ;;
    *) suite_is "$1" "$base" ;;
  esac
}

exists() { docker image inspect "$1" >/dev/null 2>&1; }

# Twelve hex digits over the base and over the name and content of every file of the context.
hash_of() {
  local base base_hash
  base=$(base_of "$1")
  case $base in
    base:*) base_hash=$(docker image inspect --format '{{.Id}}' "$PREFIX/$base") || return 1 ;;
    *) base_hash=$(hash_of "$base") || return 1 ;;
  esac
  (
    echo "$base_hash"
    cd "$(context_of "$1")"
    find . -type f ! -name '*.example' ! -path '*/__pycache__/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  ) | sha256sum | cut -c1-12
}

name_of() { # in two steps, so that a failing hash is a failure
  local hash
  hash=$(hash_of "$1") || return 1
  echo "$PREFIX/$1:$hash"
}

# --- base images ----------------------------------------------------------------------------------------------

# The first http(s) Debian archive in the machine's own apt sources: an entry for the machine's own release
# with the component main. Third-party archives have other suites or components.
machine_mirror() {
  [ -z "${SLURM_SATELLITE_MIRROR:-}" ] || { echo "$SLURM_SATELLITE_MIRROR"; return 0; }
  local codename
  # shellcheck disable=SC1091
  codename=$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-sid}") || return 1
  {
    # one-line format: deb [options] URI SUITE COMPONENT…
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -E 's/\[[^]]*\]//' |
      awk '$1 == "deb" { components = ""; for (i = 4; i <= NF; i++) components = components " " $i; print $2 "|" $3 "|" components }' || true
    # deb822 format: stanzas of fields, each of URIs, Suites and Components a list
    for file in /etc/apt/sources.list.d/*.sources; do
      [ -e "$file" ] || continue
      awk '
        function flush(   i, n, list) { n = split(uris, list, " "); for (i = 1; i <= n; i++) print list[i] "|" suites "|" components; uris = suites = components = "" }
        /^#/ { next }
        /^[ \t]*$/ { flush(); next }
        tolower($1) == "uris:" { $1 = ""; uris = $0 }
        tolower($1) == "suites:" { $1 = ""; suites = $0 }
        tolower($1) == "components:" { $1 = ""; components = $0 }
        END { flush() }' "$file"
    done
  } | awk -F'|' -v codename="$codename" '
    $1 ~ /^https?:/ && (" " $2 " ") ~ (" (" codename "|stable|testing|sid|unstable) ") && (" " $3 " ") ~ / main / { if (!seen++) print $1 }' |
    grep .
}

pull_base() {
  local suite=$1
  timeout "${SLURM_SATELLITE_PULL_S:-20}" docker pull "debian:$suite-slim" >"$LOGS/base-$suite.log" 2>&1 &&
    docker tag "debian:$suite-slim" "$PREFIX/base:$suite"
}

debootstrap_base() (
  suite=$1
  [ "$(id -u)" = 0 ] || fail "no registry gave debian:$suite-slim, and debootstrap needs root: run this as root, or tag a Debian $suite image as $PREFIX/base:$suite"
  if ! command -v debootstrap >/dev/null; then
    command -v apt-get >/dev/null || fail "no registry gave debian:$suite-slim, and there is neither debootstrap nor apt-get to make it: install debootstrap"
    say "installing debootstrap"
    apt-get update -qq >>"$LOGS/base-$suite.log" 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >>"$LOGS/base-$suite.log" 2>&1
  fi
  mirror=$(machine_mirror) || fail "no Debian mirror in this machine's apt sources; name one in SLURM_SATELLITE_MIRROR"
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  include=()
  case $mirror in https:*) include=(--include=ca-certificates) ;; esac
  # An older debootstrap does not know a newer suite by name; sid's script is the one it would use.
  script=()
  [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=(/usr/share/debootstrap/scripts/sid)
  debootstrap --variant=minbase "${include[@]}" "$suite" "$root" "$mirror" "${script[@]}" >>"$LOGS/base-$suite.log" 2>&1
  rm -rf "$root"/var/cache/apt/archives/*.deb
  tar -C "$root" --numeric-owner -c . | docker import - "$PREFIX/base:$suite" >>"$LOGS/base-$suite.log" 2>&1
)

# Two chains may want the same one: the second waits for the first.
ensure_base() (
  suite=${1#base:}
  exec 8>"$TARGET/image-base-$suite.lock"
  flock 8
  if exists "$PREFIX/base:$suite"; then
    say "base:$suite is there"
    exit 0
  fi
  started=$SECONDS
  say "base:$suite: pulling debian:$suite-slim"
  if pull_base "$suite"; then
    say "base:$suite pulled in $((SECONDS - started)) s"
    exit 0
  fi
  say "base:$suite: no registry gave it after $((SECONDS - started)) s, so debootstrap makes it (about 30 s)"
  started=$SECONDS
  if ! debootstrap_base "$suite"; then
    tail -n 20 "$LOGS/base-$suite.log" >&2
    fail "base:$suite could not be made; the tail of its log is above"
  fi
  say "base:$suite made with debootstrap in $((SECONDS - started)) s"
)

# --- our images -----------------------------------------------------------------------------------------------

last_line() { sed -e 's/\x1b\[[0-9;]*m//g' -e '/^[[:space:]]*$/d' "$1" | tail -n 1 | cut -c1-100; }

# Waits for a build, with a line every 20 s, so that five quiet minutes do not look like a hang.
follow() {
  local image=$1 log=$2 pid=$3 started=$SECONDS said=$SECONDS
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    if [ $((SECONDS - said)) -ge 20 ]; then
      said=$SECONDS
      say "$image: $((SECONDS - started)) s: $(last_line "$log")"
    fi
  done
  wait "$pid"
}

# Two chains may want the same one, as a base: the second waits for the first.
ensure_image() (
  local image=$1 base name log started rc=0
  exec 7>"$TARGET/image-$image.lock"
  flock 7
  base=$(base_of "$image")
  case $base in
    base:*) ensure_base "$base" ;;
    *) ensure_image "$base" ;;
  esac
  name=$(name_of "$image")
  if exists "$name"; then
    say "$image is there: $name"
    return 0
  fi
  case $base in
    base:*) base=$PREFIX/$base ;;
    *) base=$(name_of "$base") ;;
  esac
  log=$LOGS/$image.log
  started=$SECONDS
  say "$image: building $name on $base, log in target/image-logs/$image.log"
  : >"$log"
  local args=(--build-arg "BASE=$base")
  if suite_is forky "$image"; then
    # forky is Debian's testing, and a mirror that lags serves an index past its Valid-Until, which apt refuses.
    # For a test image its age does not matter: signatures are still checked, freshness is not.
    args+=(--build-arg APT_UPDATE_OPTIONS=-oAcquire::Check-Valid-Until=false)
  fi
  docker build "${args[@]}" --tag "$name" "$(context_of "$image")" >"$log" 2>&1 &
  follow "$image" "$log" $! || rc=$?
  if [ "$rc" != 0 ]; then
    tail -n 40 "$log" >&2
    fail "$image could not be built (docker build ended with $rc); the tail of its log is above"
  fi
  say "$image built in $((SECONDS - started)) s, $(($(docker image inspect --format '{{.Size}}' "$name") / 1000000)) MB: $name"
)

# Every image whose present content is built, whichever were asked for: never an entry for an older content.
write_names() {
  local image name comma='' file
  file=$(mktemp "$TARGET/images.json.XXXXXX")
  {
    printf '{'
    for image in $ALL; do
      name=$(name_of "$image" 2>/dev/null) && exists "$name" || continue
      printf '%s"%s":"%s"' "$comma" "$image" "$name"
      comma=,
    done
    printf '}\n'
  } >"$file"
  chmod 644 "$file"
  mv "$file" "$TARGET/images.json"
  say "wrote target/images.json: $(cat "$TARGET/images.json")"
}

wanted=${*:-$ALL}
for image in $wanted; do context_of "$image" >/dev/null; done
timeout 10 docker info >/dev/null 2>&1 || fail "no Docker engine answers; run tests/images/engine.sh first"
mkdir -p "$LOGS"
exec 9>"$TARGET/images.lock"
if ! flock -n 9; then
  say "another build runs; waiting for it"
  flock 9
fi

# OpenStack's packages take minutes of network, SLURM's images seconds: side by side, two builds at a time.
# The second OpenStack comes after SLURM's images, beside the first; slurmdbd's images after the first.
chain() { for image in "$@"; do ensure_image "$image"; done; }
first_chain='' openstack_chain=''
for image in $wanted; do
  case $image in
    openstack | slurm-*-dbd) openstack_chain="$openstack_chain $image" ;;
    *) first_chain="$first_chain $image" ;;
  esac
done
failed=0
# shellcheck disable=SC2086
chain $first_chain & first_pid=$!
# shellcheck disable=SC2086
chain $openstack_chain & openstack_pid=$!
wait "$first_pid" || failed=1
wait "$openstack_pid" || failed=1
write_names
[ "$failed" = 0 ] || fail "not every image could be built; see above"
say "done in $SECONDS s"
