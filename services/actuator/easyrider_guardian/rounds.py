"""What the guardian does without being told: look, repair drift, and be the dead-man. One pass never waits."""

from easyrider import log
from easyrider.units import nanoseconds
from easyrider_guardian.core import deadman, repair
from easyrider_guardian.node import Node

LOOK_EVERY_S = 0.5


class Rounds:
    """Passes over the boards; `next_ns` says when the next one is due."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._look_ns = 0
        self._log = log.get("rounds")

    def next_ns(self) -> int:
        """CLOCK_BOOTTIME of the next thing to do."""
        stage_ns = deadman.next_change_ns(self._node.standing, self._node.terms)
        return self._look_ns if stage_ns is None or not self._node.armed else min(self._look_ns, stage_ns)

    def go(self, now_ns: int) -> None:
        """One pass."""
        node = self._node
        node.crew.tend(now_ns)
        node.absorb()
        self._renew()
        if now_ns >= self._look_ns:
            node.crew.look()
            self._look_ns = now_ns + nanoseconds(LOOK_EVERY_S)
        if node.armed:
            self._enter(now_ns)
            self._repair(now_ns)

    def _renew(self) -> None:
        node = self._node
        faults = [why for why in node.faulty.values() if why in ("driver", "device_fault")]
        if node.crew.opened and node.crew.count and len(faults) == node.crew.count:
            node.crew.renew()
            node.faulty.clear()

    def _enter(self, now_ns: int) -> None:
        node = self._node
        reached = deadman.stage(node.standing, node.terms, now_ns)
        if reached == 0:
            return
        entered = deadman.enter(node.standing, reached, node.terms, node.readings(now_ns))
        if entered == node.standing:
            return
        if reached > node.standing.stage:
            silent_s = (now_ns - node.standing.grant_ns) / 1e9
            self._log.warning("no grant: the dead-man acts", stage=reached, silent_s=round(silent_s, 3))
        node.keep(entered)

    def _repair(self, now_ns: int) -> None:
        node, standing = self._node, self._node.standing
        blocked = node.unwritable(now_ns)
        raises: list[tuple[str, float]] = []
        drifted = False
        for uuid, held in standing.controlled.items():
            reading = node.reading(uuid, now_ns)
            if reading is None:
                continue
            drifted = drifted or repair.drifted(held, reading)
            limit_w = repair.due(held, reading, node.record(uuid), standing.stage, now_ns)
            if limit_w is None or uuid in blocked:
                continue
            if limit_w < reading.highest_w:
                self._start(uuid, limit_w, False, now_ns)
            else:
                raises.append((uuid, limit_w))
        if drifted or not raises or not (node.stored or node.keep(standing)):
            return
        for uuid, limit_w in raises:
            self._start(uuid, limit_w, True, now_ns)

    def _start(self, uuid: str, limit_w: float, raises: bool, now_ns: int) -> None:
        node = self._node
        cause = repair.cause_of(node.standing.stage)
        order = node.order(uuid, limit_w, raises, cause, node.still_held(uuid))
        if node.crew.start(order):
            node.tried(uuid, now_ns)
            log.bounded(self._log, f"{uuid} {cause}", 10).warning(
                "a board is written without a command", gpu=uuid, cause=cause, limit_w=limit_w
            )
