"""Another version takes the place of the running one, service by service under load, and hands it back."""

import compileall
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from live_bus import Ear, ear
from live_site import LEAN, Site, calm_world, holds, site_up, start_jobs, until
from standing_still import still

from easyrider import __version__, subjects
from easyrider.messages import NodeState
from easyrider_cli.process import Child
from easyrider_cli.readiness import is_ready

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
NEXT = "99.0.1"
PARTS = ("shared", "cli", "twin", *(f"services/{each.name}" for each in (ROOT / "services").iterdir()))
NODES = ("node-1", "node-2")
TAKE_OVER_S = 5.0
"""Longer than the other takes to lead; from then on it plans by itself, and has 6 s in which it raises nothing."""


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same software under another version, beside this one: what PYTHONPATH has to name."""
    place = tmp_path_factory.mktemp("another")
    for part in PARTS:
        shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
    named = place / "shared" / "easyrider" / "__init__.py"
    named.write_text(named.read_text().replace(f'"{__version__}"', f'"{NEXT}"'))
    compileall.compile_dir(place, quiet=2)  # as an installation is, so that a start takes what it takes there
    return ":".join(str(place / part) for part in PARTS)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    keep = {"EASYRIDER_GUARDIAN_KEEP": "true"}  # as the shipped units and containers are started
    with site_up(
        tmp_path / "run",
        calm_world(),
        without=LEAN,
        rules={"pacing": {"cooldown_s": 2.0}},  # waiting for the next raise shows nothing
        extra={f"guardian-{node}": keep for node in ("node-1", "node-2")},
    ) as site:
        start_jobs(site)
        yield site


def _from(child: Child, path: str | None) -> None:
    """Have it start from another place the next time; None: from where it came."""
    environ = {key: value for key, value in child.environ.items() if key != "PYTHONPATH"}
    child.environ = environ if path is None else {**environ, "PYTHONPATH": path}


def _start(site: Site, name: str, path: str | None) -> None:
    """One service started from there, of the version that lies there, and up."""
    child = site.child(name)
    already = child.log.stat().st_size if child.log.exists() else 0
    _from(child, path)
    site.stack.start(name)
    version = f'"version": "{__version__ if path is None else NEXT}"'
    until(lambda: version in child.log.read_text()[already:], 30, f"{name} of {version}")


def _swap(site: Site, name: str, path: str | None) -> None:
    """One service stopped in order and started from another place, and ready again."""
    assert site.child(name).end() == 0, name
    _start(site, name, path)
    if name.startswith("guardian"):
        until(site.folder.guardian_socket(name.removeprefix("guardian-")).exists, 20, f"{name} listens")
    else:
        until(lambda: is_ready(site.folder.health(name)), 60, f"{name} ready")


def _hand_over(site: Site, old: str, new: str, path: str | None) -> None:
    """A coordinator of the other version stands by, hears everybody, and takes over when the first one leaves."""
    if new not in site.stack.children:
        first = site.child(old)
        own = {
            "EASYRIDER_POLICY_STATE_DIR": str(site.folder.state(new)),
            "EASYRIDER_POLICY_HEALTH_FILE": str(site.folder.health(new)),
        }
        site.stack.children[new] = Child(
            new, first.command, site.folder.log(new), {**first.environ, **own}, orphaned=signal.SIGKILL
        )
    _start(site, new, path)
    until(lambda: _hears(site, new), 60, f"{new} hears states and frames")
    before_w = site.limits_w()
    assert site.child(old).end() == 0
    holds(lambda: site.limits_w() == before_w, TAKE_OVER_S, "limits while the other takes over")
    until(lambda: is_ready(site.folder.health(new)), 30, f"{new} leads")


def _hears(site: Site, name: str) -> bool:
    file = site.folder.health(name)
    if not file.exists():
        return False
    told = httpx.get(f"http://{file.read_text()}/ready", timeout=5.0).json()["checks"]
    # a check appears once what it judges was opened
    return all(told.get(what, {"ok": False})["ok"] for what in ("bus", "states", "frames"))


def _standing(bus: Ear, node: str) -> NodeState:
    message: NodeState = bus.of(NodeState, node=node)[-1].message
    return message


def test_an_upgrade_and_its_rollback_move_no_limit_and_lose_no_state(site: Site, another: str) -> None:
    with ear(site.stack.servers, subjects.every("state")) as bus:
        before_w = still(site)
        until(lambda: all(bus.of(NodeState, node=node) for node in NODES), 10, "both nodes heard")
        stood = {node: _standing(bus, node) for node in NODES}

        for path, old, new in ((another, "policy", "policy-b"), (None, "policy-b", "policy")):
            for name in [f"{service}-{node}" for node in NODES for service in ("actuator", "guardian")]:
                _swap(site, name, path)
                assert site.limits_w() == before_w, f"{name} was replaced and a limit moved"
            _hand_over(site, old, new, path)
            for node in NODES:
                _swap(site, f"telemetry-{node}", path)
            # samples were lost for as long as a start takes, and a coordinator that is new to the jobs learns their
            # peaks anew: both are planned for with more margin for a while
            until(lambda: still(site, within_s=60.0) == before_w, 120, "limits as they were before")

        for node, was in stood.items():
            told = len(bus.of(NodeState, node=node))
            until(lambda node=node, told=told: len(bus.of(NodeState, node=node)) > told, 10, "its word")  # type: ignore[misc]
            now = _standing(bus, node)
            assert now.armed
            assert now.stage == 0
            assert (now.highest_epoch, now.highest_seq) > (was.highest_epoch, was.highest_seq)
            assert {line["cause"] for line in site.guardian_writes(node)} <= {"command"}
    site.judged_clean()
