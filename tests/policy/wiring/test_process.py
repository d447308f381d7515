"""The service as an operator runs it: a first start without rules, newer ones while it runs, an orderly end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wired_box import TREE
from wired_site import rules

from easyrider.store import Store
from easyrider.testing.servers import nats_server, redis_server
from easyrider.tree_reader import dump

pytestmark = pytest.mark.system


def until(true: Callable[[], bool], what: str, within_s: float = 15.0) -> None:
    end_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < end_s, f"not within {within_s} s: {what}"
        time.sleep(0.05)


@pytest.fixture
def servers() -> Iterator[dict[str, str]]:
    with nats_server() as bus, redis_server() as store:
        yield {"EASYRIDER_POLICY_NATS_URL": bus.url, "EASYRIDER_POLICY_REDIS_URL": store.url}


async def test_rules_come_from_the_store_at_the_first_start_and_while_it_runs(
    servers: dict[str, str], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    own = {"EASYRIDER_POLICY_STATE_DIR": str(state), "EASYRIDER_POLICY_REGION": "r"}
    command = [sys.executable, "-m", "easyrider_policy"]
    running = subprocess.Popen(
        command, env={**os.environ, **servers, **own}, stdout=subprocess.PIPE, text=True
    )
    try:
        async with Store.connect(servers["EASYRIDER_POLICY_REDIS_URL"]) as store:
            await store.save_rules(TREE, 2, dump(rules(2)))
            until(lambda: (state / "rules-2.json").exists(), "the store's first rules to be kept")
            await store.save_rules(TREE, 3, dump(rules(3, pdu_w=2000.0)))
            until(lambda: (state / "rules-3.json").exists(), "newer rules to be kept")
            await store.save_rules(TREE, 4, dump(rules(4, pdu_w=1100.0)))
            journal = state / "journal.jsonl"
            until(
                lambda: journal.exists() and "rules_refused" in journal.read_text(),
                "rules whose fallbacks do not fit to be refused",
            )
    finally:
        running.send_signal(signal.SIGTERM)
        output, _ = running.communicate(timeout=20)

    assert running.returncode == 0, output
    assert not (state / "rules-4.json").exists()
    assert '"what":"rules_adopted","version":3,"before":2' in journal.read_text()


def test_rules_that_cannot_be_kept_safe_end_the_start_with_every_fault_and_exit_2(tmp_path: Path) -> None:
    path = tmp_path / "site.json"
    path.write_bytes(dump(rules(pdu_w=1100.0)))
    own = {"EASYRIDER_POLICY_STATE_DIR": str(tmp_path), "EASYRIDER_POLICY_TREE_FILE": str(path)}

    done = subprocess.run(
        [sys.executable, "-m", "easyrider_policy"],
        env={**os.environ, **own}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert "1200 W" in done.stderr
    assert "1100 W" in done.stderr
    assert "Traceback" not in done.stderr
