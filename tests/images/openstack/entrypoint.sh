#!/bin/bash
# Starts the cloud; prints READY, alone on a line, once a server can be scheduled to every node.
# A request before READY is accepted and ends as a server in ERROR, so a test must wait for the line.
#
# env: LAB_PUBLIC  address that the public endpoints of the catalog name; default: this container's first address
#      LAB_NODES   number of machines node-1..N; default 8
set -u
. /opt/lab/svc.sh
trap 'exit 0' TERM INT
# Some engines hand out a limit of 10^9 open files, for which Erlang and uWSGI reserve memory and time.
ulimit -n 65536 2>/dev/null || true
rm -f /run/lab-ready
STARTED=$SECONDS
step() { printf 'openstack: %3d s: %s\n' $((SECONDS - STARTED)) "$*"; }

NODES=${LAB_NODES:-8}
PUBLIC=${LAB_PUBLIC:-$(hostname -i | awk '{print $1}')}
mkdir -p /var/log/os /var/lib/lab/behave
chmod 1777 /var/log/os
[ -f /var/lib/lab/nodes.json ] && [ -z "${LAB_NODES:-}" ] ||
  python3 -c "import json; print(json.dumps(['node-%d' % i for i in range(1, $NODES + 1)]))" > /var/lib/lab/nodes.json
touch /var/lib/lab/events.jsonl
chown -R nova: /var/lib/lab
# nova >= 27 refuses to start a compute service that it has seen before without this file
if [ ! -f /var/lib/nova/compute_id ]; then
  python3 -c "import uuid; print(uuid.uuid5(uuid.NAMESPACE_DNS, 'node-1'))" > /var/lib/nova/compute_id
  chown nova: /var/lib/nova/compute_id
fi

start_rabbit & # takes 5 s; the database and three of the APIs need it not
start_db
step 'mariadb answers'
# Whatever address is there, so that a restart under another address mends it too.
mariadb keystone -e "update endpoint set url = regexp_replace(url, '^http://[^:/]+', 'http://$PUBLIC') where interface = 'public'"
start_api keystone keystone 5000 /usr/bin/keystone-wsgi-public 1 4
start_api placement placement 8778 /usr/bin/placement-api 1 4
start_api glance glance 9292 /usr/bin/glance-wsgi-api 1 4
start_api neutronstub nova 9696 /opt/lab/neutronstub.py 1 2
wait_port 5672
step 'rabbitmq answers'
rm -f /var/log/os/nova-*.log
start_api nova-api nova 8774 /usr/bin/nova-api-wsgi 2 1 # eventlet-patched: processes, no threads
start_py nova-conductor nova "from nova.cmd.conductor import main; main()"
# nova-compute waits 10 s at a time for a conductor that is not there yet
for _ in $(seq 1 150); do
  grep -qs 'Starting conductor node' /var/log/os/nova-conductor.log && break
  sleep 0.2
done
start_py nova-scheduler nova "from nova.cmd.scheduler import main; main()"
start_py nova-compute nova "from nova.cmd.compute import main; main()"
wait_port 5000
wait_port 8774
step "the APIs answer; the catalog names $PUBLIC"
# In the background with wait, so that a TERM is obeyed at once and not after the wait.
python3 /opt/lab/wait_ready.py "$NODES" &
if ! wait $!; then
  tail -n 20 /var/log/os/*.log /var/log/os/*.out
  exit 1
fi
touch /run/lab-ready
step 'every node can be scheduled to'
echo READY
sleep infinity &
wait $!
