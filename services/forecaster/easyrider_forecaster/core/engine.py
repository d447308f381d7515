"""The forecaster without its wires: what was heard goes in, seconds are closed, forecasts come out.

`core/bank.py` is the same over plain arrays, without messages; its docstring shows a call.
"""

from collections.abc import Iterable

import numpy as np

from easyrider.messages import SeriesForecast
from easyrider.tree import Rules
from easyrider_forecaster.core import censor, sight
from easyrider_forecaster.core.accuracy import Ledger, Said
from easyrider_forecaster.core.accuracy_told import Told
from easyrider_forecaster.core.arrays import BLOCK_SLOTS, SLOT_S, Array
from easyrider_forecaster.core.boards import BlockOfBoards
from easyrider_forecaster.core.detector import Detector
from easyrider_forecaster.core.domains import Domains
from easyrider_forecaster.core.fingerprints import Shelf
from easyrider_forecaster.core.fingerprints_roll import Roll
from easyrider_forecaster.core.fits import FitDesk, FitRequest, FitResult
from easyrider_forecaster.core.groups import Membership
from easyrider_forecaster.core.intake import Intake
from easyrider_forecaster.core.outlook import Outlook, Rows
from easyrider_forecaster.core.priors import Priors
from easyrider_forecaster.core.speaker import Speaker
from easyrider_forecaster.core.thoughts import Thoughts

_BLOCK_S = BLOCK_SLOTS * SLOT_S
_FARTHEST_BEHIND = 120


