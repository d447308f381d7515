"""A machine for the shipped units: systemd as the first process of namespaces of its own; nothing is installed."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from easyrider_twin import library

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
SYSTEMD = Path("/lib/systemd/systemd")
SOURCES = ("shared", "cli", "twin", *(f"services/{each.name}" for each in (ROOT / "services").iterdir()))
TARGETS = (
    "sysinit",
    "basic",
    "shutdown",
    "network-online",
    "multi-user",
    "local-fs",
    "umount",
    "final",
    "exit",
)
"""What units of ours are ordered by; a real machine has more behind each of these names."""
BOOT = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs none /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
cp -a /etc/. "$MACHINE/etc"; mount --bind "$MACHINE/etc" /etc
for place in /etc/systemd /lib/systemd/system /lib/systemd/system-generators /opt /usr/local/bin /var/lib; do
  mount -t tmpfs none "$place"
done
mkdir -p /etc/systemd/system /opt/source /opt/packages /opt/python /opt/native /opt/easyrider
echo 'easyrider:x:10001:10001:EasyRider services:/:/usr/sbin/nologin' >> /etc/passwd
echo 'easyrider:x:10001:' >> /etc/group
cp -a "$MACHINE/easyrider/site" /etc/easyrider
cp "$NATS" /usr/local/bin/nats-server
mount --bind "$MACHINE/boards" /dev/shm
mount --bind "$SOURCE" /opt/source
mount --bind "$PACKAGES" /opt/packages
mount --bind "$PYTHON" /opt/python
mount --bind "$NATIVE" /opt/native
mount --bind "$MACHINE/easyrider" /opt/easyrider
cp -r "$MACHINE"/targets/* "$UNITS"/* /lib/systemd/system/
cp -r "$MACHINE"/drop-ins/* /etc/systemd/system/
mount -t tmpfs none /run; mkdir -p /run/systemd /run/lock
export container=other
exec "$SYSTEMD" --system --unit=easyrider-test.target --show-status=no
"""
PROGRAM = """#!/bin/sh
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={path} LD_LIBRARY_PATH=/opt/python/lib:/opt/native
exec /opt/python/bin/{python} {module} "$@"
"""


def why_not() -> str:
    """Why no machine can be started here; empty where one can."""
    if not SYSTEMD.exists() or shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return "systemd, unshare or nsenter is not here"
    if os.geteuid() != 0:
        return "only root can make namespaces with an init in them"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--cgroup", "--net", "--uts", "--ipc", "true"],
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    return (
        tried.stderr.strip()[:200] if tried.returncode else "" if _cgroups() else "no cgroup2 can be written"
    )


def _cgroups() -> Path | None:
    """Where this kernel's cgroup2 is mounted writable."""
    for place in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (place / "cgroup.procs").exists() and (place / "cgroup.controllers").exists():
            return place if os.access(place, os.W_OK) else None
    return None


class Machine:
    """`pid`: of its systemd, as seen from here. `boards`: its /dev/shm."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid, self.boards, self.log = pid, folder / "boards", folder / "boot.log"

    def run(self, *command: str, within_s: float = 40.0) -> subprocess.CompletedProcess[str]:
        """A command on the machine, as its root."""
        inside = ["nsenter", "-t", str(self.pid), "-m", "-p", "-u", "-i", "-n", "-C", *command]
        return subprocess.run(inside, capture_output=True, text=True, timeout=within_s, check=False)

    def systemctl(self, *words: str) -> str:
        """What it says. Raises `AssertionError` where it fails."""
        done = self.run("systemctl", *words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout.strip()

    def told(self, unit: str, *names: str) -> list[str]:
        """Properties of a unit."""
        return [self.systemctl("show", "--value", "-p", name, unit) for name in names]

    def process(self, unit: str, *lines: str) -> list[str]:
        """Lines of /proc/PID/status of a unit's main process."""
        (pid,) = self.told(unit, "MainPID")
        text = self.run("cat", f"/proc/{pid}/status").stdout
        found = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        return [found[name].split()[0] for name in lines]


