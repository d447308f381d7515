"""The actuator as a process between a real bus and a real guardian."""

import asyncio
import contextlib
import json
import signal
import urllib.request

import pytest

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.messages import ExitGrant, Leaving, LimitAck, NodeState, SetLimits
from easyrider.testing.servers import nats_server

pytestmark = pytest.mark.system


class Coordinator:
    """Hears a node and commands it over the bus."""

    def __init__(self, bus, node) -> None:
        self.bus, self.node = bus, node
        self.states, self.acks, self.wishes, self.drifts = [], [], [], []

    @classmethod
    @contextlib.asynccontextmanager
    async def over(cls, url, node):
        async with Bus.connect(url, name="policy", buffered=False) as bus:
            self = cls(bus, node)
            await bus.subscribe(subjects.states_in("local"), (NodeState, Leaving), self._heard)
            await bus.subscribe(subjects.acks_in("local"), (LimitAck,), lambda ack, _: self.acks.append(ack))
            client = bus._client
            await client.subscribe(subjects.event("drift", "local"), cb=self._drift)
            yield self

    def _heard(self, message, _arrival):
        (self.wishes if isinstance(message, Leaving) else self.states).append(message)

    async def _drift(self, raw):
        self.drifts.append(json.loads(raw.data)["data"])

    async def say(self, command):
        await self.bus.publish(subjects.command("local", "n1"), command)

    async def ack_of(self, command, within_s=5.0):
        await self.say(command)
        return await self.until(
            lambda: next(
                (ack for ack in self.acks if (ack.epoch, ack.seq) == (command.epoch, command.seq)), None
            ),
            within_s,
        )

    async def until(self, true, within_s=5.0):
        async with asyncio.timeout(within_s):
            while not (found := true()):
                await asyncio.sleep(0.02)
        return found

    async def hears(self):
        """The first state with every board, said after this call."""
        begin = len(self.states)
        await self.until(lambda: len(self.states) > begin and len(self.states[-1].gpus) == 4, 10)
        return self.states[-1]


@pytest.fixture(scope="module")
def nats_url():
    with nats_server() as server:
        yield server.url


def command(node, *limits_w, **fields) -> SetLimits:
    return node.limits(*limits_w, **fields)


async def test_a_command_off_the_bus_is_applied_and_its_ack_says_what_is_enforced(node, actuator, nats_url):
    node.start()
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        state = await policy.hears()

        ack = await policy.ack_of(command(node, 400, 410, 420, 430, nonce=state.nonce))

        assert ack.accepted
        assert [gpu.enforced_w for gpu in ack.gpus] == [400, 410, 420, 430]
        assert node.enforced_w() == [400, 410, 420, 430]


async def test_states_come_each_second_with_a_fresh_nonce_and_at_once_on_a_change(node, actuator, nats_url):
    node.start()
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        state = await policy.hears()
        begin = len(policy.states)
        await policy.until(lambda: len({state.nonce for state in policy.states[begin:]}) >= 3, 4.5)

        await policy.ack_of(command(node, 400, 400, 400, 400))
        await policy.until(lambda: policy.states[-1].highest_seq == node.seq, 0.5)

        assert state.boot_id == policy.states[-1].boot_id
        assert policy.states[-1].armed


async def test_a_killed_actuator_costs_time_and_nothing_else(node, actuator, nats_url):
    node.start(dead_man_s=4)
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        await policy.hears()
        await policy.ack_of(command(node, 400, 400, 400, 400))
        before = node.writes

        actuator.kill()
        actuator.start(nats_url)

        await policy.hears()
        assert (await policy.ack_of(command(node, 400, 400, 400, 400))).accepted
        assert node.writes == before


async def test_a_frozen_actuator_that_wakes_relays_only_what_is_refused_as_late(node, actuator, nats_url):
    node.start(dead_man_s=10)
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        state = await policy.hears()
        await policy.ack_of(command(node, 300, 300, 300, 300, nonce=state.nonce))
        before, raised = node.writes, command(node, 600, 600, 600, 600, ttl_s=1.0)

        actuator.signal(signal.SIGSTOP)
        await policy.say(raised)
        await asyncio.sleep(2.2)  # the freeze itself: longer than the lease
        actuator.signal(signal.SIGCONT)

        ack = await policy.until(lambda: next((a for a in policy.acks if a.seq == raised.seq), None))
        assert ack.refused == "stale_nonce"
        assert node.writes == before
        assert node.enforced_w() == [300] * 4


async def test_a_guardian_started_anew_is_followed(node, actuator, nats_url):
    node.start()
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        await policy.hears()
        await policy.ack_of(command(node, 400, 400, 400, 400))

        node.kill()
        node.start()

        await policy.hears()
        assert (await policy.ack_of(command(node, 450, 450, 450, 450))).accepted
        assert node.enforced_w() == [450] * 4


async def test_a_foreign_write_is_told_as_an_event_with_its_cause(node, actuator, nats_url):
    node.start()
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        await policy.hears()
        await policy.ack_of(command(node, 400, 400, 400, 400))
        await policy.until(lambda: policy.states[-1].highest_seq == node.seq)

        node.boards.gpus["requested_mw"][1] = node.boards.gpus["enforced_mw"][1] = 700_000

        drift = await policy.until(lambda: policy.drifts and policy.drifts[0], 2)
        assert (drift["node"], drift["uuid"], drift["cause"]) == ("n1", "GPU-1", "reverted_to_default")
        await policy.until(lambda: node.enforced_w()[1] == 400, 2)
        assert len(policy.drifts) == 1, "the repair is no drift"


async def test_a_node_that_stops_asks_for_leave_over_the_bus_and_restores_when_granted(
    node, actuator, nats_url
):
    node.start()
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        await policy.hears()
        await policy.ack_of(command(node, 400, 400, 400, 400))
        await policy.hears()

        actuator.signal(signal.SIGTERM)  # both are stopped at once, as a service manager does
        node.signal(signal.SIGTERM)
        wish = await policy.until(lambda: policy.wishes and policy.wishes[0])
        await policy.until(lambda: len(policy.wishes) >= 2)
        ack = await policy.ack_of(node_exit_grant(node, wish.nonce))

        assert {gpu.baseline_w for gpu in wish.gpus} == {700}
        assert ack.accepted
        assert node.exit_code() == 0
        assert node.enforced_w() == [700] * 4
        assert await asyncio.to_thread(actuator.process.wait, 10) == 0


async def test_readiness_is_the_age_of_the_guardians_word(node, actuator, nats_url):
    node.start()
    actuator.start(nats_url)
    async with Coordinator.over(nats_url, node) as policy:
        await policy.hears()
        await policy.until(lambda: _ready(actuator))

        node.kill()

        await policy.until(lambda: not _ready(actuator), 5)
        assert actuator.process.poll() is None


def node_exit_grant(node, nonce) -> ExitGrant:
    node.seq += 1
    return ExitGrant(
        tree="site", region="local", node="n1", epoch=node.epoch, seq=node.seq, nonce=nonce, ttl_s=2.0
    )


def _ready(actuator) -> bool:
    try:
        address = actuator.health_file.read_text().strip()
        with urllib.request.urlopen(f"http://{address}/ready", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False
