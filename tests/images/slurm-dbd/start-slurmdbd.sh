#!/bin/bash
# Starts MariaDB and slurmdbd, and sees that cluster lab has account fleet with users alice and bob:
# start-slurmdbd.sh JWT_KEY_FILE. Called by the entrypoint, before slurmctld.
set -euo pipefail
JWT_FILE=$1
CEILING=60

# await WHAT COMMAND…: until the command succeeds.
await() {
  local what=$1
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $CEILING ]; then
      echo "slurmdbd: $what is not there after $CEILING s"
      tail -n 20 /var/log/slurm/mariadb.log /var/log/slurm/slurmdbd.log
      exit 1
    fi
    sleep 0.1
  done
}

mkdir -p /run/mysqld /run/slurmdbd
chown mysql: /run/mysqld
chown slurm: /run/slurmdbd
# The option is new in MariaDB 11, and slurmdbd wants it off; older ones pass over it.
mariadbd-safe --skip-networking --loose-innodb-snapshot-isolation=OFF >/var/log/slurm/mariadb.log 2>&1 &
await "the database" mariadb -e 'select 1'
mariadb -e "create database if not exists slurm_acct_db;
  create user if not exists slurm@localhost identified by 'slurm';
  grant all on slurm_acct_db.* to slurm@localhost"
cat >/etc/slurm/slurmdbd.conf <<CONF
DbdHost=$(hostname -s)
SlurmUser=slurm
AuthType=auth/munge
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$JWT_FILE
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd/slurmdbd.pid
CONF
chown slurm: /etc/slurm/slurmdbd.conf
chmod 600 /etc/slurm/slurmdbd.conf
runuser -u slurm -- slurmdbd
await "slurmdbd" sacctmgr -n list cluster
# A second start finds them there, which sacctmgr takes for an error.
sacctmgr -i add cluster lab >/dev/null || true
sacctmgr -i add account fleet cluster=lab >/dev/null || true
sacctmgr -i add user alice,bob account=fleet cluster=lab >/dev/null || true
