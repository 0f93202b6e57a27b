#!/bin/bash
# Boots as a machine would: cloud-init's four stages over the seed in /seed, then stays up.
# Prints CLOUD-INIT DONE rc=N, alone on a line; 0 means that no stage and no module failed.
# Files: /seed/user-data, /seed/meta-data. There is no systemd: what the user-data wants running, it starts.
set -u
trap 'exit 0' TERM INT
ulimit -n 65536 2>/dev/null || true
rc=0
if [ ! -s /seed/meta-data ] || [ ! -e /seed/user-data ]; then
  echo 'boot: /seed/user-data or /seed/meta-data is missing'
  rc=66
else
  for stage in 'init --local' init 'modules --mode=config' 'modules --mode=final'; do
    # In the background with wait, so that a TERM is obeyed at once.
    # shellcheck disable=SC2086
    cloud-init $stage &
    wait $! || { rc=$?; echo "boot: cloud-init $stage ended with $rc"; }
  done
  # A module that fails (a command of runcmd, say) does not always fail its stage; the result has it all.
  if [ $rc = 0 ] && ! jq -e '.v1.errors == []' /run/cloud-init/result.json >/dev/null; then
    rc=1
  fi
  [ $rc = 0 ] || jq -c '.v1.errors' /run/cloud-init/result.json
fi
echo "CLOUD-INIT DONE rc=$rc"
sleep infinity &
wait $!
