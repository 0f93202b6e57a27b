# How the services of the cloud are started; sourced by bake.sh (once, at build) and by entrypoint.sh.
# start_db, start_rabbit, wait_port PORT, start_api NAME USER PORT WSGI PROCESSES THREADS, start_py NAME USER CODE

# Durability is traded for speed, but not all of it: with flush-log 0 a quick restart loses the last second.
start_db() {
  mkdir -p /run/mysqld && chown mysql: /run/mysqld /var/lib/mysql
  [ -d /var/lib/mysql/mysql ] || mariadb-install-db --user=mysql --skip-test-db --auth-root-authentication-method=socket >/dev/null
  mariadbd --user=mysql --bind-address=127.0.0.1 --skip-name-resolve --innodb-flush-log-at-trx-commit=2 --innodb-doublewrite=0 \
    --innodb-buffer-pool-size=64M --performance-schema=OFF --max-connections=200 --skip-log-bin --innodb-log-file-size=16M >/var/log/os/mariadb.log 2>&1 &
  until mariadb-admin ping --silent >/dev/null 2>&1; do sleep 0.1; done
}

# One scheduler thread and no busy waiting: 96 MB instead of several hundred, and no CPU when idle.
start_rabbit() {
  export RABBITMQ_NODENAME=rabbit@localhost HOME=/var/lib/rabbitmq
  printf 'listeners.tcp.1 = 127.0.0.1:5672\nlog.file = false\nlog.console = true\n' > /etc/rabbitmq/rabbitmq.conf
  printf 'NODE_IP_ADDRESS=127.0.0.1\nERL_EPMD_ADDRESS=127.0.0.1\nSERVER_ERL_ARGS="+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"\n' > /etc/rabbitmq/rabbitmq-env.conf
  echo '[].' > /etc/rabbitmq/enabled_plugins
  chown -R rabbitmq: /var/lib/rabbitmq /var/log/rabbitmq /etc/rabbitmq
  rabbitmq-server >/var/log/os/rabbit.log 2>&1 &
}

wait_port() {
  local tries=0
  until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do
    sleep 0.2
    tries=$((tries + 1))
    [ $tries -lt 600 ] || { echo "port $1 never opened"; tail -n 20 /var/log/os/*uwsgi.*; return 1; }
  done
}

# uWSGI closes a connection after each answer, and by itself does not say so: a client that keeps connections
# then meets a reset now and again.
start_api() {
  uwsgi_python3 --http-socket 0.0.0.0:$3 --wsgi-file $4 --master --processes $5 --threads $6 --enable-threads \
    --lazy-apps --buffer-size 65535 --die-on-term --need-app --procname-prefix-spaced $1 --uid $2 --gid $2 --logto /var/log/os/$1-uwsgi.log \
    --rem-header Content-Length --add-header "Connection: close" >/var/log/os/$1-uwsgi.out 2>&1 &
}

# Debian's nova-compute package would pull libvirt and qemu; python3-nova holds the same code.
start_py() {
  setpriv --reuid=$2 --regid=$2 --init-groups python3 -c "import sys; sys.argv = ['$1', '--log-file', '/var/log/os/$1.log']; $3" >/var/log/os/$1.out 2>&1 &
}
