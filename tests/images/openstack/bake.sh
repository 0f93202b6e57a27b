#!/bin/bash
# Runs once, at image build: schemas, accounts, catalog, images, flavors, quota, and one warm-up start, so that
# the image already holds the compute service, its nodes and their resource providers.
set -e
. /opt/lab/svc.sh
mkdir -p /var/log/os /var/lib/lab/behave /var/lib/glance/images /var/lib/glance/tmp /var/lib/nova/tmp
chmod 1777 /var/log/os
chown -R nova: /var/lib/lab /var/lib/nova
chown -R glance: /var/lib/glance
say() { echo "== $(date +%T) $*"; }
as() { say "${@:2}"; setpriv --reuid=$1 --regid=$1 --init-groups "${@:2}"; }

start_db
for d in keystone glance placement nova nova_api nova_cell0; do mariadb -e "create database $d character set utf8mb3"; done
mariadb -e "create user os@'127.0.0.1' identified by 'os'; create user os@localhost identified by 'os'; grant all on *.* to os@'127.0.0.1'; grant all on *.* to os@localhost"
mkdir -p /etc/keystone/fernet-keys /etc/keystone/credential-keys
chown keystone: /etc/keystone/*keys
as keystone keystone-manage db_sync
keystone-manage fernet_setup --keystone-user keystone --keystone-group keystone
keystone-manage credential_setup --keystone-user keystone --keystone-group keystone
keystone-manage bootstrap --bootstrap-password admin --bootstrap-region-id RegionOne \
  --bootstrap-public-url http://127.0.0.1:5000/v3 --bootstrap-internal-url http://127.0.0.1:5000/v3 --bootstrap-admin-url http://127.0.0.1:5000/v3
chown -R keystone: /var/log/os/keystone.log /etc/keystone/*keys
as glance glance-manage db_sync
as placement placement-manage db sync
as nova nova-manage api_db sync
as nova nova-manage cell_v2 map_cell0
as nova nova-manage cell_v2 create_cell --name cell1
as nova nova-manage db sync
start_api keystone keystone 5000 /usr/bin/keystone-wsgi-public 1 4; KEYSTONE=$!
wait_port 5000
python3 /opt/lab/seed.py
say seeded
kill $KEYSTONE
wait $KEYSTONE || true
mariadb-admin shutdown
sleep 1

# The warm-up must not write the builder's address into the catalog; every start sets its own.
LAB_PUBLIC=127.0.0.1 LAB_NODES=8 bash /opt/lab/entrypoint.sh &
for _ in $(seq 1 240); do [ -e /run/lab-ready ] && break; sleep 1; done
[ -e /run/lab-ready ] || { tail -n 20 /var/log/os/*.log; exit 1; }
python3 /opt/lab/seed2.py
say 'was ready once'
HOME=/var/lib/rabbitmq setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups rabbitmqctl -n rabbit@localhost stop >/dev/null 2>&1 || true
mariadb-admin shutdown
sleep 2
rm -f /run/lab-ready /var/log/os/*
