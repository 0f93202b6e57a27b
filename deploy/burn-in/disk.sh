#!/bin/bash
# Writes to the node's scratch, flushes, reads back, and compares.
#
# Prints: free_mb      megabytes that were free before
#         checked_mb   megabytes that were written and compared
#         write_mbs    megabytes written a second, flushed to the disk
#         read_mbs     megabytes read a second; the page cache is asked to forget them before
# Fails (1) when the folder cannot be written to, has no room, or gives back something else.
#
# BURN_IN_SCRATCH      the folder; default $TMPDIR, else /tmp
# BURN_IN_DISK_MB      how much is written; default 256, rounded down to 16
set -u
LC_ALL=C
scratch=${BURN_IN_SCRATCH:-${TMPDIR:-/tmp}}
disk_mb=${BURN_IN_DISK_MB:-256}
block_mb=16
work=''

fail() {
  echo "disk: $*" >&2
  exit 1
}

milliseconds() {
  date +%s%3N
}

rate() { # MB MILLISECONDS
  echo $(($1 * 1000 / ($2 > 0 ? $2 : 1)))
}

copies() {
  local n
  for ((n = 0; n < blocks; n++)); do cat -- "$work/block" || return 1; done
}

trap '[ -z "$work" ] || rm -rf -- "$work"' EXIT
trap 'exit 143' TERM INT
blocks=$((disk_mb / block_mb))
[ "$blocks" -ge 1 ] || blocks=1
free_mb=$(($(df -k --output=avail -- "$scratch" | tail -n 1) / 1024)) || fail "$scratch is no folder"
echo "free_mb=$free_mb"
[ "$free_mb" -ge $(((blocks + 1) * block_mb)) ] || fail "$free_mb MB are free in $scratch"
work=$(mktemp -d -- "$scratch/burn-in.XXXXXX") || fail "$scratch cannot be written to"
head -c "${block_mb}M" /dev/urandom > "$work/block" || fail "a block cannot be written"

began=$(milliseconds)
copies | dd of="$work/file" bs=1M iflag=fullblock conv=fsync status=none || fail "the file cannot be written"
wrote=$(($(milliseconds) - began))
# Only pages that are on the disk are forgotten, and only where the file system knows how.
dd of="$work/file" oflag=nocache conv=notrunc,fdatasync count=0 status=none 2>/dev/null
began=$(milliseconds)
copies | cmp -s -- - "$work/file" || fail "the file reads back as something else"
read=$(($(milliseconds) - began))
echo "checked_mb=$((blocks * block_mb))"
echo "write_mbs=$(rate $((blocks * block_mb)) "$wrote")"
echo "read_mbs=$(rate $((blocks * block_mb)) "$read")"
