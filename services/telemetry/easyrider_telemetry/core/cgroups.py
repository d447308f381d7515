"""Which containers a process is in, read from the text of its cgroup file: version 1, version 2, and both at once."""

import re

_ID = re.compile(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?=/|$)")


def containers_of(text: str) -> tuple[str, ...]:
    """Container ids in `/proc/PID/cgroup`, outermost first; none for a process of the host.

    A line is `number:controllers:path`. The id is 64 hex digits, alone or as `docker-<id>.scope`, at any depth: with
    systemd or cgroupfs as driver, below slices of Kubernetes, in a container of a container, and seen from another
    cgroup namespace (`/../<id>`).
    """
    found: dict[str, None] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            found.update(dict.fromkeys(_ID.findall(parts[2])))
    return tuple(found)