class Engine:
    """One region. Times in s of the receiver's monotonic clock are handed in; watts per GPU inside."""

    def __init__(
        self, *, nameplate_w: float = 700.0, priors: Priors | None = None, beside: bool = False
    ) -> None:
        """With `beside`, rhythms are judged by calls of `think` between seconds, else as each second closes."""
        self.intake = Intake(nameplate_w)
        self.outlook = Outlook()
        self.detector = Detector(0)
        self._thoughts = Thoughts() if beside else None
        self.fits = FitDesk()
        self.domains = Domains(())
        self.shelf = Shelf()
        self.ledger = Ledger(0)
        self._roll = Roll(self.shelf)
        self._priors = priors or self.shelf
        self._members: Membership | None = None
        self._rows: Rows | None = None

    def take_rules(self, rules: Rules) -> None:
        """Use this tree from the next second on; the record of domains begins anew."""
        self.intake.take_rules(rules)
        self.domains = Domains(tuple(domain.id for domain in rules.domains))

    def advance(self, now_s: float) -> int:
        """Close every second whose samples had time to come; the number closed."""
        boards, closed = self.intake.boards, 0
        if boards.closed_before == 0:
            return 0
        due_slot = int(np.floor((now_s - self.intake.grace_s) / SLOT_S))
        if due_slot - boards.closed_before > _FARTHEST_BEHIND * BLOCK_SLOTS:
            boards.begin(due_slot // BLOCK_SLOTS * BLOCK_SLOTS)
            self.ledger.pass_over()
        while boards.closed_before + BLOCK_SLOTS <= due_slot:
            self._close()
            closed += 1
        return closed

    def forecast(self) -> tuple[SeriesForecast, ...]:
        """Jobs, then domains, from the last closed second on; empty before there is one."""
        if self._members is None or self._rows is None:
            return ()
        outlook, rows = self.outlook, self._rows
        draw, demand = outlook.look(rows, self.detector.periods.period_s, self.detector.alias)
        speaker = Speaker(self.intake, outlook, self.detector, self._members, rows, self._priors)
        draw, demand = speaker.with_priors(draw, demand)
        block = outlook.history.block
        drawn, wanted = Said(draw, speaker.heard), Said(demand, speaker.known)
        self.ledger.note(block, drawn, wanted, speaker.rise_s, outlook.low_line_w(rows))
        views = self.domains.view(block, draw, demand, rows, speaker.heard)
        return (*speaker.jobs(draw, demand), *speaker.domains(self.domains, views))

    def think(self) -> bool:
        """Judge the rhythm of a few series whose turn it is; False where none waits. Takes a few ms."""
        if self._thoughts is None or self._rows is None:
            return False
        judged = self._thoughts.next(self.detector, self.outlook.history, self._rows.max_w)
        return judged or self.shelf.think(self.outlook, self.detector, self._rows)

    @property
    def closed_s(self) -> float:
        """End of the last closed second, in s of the receiver's monotonic clock."""
        return self.intake.boards.closed_before * SLOT_S

    def running(self, names: Iterable[str] | None = None) -> list[Told]:
        """Jobs with boards, all or those named, for the ledger's records; not one that waits for its row."""
        members, groups = self._members, self.intake.groups
        if members is None:
            return []
        if names is None:
            names = [group.id for group in groups.known.values() if group.kind == "job"]
        found = []
        for name in names:
            group, event = groups.job(name), self.intake.told.get(name)
            if group is None or event is None or group.row in groups.to_clear:
                continue
            gpus = int(members.count[group.row]) if group.row < len(members.count) else 0
            if gpus:
                found.append(Told(name, group.row, gpus, event.tenant, event.type_key))
        return found

    def due_fits(self) -> list[FitRequest]:
        """Level parameters that are due to be fitted elsewhere; each is asked for once."""
        return self.fits.due(self.intake.groups, self.outlook)

    def take_fits(self, results: list[FitResult]) -> None:
        """Parameters that came back."""
        self.fits.take(results, self.intake.groups, self.outlook)

    def _close(self) -> None:
        boards = self.intake.boards
        if self.intake.groups.changed:
            self._regroup()
        members = self._members
        assert members is not None
        block = boards.close()
        raw, hidden, instant, unlike = _grouped(block, members, boards.max_w)
        self._rows = self._ranges(members)
        self.outlook.see(raw.T, hidden.T, self._rows, instant.T, unlike.T)
        self.ledger.judge(self.outlook.history.block, raw.T, hidden.T, self._rows.limit_w)
        self.shelf.see(self.outlook, self.detector, self._rows)
        for job, begin_s in self.intake.marks.new_pauses().items():
            group = self.intake.groups.job(job)
            if group is not None:
                in_s = begin_s - boards.closed_before * SLOT_S
                self.outlook.announce(group.row, in_s)
        if self.domains.ids:
            self.domains.see(self.outlook.history.block, raw.T, hidden.T, self._rows.limit_w)
        history = self.outlook.history
        if self._thoughts is None:
            self.detector.step(history, members, self.intake, self._rows.max_w)
            while self.shelf.think(self.outlook, self.detector, self._rows):
                pass
        else:
            self._thoughts.add(
                self.detector.turn(history), sight.sight(self.intake, history.rows, members.count)
            )

    def _regroup(self) -> None:
        boards, groups = self.intake.boards, self.intake.groups
        self._roll.leave(groups, self.outlook, self.detector, self._rows)
        groups.assign(boards, boards.closed_before)
        for part in (*self.outlook.parts, self.detector, self.shelf.runs, self.ledger):
            part.grow(groups.rows)
            for row in groups.to_clear:
                part.clear(row)
        self._roll.enter(groups, self.intake.told)
        idle = [group.row for group in groups.known.values() if group.kind == "idle"]
        self.outlook.ceiling.patience[idle] = censor.IDLE_PATIENCE_BLOCKS
        groups.to_clear.clear()
        self._members = Membership.of(boards, groups.rows)
        known = {domain: row for row, domain in enumerate(self.domains.ids)}
        weights = np.zeros((len(known), groups.rows))
        for board, node in enumerate(boards.node_of):
            for domain, share in self.intake.shares.get(node, {}).items():
                weights[known[domain], boards.group[board]] += share
        self.domains.weights = weights

    def _ranges(self, members: Membership) -> Rows:
        boards, count = self.intake.boards, np.maximum(members.count, 1)
        limit_w = np.where(np.isfinite(boards.limit_w), np.fmin(boards.limit_w, boards.max_w), boards.max_w)
        floor_w = np.where(np.isfinite(boards.lowest_w), np.fmin(boards.lowest_w, boards.max_w), 0.0)
        limit_w, max_w, floor_w = (
            members.sums(values) / count for values in (limit_w, boards.max_w, floor_w)
        )
        return Rows(floor_w=np.minimum(floor_w, limit_w), limit_w=limit_w, max_w=max_w)


def _grouped(block: BlockOfBoards, members: Membership, max_w: Array) -> tuple[Array, Array, Array, Array]:
    """Mean power, hidden flag, one board's instant power and variance between boards: (10, groups) each.

    A slot needs half of the group's boards, else it is a gap; never filled.
    """
    present = ~np.isnan(block.mean_w)
    number = members.sums(present.astype(np.float64))
    whole = (number > 0) & (number >= 0.5 * members.count)
    raw = np.where(whole, members.sums(np.nan_to_num(block.mean_w)) / np.maximum(number, 1), np.nan)
    at_limit = censor.boards_at_limit(block.mean_w, block.limit_w, max_w)
    hidden = whole & censor.hidden(members.sums(at_limit.astype(np.float64)), number)
    instant = np.full(raw.shape, np.nan)
    instant[:, members.rows] = block.instant_w[:, members.order[members.starts]]
    seen = members.sums((~np.isnan(block.instant_w)).astype(np.float64))
    first = np.nan_to_num(block.instant_w)
    mean = members.sums(first) / np.maximum(seen, 1)
    unlike = np.maximum(members.sums(first**2) / np.maximum(seen, 1) - mean**2, 0.0)
    return raw, hidden, instant, np.where(seen > 1, unlike, np.nan)
