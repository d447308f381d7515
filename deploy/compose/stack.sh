#!/usr/bin/env bash
# `make up` and `make down`: the product in containers beside two simulated nodes. What goes wrong is told in one line.
#
#   EASYRIDER_SITE=site        folder of keys, certificates and settings, written by `easyrider init` if it is not there
#   EASYRIDER_PROFILES=twin    what runs beside the core; "twin regions" has a site folder of its own, site-regions
#   EASYRIDER_PROJECT=easyrider, EASYRIDER_NATS_PORT=4222, EASYRIDER_API_PORT=8480, EASYRIDER_BIND=127.0.0.1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rules=(deploy/compose/twin/rules.yaml)
folder=site
more=()
case " ${EASYRIDER_PROFILES-twin} " in *" regions "*)
  rules+=(deploy/compose/twin/regions.yaml) folder=site-regions
  export EASYRIDER_TOP=-site # the region at the top
  more=(--scale forecaster=0) # all nodes are the rows', so that there is nothing to forecast for it
  ;;
esac
export EASYRIDER_SITE=${EASYRIDER_SITE:-$PWD/$folder}
# who may read the secrets: the services' own group where root wrote them, else the caller's
export EASYRIDER_GID=${EASYRIDER_GID:-$([ "$(id -u)" = 0 ] && echo 10001 || id -g)}
export COMPOSE_PROJECT_NAME=${EASYRIDER_PROJECT:-easyrider}
profiles=()
for profile in ${EASYRIDER_PROFILES-twin}; do profiles+=(--profile "$profile"); done

log=$(mktemp) # what Compose and the engine say
trap 'rm -f "$log"' EXIT

say() { echo "easyrider: $*" >&2; }
no() { say "$*"; exit 1; }

find_compose() {
  command -v docker >/dev/null || command -v docker-compose >/dev/null || no "this needs Docker with Compose; there is none on PATH"
  if docker compose version >/dev/null 2>&1; then compose=(docker compose) waits=(--wait)
  elif docker-compose version >/dev/null 2>&1; then compose=(docker-compose) waits=()
  else no "Docker is here without Compose: install its compose plugin, or docker-compose"; fi
  docker info >/dev/null 2>&1 || no "no Docker engine answers: $(docker info 2>&1 | tail -n 1)"
}

write_site() {
  [ ! -e "$EASYRIDER_SITE/site.json" ] || return 0
  cat "${rules[@]}" >"$log"
  .venv/bin/easyrider init "$EASYRIDER_SITE" --tree "$log" \
    --nats-host nats --redis-host redis --api-host api --at /run/secrets
  # into the file that is there, so that its owner and mode stay
  cat deploy/compose/twin/meters.yaml >"$EASYRIDER_SITE/infra-bridge${EASYRIDER_TOP:-}/meters.yaml"
}

# The newest line of a container's log that tells of a refusal; nothing where there is none.
refusal() { docker logs --tail 200 "$1" 2>&1 | grep -E 'refused|cannot be read' | tail -n 1; }

# What an engine says in many words, in one line of ours; else its own last words.
explain() {
  local how name told unwell=
  if grep -q -E 'port is already allocated|address already in use' "$log"; then
    no "a port is taken: $(grep -o -E '[0-9.]+:[0-9]+( failed)?: (port is|bind: address) already.*' "$log" | tail -n 1); another one: EASYRIDER_NATS_PORT=14222 EASYRIDER_API_PORT=18480 make up"
  elif grep -q 'could not select device driver' "$log"; then
    no "profile gpu: this engine reaches no NVIDIA GPU; it needs the driver and the NVIDIA Container Toolkit on this host"
  elif grep -q -E 'env file .* not found|bind source path does not exist' "$log"; then
    no "a secret is missing: $(grep -o -E '(env file |path does not exist: ).*' "$log" | tail -n 1); easyrider init $EASYRIDER_SITE --add writes what is missing"
  fi
  # of several that are not well, first who was refused something, then who cannot start, then who waits
  for how in Restarting 'Exit(ed)? \(?[1-9]' unhealthy starting; do
    for name in $("${compose[@]}" "${profiles[@]}" ps -a 2>/dev/null | grep -E "$how" | cut -d' ' -f1); do
      unwell=${unwell:-$name}
      told=$(refusal "$name") && no "$name is not well: $told"
    done
  done
  [ -z "$unwell" ] || no "$unwell is not well: $(docker logs --tail 1 "$unwell" 2>&1)"
  no "$(grep -v '^ *$' "$log" | tail -n 1)"
}

up() {
  write_site
  say "building and starting; the first time takes some minutes"
  "${compose[@]}" "${profiles[@]}" up -d --build ${waits[@]+"${waits[@]}"} ${more[@]+"${more[@]}"} >"$log" 2>&1 || explain
  local at=${EASYRIDER_BIND:-127.0.0.1}
  say "up
  plans as they come:  .venv/bin/easyrider plan --nats-url tls://$at:${EASYRIDER_NATS_PORT:-4222} --user $EASYRIDER_SITE/dashboard
  admin API:           https://$at:${EASYRIDER_API_PORT:-8480}/v1/ (token in $EASYRIDER_SITE/admin/api.token)
  logs:                ${compose[*]} -p $COMPOSE_PROJECT_NAME logs -f policy"
}

find_compose
case "${1:-}" in
  up) up ;;
  down)
    # what a simulated site remembers goes with it; a real guardian's record of what it found stays
    volumes=(-v)
    case " ${EASYRIDER_PROFILES-twin} " in *" gpu "*) volumes=() ;; esac
    "${compose[@]}" --profile twin --profile gpu --profile regions --profile recorder down ${volumes[@]+"${volumes[@]}"} --remove-orphans -t 10
    ;;
  *) no "say up or down" ;;
esac
