#!/bin/bash
# Computes on every CPU and fills memory, and checks each result.
#
# It hashes one block of random data over and over, on all CPUs that the job has at once, and compares
# every hash with the first. It fills shared memory (/dev/shm) with that block and compares every copy.
#
# Prints: cpus         CPUs that the job has
#         cpu_mbs      megabytes hashed a second, on all of them together
#         memory_mb    megabytes of memory that were filled and compared
#         memory_mbs   megabytes a second while they were compared
# Fails (1) when a hash or a copy differs. Cannot say (125) when there is no room for a single block.
#
# BURN_IN_CPU_SECONDS  how long the CPUs are kept busy; default 10
# BURN_IN_MEMORY_MB    how much memory is filled at most; default 256. Never more than half of what is
#                      free in memory and in /dev/shm.
set -u
LC_ALL=C
seconds=${BURN_IN_CPU_SECONDS:-10}
memory_mb=${BURN_IN_MEMORY_MB:-256}
block_mb=16
pids=()

fail() {
  echo "cpu-memory: $*" >&2
  exit 1
}

cannot_say() {
  echo "cpu-memory: $*" >&2
  exit 125
}

clean_up() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
  rm -rf -- "${work:-}" "${memory:-}"
}

milliseconds() {
  date +%s%3N
}

hash_of() {
  local hash
  hash=$(sha256sum < "$1") && echo "${hash%% *}"
}

# worker FILE: hashes the block until the time is over, and writes into FILE how often.
worker() {
  local rounds=0 until=$((SECONDS + seconds))
  while [ "$rounds" -eq 0 ] || [ $SECONDS -lt $until ]; do
    [ "$(hash_of "$work/block")" = "$expected" ] || exit 1
    rounds=$((rounds + 1))
  done
  echo "$rounds" > "$1"
}

trap clean_up EXIT
trap 'exit 143' TERM INT
work=$(mktemp -d) || cannot_say "no temporary folder can be made"
head -c "${block_mb}M" /dev/urandom > "$work/block" || cannot_say "no room for $block_mb MB in $work"
known=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
printf abc > "$work/abc"
[ "$(hash_of "$work/abc")" = $known ] || fail "the hash of a known text is wrong"
expected=$(hash_of "$work/block")

cpus=$(nproc)
began=$(milliseconds)
for ((n = 0; n < cpus; n++)); do
  worker "$work/rounds.$n" &
  pids+=($!)
done
for ((n = 0; n < cpus; n++)); do
  wait "${pids[n]}" || fail "a CPU hashed the same block to something else"
done
pids=()
took=$(($(milliseconds) - began))
rounds=0
for ((n = 0; n < cpus; n++)); do
  rounds=$((rounds + $(< "$work/rounds.$n")))
done
echo "cpus=$cpus"
echo "cpu_mbs=$((rounds * block_mb * 1000 / (took > 0 ? took : 1)))"

memory=$(mktemp -d /dev/shm/burn-in.XXXXXX) || cannot_say "/dev/shm cannot be written to"
free_mb=$(($(df -k --output=avail /dev/shm | tail -n 1) / 1024))
available_mb=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
for limit in $((free_mb / 2)) $((available_mb / 2)); do
  [ "$memory_mb" -le "$limit" ] || memory_mb=$limit
done
copies=$((memory_mb / block_mb))
[ "$copies" -ge 1 ] || cannot_say "less than $((2 * block_mb)) MB are free in memory"
for ((n = 0; n < copies; n++)); do
  cp -- "$work/block" "$memory/$n" || cannot_say "no room in memory for $((copies * block_mb)) MB"
done
began=$(milliseconds)
for ((n = 0; n < copies; n++)); do
  cmp -s -- "$work/block" "$memory/$n" || fail "copy $n of $copies in memory differs"
done
took=$(($(milliseconds) - began))
echo "memory_mb=$((copies * block_mb))"
echo "memory_mbs=$((copies * block_mb * 1000 / (took > 0 ? took : 1)))"