def _write(folder: Path, drop_ins: Mapping[str, str]) -> None:
    for name in ("boards", "etc", "easyrider/current/bin", "targets"):
        (folder / name).mkdir(parents=True)
    for unit, text in drop_ins.items():
        file = folder / "drop-ins" / f"{unit}.service.d" / "test.conf"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    for name in (*TARGETS, "easyrider-test"):
        (folder / "targets" / f"{name}.target").write_text(
            f"[Unit]\nDescription={name}\nDefaultDependencies=no\n"
        )
    path = ":".join((*(f"/opt/source/{part}" for part in SOURCES), "/opt/packages"))
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    programs = {f"easyrider-{name}": f"-m easyrider_{name}" for name in ("guardian", "actuator", "telemetry")}
    for name, module in (programs | {"python": ""}).items():
        program = folder / "easyrider" / "current" / "bin" / name
        program.write_text(PROGRAM.format(path=path, python=python, module=module))
        program.chmod(0o755)


@contextmanager
def machine_up(folder: Path, site: Path, drop_ins: Mapping[str, str]) -> Iterator[Machine]:
    """Booted, with the shipped units and the programs that they start; nothing of it outlives the block.

    `site`: what `easyrider init` wrote, which lies in /etc/easyrider there; `drop_ins`: more of a unit, by its name.
    """
    _write(folder, drop_ins)
    shutil.move(site, folder / "easyrider" / "site")
    groups = _cgroups()
    assert groups is not None
    told = {
        "MACHINE": folder, "SOURCE": ROOT, "PACKAGES": sysconfig.get_path("platlib"), "PYTHON": sys.base_prefix,
        "NATIVE": library.folder(), "UNITS": UNITS, "SYSTEMD": SYSTEMD,
        "NATS": _nats_server(),
    }  # fmt: skip
    (folder / "boot.sh").write_text(BOOT)
    group = groups / f"easyrider-test-{os.getpid()}"
    group.mkdir()
    first = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--uts", "--ipc", "--net", "--cgroup"]
    shell = f'echo 0 > "{group}/cgroup.procs"; exec {" ".join(first)} --kill-child bash "{folder}/boot.sh"'
    log = (folder / "boot.log").open("w")
    outer = subprocess.Popen(
        ["bash", "-c", shell],
        env=os.environ | {name: str(value) for name, value in told.items()},
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        found = Machine(until(lambda: _first(outer.pid), 20, folder), folder)
        until(
            lambda: found.run("systemctl", "is-active", "easyrider-test.target").returncode == 0, 30, folder
        )
        found.run("ip", "link", "set", "lo", "up")
        yield found
    finally:
        pid = _first(outer.pid)
        if pid:
            os.kill(pid, signal.SIGKILL)  # the first of its namespace: all others end with it
        outer.kill()
        outer.wait(10)
        log.close()
        until(lambda: _gone(group), 10, folder)


def _nats_server() -> str:
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server") or ""


def _first(outer: int) -> int:
    """The pid of the systemd below; 0 while there is none."""
    children = Path(f"/proc/{outer}/task/{outer}/children")
    for pid in children.read_text().split() if children.exists() else ():
        name = Path(f"/proc/{pid}/comm")
        if name.exists() and name.read_text().strip() == "systemd":
            return int(pid)
    return 0


def _gone(group: Path) -> bool:
    try:
        for place in sorted((one for one in group.rglob("*") if one.is_dir()), reverse=True):
            place.rmdir()
        group.rmdir()
    except OSError:
        return False
    return True


def until(true: Callable[[], Any], within_s: float, machine: Machine | Path) -> Any:
    """What `true` returned once it was true."""
    file, end_s = (
        (machine.log if isinstance(machine, Machine) else machine / "boot.log"),
        time.monotonic() + within_s,
    )
    while not (found := true()):
        told = file.read_text()[-2000:] if file.exists() else ""
        assert time.monotonic() < end_s, f"not within {within_s} s: {told}"
        time.sleep(0.05)
    return found
