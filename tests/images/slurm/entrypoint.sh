#!/bin/bash
# Starts the cluster; prints READY, alone on a line, once slurmrestd answers a ping with slurmctld UP and every
# static node responds. slurmctld's host name is the container's, so nodes in other containers must be able to
# resolve it: on a Docker network, give the container that name (or that alias).
#
# env: NODES            static nodes n1..nN, their slurmds in the first controller's container; default 0
#      CONTROLLERS      host names of the containers that run a slurmctld, the primary first; default: this one's.
#                       With two, both get the same keys and settings and share /var/spool/slurmctld
#      DBD              1: slurmdbd and its database in this container; only in the images slurm-*-dbd
#      MUNGE_KEY        base64 of the munge key; else the file /keys/munge.key; else made at start
#      JWT_KEY          base64 of the HS256 key; else the file /keys/jwt_hs256.key; else made at start
#      SLURMD_TIMEOUT   seconds of silence until a node is DOWN; default 10
#      MIN_JOB_AGE      seconds for which a finished job stays known; default 300
#      MAX_NODE_COUNT   static and dynamic nodes together; default 1024
#      EXTRA_CONF       lines for slurm.conf (\n separates them); of a repeated setting the last counts
#      REST_ARGS        arguments of slurmrestd; default: the plugins that this release and DBD need
set -u
NODES=${NODES:-0}
export DBD=${DBD:-0}
HOST=$(hostname -s)
read -ra CONTROLLERS <<<"${CONTROLLERS:-$HOST}"
PRIMARY=${CONTROLLERS[0]}
RELEASE=$(slurmctld -V | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
SPOOL=/var/spool/slurmctld
JWT_FILE=$SPOOL/jwt_hs256.key
REST=http://127.0.0.1:6820
READY_CEILING=60
trap 'exit 0' TERM INT
# Some engines hand out a limit of 10^9 open files, and a daemon that closes them all at start takes minutes.
ulimit -n 65536 2>/dev/null || true

# put_key FILE OWNER BASE64 MOUNTED BYTES: a key is kept over a restart of the container.
put_key() {
  if [ -n "$3" ]; then
    printf '%s' "$3" | base64 -d > "$1"
  elif [ -s "$4" ]; then
    cat "$4" > "$1"
  elif [ ! -s "$1" ]; then
    head -c "$5" /dev/urandom > "$1"
  fi
  chown "$2": "$1"
  chmod 600 "$1"
}

write_slurm_conf() {
  local i host address=127.0.0.1 partition_nodes=dyn
  [ "$NODES" = 0 ] || partition_nodes="n[1-$NODES],dyn"
  [ ${#CONTROLLERS[@]} = 1 ] || address=$PRIMARY # the other one must reach the nodes too
  echo ClusterName=lab
  for host in "${CONTROLLERS[@]}"; do echo "SlurmctldHost=$host"; done
  cat <<CONF
SlurmUser=slurm
AuthType=auth/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$JWT_FILE
StateSaveLocation=$SPOOL
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.%n.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.%n.log
SlurmctldDebug=verbose
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=1
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
MinJobAge=${MIN_JOB_AGE:-300}
SlurmctldTimeout=30
SlurmdTimeout=${SLURMD_TIMEOUT:-10}
MaxNodeCount=${MAX_NODE_COUNT:-1024}
RebootProgram=/usr/bin/true
CONF
  if [ "$DBD" = 1 ]; then
    echo "AccountingStorageType=accounting_storage/slurmdbd"
    echo "AccountingStorageHost=$PRIMARY"
  fi
  for i in $(seq 1 "$NODES"); do
    echo "NodeName=n$i NodeHostname=$PRIMARY NodeAddr=$address Port=$((17000 + i)) CPUs=4 RealMemory=4000 Gres=gpu:h100:4 Feature=rack1,ib State=UNKNOWN"
  done
  cat <<CONF
NodeSet=dyn Feature=dyn
PartitionName=main Default=YES Nodes=$partition_nodes MaxTime=INFINITE State=UP
CONF
  printf '%b\n' "${EXTRA_CONF:-}"
}

# A ping is 200 even when slurmctld is down, so what it says counts too. 404: this release does not serve the
# version, so an older one is asked for.
is_ready() {
  local version answer code
  for version in v0.0.45 v0.0.42 v0.0.38; do
    answer=$(curl -sS -m 5 -w '\n%{http_code}' -H "X-SLURM-USER-NAME: root" -H "X-SLURM-USER-TOKEN: $TOKEN" \
      "$REST/slurm/$version/ping" 2>&1)
    code=$(tail -n 1 <<<"$answer")
    [ "$code" = 404 ] || break
  done
  LAST="ping of $version answers $code: $(head -n -1 <<<"$answer" | jq -c .pings 2>/dev/null)"
  [ "$code" = 200 ] && head -n -1 <<<"$answer" | jq -e 'any(.pings[]; .responding or .ping == "UP")' >/dev/null || return 1
  [ "$NODES" = 0 ] || [ "$HOST" != "$PRIMARY" ] && return 0
  local up # after a restart a node can be drained or busy; what counts is that its slurmd answers
  up=$(sinfo -h -N -p main -o '%T' 2>/dev/null | grep -vcE '\*|unk|down')
  LAST="$up of $NODES static nodes respond"
  [ "$up" = "$NODES" ]
}

mkdir -p /etc/slurm $SPOOL /var/spool/slurmd /var/log/slurm /run/munge /run/slurm
chown slurm: $SPOOL /var/log/slurm /run/slurm
chown munge: /run/munge
chmod 755 /run/munge
rm -f /run/munge/* /run/slurm/*.pid # of a run that was killed
put_key /etc/munge/munge.key munge "${MUNGE_KEY:-}" /keys/munge.key 1024
put_key $JWT_FILE slurm "${JWT_KEY:-}" /keys/jwt_hs256.key 32
if [ ! -s /etc/slurm/slurm.conf ]; then # a test may bring its own
  write_slurm_conf > /etc/slurm/slurm.conf
  echo "Name=gpu Type=h100 File=/opt/fakegpu/gpu[0-3]" > /etc/slurm/gres.conf
  case $RELEASE in 22.*) ;; *) echo "CgroupPlugin=disabled" > /etc/slurm/cgroup.conf ;; esac
fi
runuser -u munge -- /usr/sbin/munged
if [ "$DBD" = 1 ] && [ "$HOST" = "$PRIMARY" ]; then
  start-slurmdbd.sh "$JWT_FILE" || exit 1
fi
if [ "$HOST" != "$PRIMARY" ]; then
  # Started together, the two wait for each other for half a minute.
  until [ -e $SPOOL/heartbeat ]; do
    if [ $SECONDS -ge $READY_CEILING ]; then
      echo "slurm: the primary, $PRIMARY, has not started after $READY_CEILING s"
      exit 1
    fi
    sleep 0.1
  done
fi
runuser -u slurm -- slurmctld
start-slurmrestd.sh
if [ "$HOST" = "$PRIMARY" ]; then
  for i in $(seq 1 "$NODES"); do
    mkdir -p "/var/spool/slurmd/n$i"
    slurmd -N "n$i"
  done
fi

await_ready() {
  LAST='nothing yet'
  until is_ready; do
    if [ $SECONDS -ge $READY_CEILING ]; then
      echo "slurm: not usable after $READY_CEILING s: $LAST"
      tail -n 20 /var/log/slurm/*.log
      exit 1
    fi
    sleep 0.1
  done
}

TOKEN=$(mkjwt.py root 3600)
await_ready
if [ "$DBD" = 1 ] && [ "$HOST" = "$PRIMARY" ]; then
  # Otherwise the accounts are saved after five minutes, and a slurmctld that is killed before that finds no
  # assoc_usage and will not start again.
  scontrol reconfigure
  await_ready
fi
echo "slurm: $(slurmctld -V) on $HOST after $SECONDS s"
echo READY
sleep infinity &
wait $!
