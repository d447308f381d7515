"""What one guardian holds in its hands: its standing, its boards, and the way to write to them. One thread."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from easyrider import log
from easyrider.units import nanoseconds
from easyrider_guardian.adapters.clocks import mono_ns, wall_ns
from easyrider_guardian.adapters.crew import Crew
from easyrider_guardian.adapters.keeper import Keeper
from easyrider_guardian.core import repair
from easyrider_guardian.core.nonces import Minter
from easyrider_guardian.core.orders import Look, Order, Outcome
from easyrider_guardian.core.records import Baseline, Holding, HoldOrder, Reading, Standing, Terms
from easyrider_guardian.core.report import Known, Moment

FRESH_S = 1.5
MINT_EVERY_S = 1.0


@dataclass(slots=True)
class View:
    """One board as it was seen last."""

    index: int = 0
    seen: Reading | None = None
    seen_ns: int = 0
    fault: str | None = None
    record: repair.Record = field(default_factory=repair.Record)


class Node:
    """The guardian's state. `baselines` None: unarmed, so that nothing may be written."""

    def __init__(
        self,
        terms: Terms,
        minter: Minter,
        crew: Crew,
        keeper: Keeper,
        standing: Standing,
        baselines: dict[str, Baseline] | None,
    ) -> None:
        self.terms, self.minter, self.crew, self.keeper = terms, minter, crew, keeper
        self.standing, self.baselines = standing, baselines
        self.views: dict[str, View] = {}
        self.faulty: dict[int, str] = {}  # boards by index whose last look failed
        self.stored = True
        self.leaving: str | None = None
        self.hold: HoldOrder | None = None  # an operator's: nothing rises, the dead-man's second stage apart
        self._nonce, self._minted_ns = 0, -nanoseconds(MINT_EVERY_S)
        self._log = log.get("guardian")

    @property
    def armed(self) -> bool:
        """Whether anything may be written, and the dead-man runs."""
        return self.baselines is not None

    @property
    def all_looked_at(self) -> bool:
        """Whether every board, of the driver or on file, has answered or failed since the start."""
        told = sum(view.seen is not None or view.fault is not None for view in self.views.values())
        on_file = {*self.standing.holdings, *needed(self.baselines)}
        return (
            self.crew.opened and told + len(self.faulty) >= self.crew.count and on_file <= self.views.keys()
        )

    def nonce(self, now_ns: int) -> int:
        """The nonce of this second."""
        if now_ns - self._minted_ns >= nanoseconds(MINT_EVERY_S):
            self._nonce, self._minted_ns = self.minter.mint(now_ns), now_ns
        return self._nonce

    def moment(self, now_ns: int) -> Moment:
        """For a message said now."""
        return Moment(t_ns=wall_ns(), mono_ns=mono_ns(), nonce=self.nonce(now_ns))

    def keep(self, standing: Standing) -> bool:
        """Take a standing and store it; False: it is not on disk, so limits may only fall."""
        self.standing = standing
        self.stored = self.keeper.keep(standing)
        return self.stored

    def absorb(self) -> None:
        """Take in what the boards told."""
        for told in self.crew.drain():
            if isinstance(told, Look):
                self._looked(told)
            else:
                self._wrote(told)

    def readings(self, now_ns: int, not_before_ns: int = 0) -> dict[str, Reading | None]:
        """Every known board with its reading, None where there is no fresh one (or none since `not_before_ns`)."""
        seen = sorted(self.views, key=lambda uuid: self.views[uuid].index)
        known = dict.fromkeys([*seen, *self.standing.holdings, *needed(self.baselines)])
        return {uuid: self.reading(uuid, now_ns, not_before_ns) for uuid in known}

    def reading(self, uuid: str, now_ns: int, not_before_ns: int = 0) -> Reading | None:
        """The fresh reading of a board, if there is one; none of a board that hangs."""
        view = self.views.get(uuid)
        if view is None or view.fault is not None or self.crew.hangs(uuid):
            return None
        oldest_ns = max(not_before_ns, now_ns - nanoseconds(FRESH_S))
        return view.seen if view.seen_ns >= oldest_ns else None

    def boards(self, now_ns: int, not_before_ns: int = 0) -> dict[str, Known]:
        """Every known board, for messages; without a reading where none is fresh (or none since `not_before_ns`)."""
        return {
            uuid: Known(uuid=uuid, reading=reading, last=self._last(uuid), settable=self._settable(uuid))
            for uuid, reading in self.readings(now_ns, not_before_ns).items()
        }

    def last_enforced_w(self) -> dict[str, float]:
        """The last enforced limit seen of each board, however old."""
        return {uuid: view.seen.enforced_w for uuid, view in self.views.items() if view.seen is not None}

    def record(self, uuid: str) -> repair.Record:
        """How the board took its writes."""
        return self.views[uuid].record if uuid in self.views else repair.Record()

    def tried(self, uuid: str, now_ns: int) -> None:
        """A write to this board begins."""
        if uuid in self.views:
            self.views[uuid].record = replace(self.views[uuid].record, tried_ns=now_ns)

    def unwritable(self, now_ns: int) -> dict[str, str]:
        """Boards that take no limit now, and why. Without permission one board is tried, once a minute."""
        denied = [view.record for view in self.views.values() if view.record.blocked == "no_permission"]
        resting = any(not record.rested(now_ns) for record in denied)
        found: dict[str, str] = {}
        for uuid, view in self.views.items():
            if view.record.blocked == "not_supported":
                found[uuid] = "not_supported"
            elif denied and (resting or view.record is not denied[0]):
                found[uuid] = "no_permission"
            elif view.record.quarantined and not view.record.rested(now_ns):
                found[uuid] = "quarantined"
        return found

    def quarantined(self) -> frozenset[str]:
        """Boards that may only fall."""
        return frozenset(uuid for uuid, view in self.views.items() if view.record.quarantined)

    def order(
        self,
        uuid: str,
        limit_w: float,
        raises: bool,
        cause: repair.Cause,
        permit: Callable[[int], str | None],
    ) -> Order:
        """A write under the present standing."""
        standing = self.standing
        return Order(
            uuid=uuid,
            limit_w=round(limit_w, 3),
            raises=raises,
            cause=cause,
            epoch=standing.epoch,
            seq=standing.seq,
            mint_ns=standing.grant_ns,
            ttl_s=standing.ttl_s,
            permit=permit,
        )

    def still_held(self, uuid: str) -> Callable[[int], str | None]:
        """A permit that ends when something else is asked of the board."""
        held = self.standing.holdings.get(uuid)
        return lambda _now_ns: None if self.standing.holdings.get(uuid) == held else "superseded"

    def carry_out(self, orders: Iterable[Order]) -> dict[str, Outcome]:
        """Writes side by side, waited for within a deadline, and taken in."""
        outcomes = self.crew.carry_out(orders)
        self.absorb()
        for uuid, outcome in outcomes.items():
            if outcome.fault == "no_answer" and uuid in self.views:
                # The call may come into effect yet: what was read before it proves nothing any more.
                self.views[uuid].fault = outcome.fault
        return outcomes

    def _looked(self, look: Look) -> None:
        if look.fault is None:
            self.faulty.pop(look.index, None)
        else:
            self.faulty[look.index] = look.fault
        if look.uuid is None:
            return
        view = self.views.setdefault(look.uuid, View())
        view.index, view.fault = look.index, look.fault
        if look.reading is None:
            log.bounded(self._log, look.uuid, 60).warning(
                "a board does not answer", gpu=look.uuid, fault=look.fault
            )
            return
        view.seen, view.seen_ns = look.reading, look.at_ns
        if not look.reading.settable:
            view.record = replace(view.record, blocked="not_supported")
        self._adopt(look.uuid, look.reading)

    def _adopt(self, uuid: str, reading: Reading) -> None:
        """Armed with damaged files: nobody knows what was written, so every board is under the dead-man."""
        if self.baselines == {} and uuid not in self.standing.holdings:
            self.standing = self.standing.with_holdings(
                {uuid: Holding(present_w=reading.highest_w, fallback_w=None)}
            )

    def _wrote(self, outcome: Outcome) -> None:
        order = outcome.order
        view = self.views.setdefault(order.uuid, View())
        if outcome.reading is not None:
            view.seen, view.seen_ns, view.fault = outcome.reading, outcome.at_ns, None
        if outcome.refused is not None:
            return
        if outcome.fault == "no_permission":
            view.record = replace(view.record, blocked="no_permission", tried_ns=outcome.at_ns)
            log.bounded(self._log, "permission", 60).error(
                "no permission to set limits: monitoring only; the unit easyrider-guardian needs CAP_SYS_ADMIN"
            )
            return
        if outcome.fault == "not_supported":
            view.record = replace(view.record, blocked="not_supported")
            return
        before = view.record
        view.record = repair.took(before, outcome.verified, outcome.at_ns)
        self._log.info(
            "limit written" if outcome.verified else "limit not verified",
            gpu=order.uuid,
            cause=order.cause,
            limit_w=order.limit_w,
            enforced_w=None if outcome.reading is None else outcome.reading.enforced_w,
            epoch=order.epoch,
            seq=order.seq,
            fault=outcome.fault,
        )
        if view.record.quarantined and not before.quarantined:
            self._log.error("three writes in a row had no effect: the board may only fall", gpu=order.uuid)

    def _last(self, uuid: str) -> Reading | None:
        return self.views[uuid].seen if uuid in self.views else None

    def _settable(self, uuid: str) -> bool:
        record = self.record(uuid)
        return record.blocked is None and not record.quarantined and uuid in self.views


def needed(baselines: Mapping[str, Baseline] | None) -> Mapping[str, Baseline]:
    """The baselines of an armed node, none of an unarmed one."""
    return {} if baselines is None else baselines
