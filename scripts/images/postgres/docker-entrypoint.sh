#!/usr/bin/env bash
# What the official image's entrypoint promises, as far as payonce uses it: with an
# empty PGDATA it makes a cluster for POSTGRES_USER, POSTGRES_PASSWORD (or _FILE) and
# POSTGRES_DB and runs *.sql and *.sh of the init folder in the order of their names;
# then it serves. A new cluster therefore says "ready to accept connections" twice,
# the first time to its own init scripts only.
set -euo pipefail

case "${1:-}" in
-*) set -- postgres "$@" ;;
esac
[ "${1:-}" = postgres ] || exec "$@"

# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  install --directory --owner postgres --group postgres --mode 700 "$PGDATA"
  chown --recursive postgres "$PGDATA"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "${BASH_SOURCE[0]}" "$@"
fi

# Init scripts use these names.
export POSTGRES_USER=${POSTGRES_USER:-postgres}
export POSTGRES_DB=${POSTGRES_DB:-$POSTGRES_USER}
if [ -n "${POSTGRES_PASSWORD_FILE:-}" ]; then POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE"); fi

# shellcheck disable=SC2086 # POSTGRES_INITDB_ARGS is a list of arguments
create_cluster() {
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile <(printf '%s\n' "$POSTGRES_PASSWORD") \
    ${POSTGRES_INITDB_ARGS:-}
  echo "host all all all ${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}" >>"$PGDATA/pg_hba.conf"
}

run_init_script() {
  case $1 in
  *.sql) psql --no-psqlrc --quiet --variable ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --file "$1" ;;
  *.sh)
    if [ -x "$1" ]; then
      "$1"
    else
      # shellcheck disable=SC1090 # the user's own
      . "$1"
    fi
    ;;
  *) echo "docker-entrypoint: $1 is neither *.sql nor *.sh" >&2 ;;
  esac
}

# The server of the init scripts listens on no address, so that nobody takes it for
# the one that is ready.
initialise() {
  local script
  pg_ctl --pgdata "$PGDATA" --wait start -o "-c listen_addresses=''"
  [ "$POSTGRES_DB" = postgres ] || createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
  for script in /docker-entrypoint-initdb.d/*; do
    [ ! -f "$script" ] || run_init_script "$script"
  done
  pg_ctl --pgdata "$PGDATA" --wait --mode fast stop
}

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  : "${POSTGRES_PASSWORD:?is not set}"
  create_cluster
  initialise
fi
unset POSTGRES_PASSWORD
exec "$@"
