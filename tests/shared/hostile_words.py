"""Everything wrong that can be said to a site of regions by whoever holds the keys of its coordinators and nodes."""

import random
import time
from dataclasses import dataclass, field

from live_bus import Ear, Voice, ear, voice
from live_regions import FAR, LEASES, NEAR, NODES, TOP, TREE, Halls
from live_site import until

from easyrider import subjects
from easyrider.messages import Budget, GpuLimit, LimitAck, NodeState, SetLimits

MUCH_W = 700.0
TIMES = 5
BURST = 5_000


@dataclass(slots=True)
class Answers:
    """Why guardians refused."""

    refused: set[str] = field(default_factory=set)


def say_them(halls: Halls) -> Answers:
    """Commands of before, late, doubled and out of order, budgets nobody granted, bytes that are no message."""
    found = Answers()
    for hall, servers in ((NEAR, halls.near), (FAR, halls.far)):
        node = NODES[hall][0]
        both = subjects.state(hall, node), subjects.ack(hall, node)
        with (
            ear(servers, *both, user=f"policy-{hall}") as heard,
            voice(servers, f"policy-{hall}") as leader,
            voice(servers, f"telemetry-{node}") as agent,
        ):
            _to_one(found, hall, node, heard, leader)
            dice = random.Random(hall)
            for subject in (subjects.command(hall, node), subjects.demand(TOP, hall), subjects.budget(hall)):
                leader.say_raw(subject, *(dice.randbytes(dice.randrange(200)) for _ in range(50)))
            agent.say_raw(subjects.frame(hall, node), *(dice.randbytes(300) for _ in range(BURST)))
    return found


def _to_one(found: Answers, hall: str, node: str, heard: Ear, leader: Voice) -> None:
    early: NodeState = until(lambda: heard.of(NodeState), 5, "the node's word")[-1].message
    time.sleep(LEASES["ttl_s"] + 0.5)  # its nonce is too old from now on
    late: NodeState = heard.of(NodeState)[-1].message
    wrong = [
        _command(late, late.highest_epoch - 1, late.highest_seq + 10, late.nonce),
        _command(late, late.highest_epoch, 1, late.nonce),
        _command(late, late.highest_epoch, late.highest_seq + 1_000_000, early.nonce),
    ] * TIMES
    random.Random(hall).shuffle(wrong)
    for command in wrong:
        leader.say(subjects.command(hall, node), command)
    for nonce in (late.nonce, early.nonce):
        leader.say(subjects.budget(hall), _budget(hall, nonce))
    ours = {(command.epoch, command.seq) for command in wrong}

    def answers() -> list[LimitAck]:
        acks = [one.message for one in heard.of(LimitAck)]
        return [ack for ack in acks if (ack.epoch, ack.seq) in ours and not ack.accepted]

    until(lambda: len(answers()) >= len(wrong), 10, "each of them refused")
    found.refused |= {ack.refused or "" for ack in answers()}


def _command(state: NodeState, epoch: int, seq: int, nonce: int) -> SetLimits:
    limits = tuple(GpuLimit(uuid=gpu.uuid, limit_w=MUCH_W, fallback_w=MUCH_W) for gpu in state.gpus)
    return SetLimits(
        tree=TREE, region=state.region, node=state.node, epoch=epoch, seq=seq, ttl_s=LEASES["ttl_s"], nonce=nonce,
        limits=limits,
    )  # fmt: skip


def _budget(hall: str, nonce: int) -> Budget:
    return Budget(
        parent=TOP, region=hall, epoch=1_000, seq=1, nonce=nonce, lease_s=10.0, granted_w=1e6, guaranteed_w=1e6,
        t_ns=0, tree=TREE, target_w=1e6,
    )  # fmt: skip
