"""A calm site for the faults that leave it whole, one for each file of them: its tests run one after another."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_bus import Ear, Supply, ear, voice
from live_site import LEAN, Site, calm_world, site_up, start_jobs

from easyrider import subjects

HEARD = tuple(subjects.every(kind) for kind in ("command", "ack", "state", "plan", "job"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two nodes of two boards under a job that gives no reason to move a limit."""
    quick = {"pacing": {"cooldown_s": 2.0}}  # waiting for the next raise shows nothing
    with site_up(Path(tmp_path_factory.mktemp("calm")), calm_world(), without=LEAN, rules=quick) as running:
        start_jobs(running)
        yield running


@pytest.fixture(scope="module")
def bus(site: Site) -> Iterator[Ear]:
    """Commands, acks, states and plans of the calm site."""
    with ear(site.stack.servers, *HEARD) as heard:
        yield heard


@pytest.fixture(scope="module")
def bridge(site: Site) -> Iterator[Supply]:
    """Says what the UPS of the calm site still carries, in place of the bridge."""
    with voice(site.stack.servers, "infra-bridge") as speaking:
        yield Supply(speaking)


@pytest.fixture(autouse=True)
def whole_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test of the calm site its UPS carries all modules, so that what one breaks fails no other."""
    yield
    if "bridge" in request.fixturenames and "site" in request.fixturenames:
        site: Site = request.getfixturevalue("site")
        for child in site.stack.children.values():
            child.signal(signal.SIGCONT)
        site.tell_twin("fail_module", domain="ups", modules=0)
        request.getfixturevalue("bridge").say(5)
