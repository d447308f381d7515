"""Twenty lines of a stranger, as the page says to run them, at a bus as `make run` has it."""

import asyncio
import sys
from pathlib import Path

import pytest

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.embedded import nats_process
from easyrider.messages import DomainPlan, Plan
from easyrider.nats_config import make_nkeys, nats_config, seed_file, site_users
from easyrider.testing.servers import nats_server

TWENTY = Path(__file__).parents[2] / "integrations" / "hello" / "twenty.py"
FEED = DomainPlan(
    domain="feed", hard_limit_w=9000.0, target_w=8000.0, observed_w=6123.0, counted_w=7000.0, budget_w=7000.0,
    unmanaged_w=0.0, closed=True, uncontrolled_gpus=0, price=0.0, missing_w=0.0,
)  # fmt: skip
PLAN = Plan(
    region="local", tree="site", tree_version=1, epoch=1, seq=1, t_ns=0, mono_ns=0, cause="period", leading=True,
    domains=(FEED,), jobs=(), idle_gpus=0, lowers=0, raises=0, raises_waiting=0, silent_nodes=(), reactive=False,
    gap=None, plan_ms=1.0,
)  # fmt: skip


def test_they_are_no_more_than_twenty() -> None:
    assert sum(bool(line.strip()) for line in TWENTY.read_text().splitlines()[1:]) <= 20


@pytest.mark.system
async def test_they_hear_a_plan_and_an_event_that_was_kept_before_they_came(tmp_path: Path) -> None:
    keys = make_nkeys(tmp_path / "keys", ["policy", "integration"])
    server = nats_process(
        tmp_path, config=lambda port: nats_config(site_users("local", [], keys), port, tmp_path / "jetstream")
    )
    server.start()
    try:
        seed = seed_file(tmp_path / "keys", "policy")
        async with Bus.connect(server.url, name="policy", seed_file=seed, wait_s=5.0) as bus:
            await bus.keep_events()
            await bus.publish_event("leader_change", "local", {"epoch": 7}, source="policy", ack_s=5.0)
            lines = await _lines(server.url, seed_file(tmp_path / "keys", "integration"), bus)
    finally:
        server.stop()

    assert '"epoch":7' in lines["event"].replace(" ", "")
    assert lines["plan"] == "feed 6123.0 W of 8000.0 W"


@pytest.mark.system
async def test_where_their_reader_is_gone_they_end_without_a_word(tmp_path: Path) -> None:
    with nats_server() as server:
        async with Bus.connect(server.url, name="policy", wait_s=5.0) as bus:
            await bus.keep_events()
            stranger = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-c", _WITHOUT_A_READER, str(TWENTY), server.url,
                stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert stranger.stderr is not None
            try:
                async with asyncio.timeout(30):
                    while stranger.returncode is None:
                        await bus.publish(subjects.plan("local"), PLAN)
                        await asyncio.sleep(0.05)
                    assert await stranger.stderr.read() == b""
            finally:
                if stranger.returncode is None:
                    stranger.kill()
                await stranger.wait()


_WITHOUT_A_READER = """
import os, runpy, sys
end, out = os.pipe(); os.dup2(out, 1); os.close(end); os.close(out)
sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name="__main__")
"""


async def _lines(url: str, seed: Path, bus: Bus) -> dict[str, str]:
    """What it prints of an event, and of a plan that is said again until it hears it."""
    stranger = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(TWENTY), url, str(seed), stdout=asyncio.subprocess.PIPE
    )
    assert stranger.stdout is not None
    found: dict[str, str] = {}
    try:
        async with asyncio.timeout(30):
            while len(found) < 2:
                await bus.publish(subjects.plan("local"), PLAN)
                try:
                    line = (await asyncio.wait_for(stranger.stdout.readline(), 0.2)).decode().strip()
                except TimeoutError:
                    continue
                found["plan" if line.startswith("feed") else "event"] = line
    finally:
        stranger.kill()
        await stranger.wait()
    return found
