"""Commands on their way: each is asked for leave right before it goes, since a look or the disk may have taken long."""

from collections import Counter
from collections.abc import Sequence

from easyrider import log, metrics, subjects
from easyrider.bus_port import BusDown, BusPort
from easyrider.messages import ExitGrant, Hold, SetLimits
from easyrider_policy.clocks import Clocks
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.commands import Command

_LOG = log.get("policy")
_COMMANDS = metrics.counter("policy_commands_total", "commands said, by kind", ["kind"])
_UNSAID = metrics.counter("policy_commands_unsaid_total", "commands composed that did not leave", ["why"])

TOGETHER = 32
"""Commands that leave in one go: each alone is a call of the kernel, of many the last is asked long before it goes."""


class Saying:
    """What is composed leaves by here, or is counted as unsaid."""

    def __init__(self, coordinator: Coordinator, bus: BusPort, clocks: Clocks) -> None:
        self._coordinator, self._bus, self._clocks = coordinator, bus, clocks

    async def say(self, commands: Sequence[Command]) -> None:
        """All of them, in order, as far as they may leave."""
        for begin in range(0, len(commands), TOGETHER):
            await self._say_some(commands[begin : begin + TOGETHER])

    def _may_leave(self, command: Command) -> bool:
        safety = self._coordinator.picture.safety
        if not safety.may_publish(self._clocks.now_s()) or command.epoch != safety.lead.epoch:
            _UNSAID.labels("lease").inc()
            return False
        if self._coordinator.lower_only and self._raises(command):
            _UNSAID.labels("journal").inc()
            return False
        return True

    def _grant_instead(self, command: Command) -> Hold | None:
        """A vector that may not leave for want of a journal: its node is granted all the same, without watts."""
        safety = self._coordinator.picture.safety
        if not isinstance(command, SetLimits) or not safety.may_publish(self._clocks.now_s()):
            return None
        if command.epoch != safety.lead.epoch:
            return None
        return Hold(
            tree=command.tree,
            region=command.region,
            node=command.node,
            epoch=command.epoch,
            seq=command.seq,
            nonce=command.nonce,
            ttl_s=command.ttl_s,
        )

    def _raises(self, command: Command) -> bool:
        if not isinstance(command, SetLimits):
            return isinstance(command, ExitGrant)  # a restore is a raise
        ledger = self._coordinator.picture.safety.ledger
        for limit in command.limits:
            row = ledger.fleet.gpu_index.get(limit.uuid)
            if row is None:
                continue
            acked_w, fallback_w = ledger.requested_w[row], ledger.fallback_w[row]
            if limit.limit_w is not None and not limit.limit_w <= acked_w:
                return True
            if limit.fallback_w is not None and not (
                limit.fallback_w <= acked_w or limit.fallback_w <= fallback_w
            ):
                return True
        return False

    async def _say_some(self, commands: Sequence[Command]) -> None:
        """Those that may leave; asked right before: the look, or the disk, may have taken long."""
        asked = [each if self._may_leave(each) else self._grant_instead(each) for each in commands]
        leaving = [(subjects.command(one.region, one.node), one) for one in asked if one is not None]
        if not leaving:
            return
        if self._bus.publish_together(leaving):
            for kind, count in Counter(type(command).__name__ for _, command in leaving).items():
                _COMMANDS.labels(kind).inc(count)
            return
        for subject, command in leaving:
            if self._may_leave(command):  # asked again: each of these may wait for the link
                await self._say(subject, command)

    async def _say(self, subject: str, command: Command) -> None:
        try:
            await self._bus.publish(subject, command)
            _COMMANDS.labels(type(command).__name__).inc()
        except BusDown as fault:
            # Booked all the same: had it left, it would count so. The next beat decides afresh.
            _UNSAID.labels("bus").inc()
            log.bounded(_LOG, "say", 5.0).warning(
                "a command did not leave", node=command.node, fault=str(fault)
            )
