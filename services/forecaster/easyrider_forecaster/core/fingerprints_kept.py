"""What is remembered of types of jobs, what runs add to it, and what is to be stored, replaced or forgotten.

Pure: what is stored is handed in by `take`; what is to be stored is read from `due`, and confirmed by `kept`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec

from easyrider.fingerprints import VARIANTS, Fingerprint
from easyrider.job_types import JobType
from easyrider_forecaster.core import fingerprints_match
from easyrider_forecaster.core.fingerprints_learned import adapted, usual_s
from easyrider_forecaster.core.fingerprints_match import FITS

_FORGOTTEN_AFTER = 5
"""Runs of its type in a row that were like another variant."""
_COMPARABLE = 0.5
"""Of the usual length of a variant's runs: a shorter run that is unlike it tells nothing against it."""
_MOST_WAITING = 500
State = Literal["waiting", "believed", "unlike"]


@dataclass(slots=True, eq=False)
class Track:
    """One run of one job."""

    job: str
    row: int
    of: JobType
    fresh: bool
    state: State = "waiting"
    known: Fingerprint | None = None  # the one that is believed
    score: float = 0.0
    unlike_s: int = 0
    work_s: int = 0  # since it drew what work draws
    kept_at_s: int = 0
    base: Fingerprint | None = None  # what this run is put on top of
    slot: int | None = None  # the variant it is kept as, once it was kept
    revision: int = 0  # held under that variant
    shown: Fingerprint | None = None  # what is to be kept of it
    over: bool = False
    offered: tuple[Fingerprint, Fingerprint] | None = (
        None  # what was last to be kept, and what it was made of
    )


class Memory:
    """Fingerprints by type, as far as the store was read, and runs that wait to be kept."""

    def __init__(self) -> None:
        self.lost = 0
        """Runs of which nothing could be kept, because too many waited for the store."""
        self._known: dict[str, dict[int, Fingerprint]] = {}
        self._held: dict[str, int] = {}  # revisions of ids that cannot be read
        self._waiting: dict[int, Track] = {}
        self._misses: list[Fingerprint] = []
        self._forgotten: list[Fingerprint] = []

    def of(self, type_: JobType) -> list[Fingerprint]:
        """What is remembered of a type."""
        return list(self._known.get(type_.id, {}).values())

    def add(self, track: Track) -> None:
        """This run shows something that is worth keeping."""
        self._waiting[id(track)] = track
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.pop(next(iter(self._waiting)))
            self.lost += 1

    def wanted(self, running: Iterable[Track]) -> list[JobType]:
        """Types of these runs, and of those that wait, whose fingerprints were not read yet."""
        tracks = (*running, *self._waiting.values())
        return list({t.of.id: t.of for t in tracks if t.of.id not in self._known}.values())

    def take(
        self, of: JobType, found: Iterable[Fingerprint], unreadable: Iterable[tuple[str, int]] = ()
    ) -> None:
        """What the store holds of this type. `unreadable`: ids and revisions of what is no fingerprint."""
        self._known[of.id] = {one.variant: one for one in found if one.type.id == of.id}
        self._held.update(unreadable)

    def due(self, now_unix_s: float) -> list[Fingerprint]:
        """What is to be kept now; each is said again until `kept` or `overtaken` names it."""
        found = [self._made(t, now_unix_s) for t in self._waiting.values() if t.of.id in self._known]
        return [*found, *self._misses]

    def forgotten(self) -> list[Fingerprint]:
        """What no run was like any more; each is said again until `gone` names it."""
        return list(self._forgotten)

    def gone(self, one: Fingerprint) -> None:
        """The store holds it no more, or a newer one."""
        self._forgotten = [other for other in self._forgotten if other is not one]

    def kept(self, one: Fingerprint) -> None:
        """The store holds it now."""
        self._held.pop(one.id, None)
        self._hold(one)
        if one in self._misses:
            self._misses.remove(one)
            return
        for key, track in list(self._waiting.items()):
            if track.offered is not None and track.offered[0] is one:
                track.revision = one.revision
                if track.offered[1] is track.shown:  # else it has shown more meanwhile
                    del self._waiting[key]
                    if track.over:
                        self._miss_others(one, track.offered[1].seconds)
            elif track.of.id == one.type.id and track.slot == one.variant:
                track.base, track.revision = one, one.revision  # another run of the same kind goes on top

    def refuse(self, one: Fingerprint) -> None:
        """It cannot be kept: what it was made of is dropped, and counts as lost."""
        self._misses = [miss for miss in self._misses if miss is not one]
        for key, track in list(self._waiting.items()):
            if track.offered is not None and track.offered[0] is one:
                del self._waiting[key]
                self.lost += 1

    def overtaken(self, one: Fingerprint, held: Fingerprint | None, revision: int) -> None:
        """The store holds a newer one: this run goes on top of that. None: it cannot be read, and is replaced."""
        self._misses = [miss for miss in self._misses if miss.id != one.id]
        if held is not None:
            self._hold(held)
        else:
            self._held[one.id] = revision
        for track in self._waiting.values():
            if track.of.id == one.type.id and track.slot == one.variant:
                track.base = held
                track.revision = revision

    def leave(self, running: Iterable[Track]) -> None:
        """Types that no job has are read anew with their next job: another region may have learned of them."""
        used = {track.of.id for track in (*running, *self._waiting.values())}
        self._known = {name: known for name, known in self._known.items() if name in used}
        self._held = {
            kept_id: at for kept_id, at in self._held.items() if kept_id[: kept_id.rindex("-")] in used
        }

    def _hold(self, one: Fingerprint) -> None:
        """Only beside all others of its type: a type of which one variant alone were known would never be read."""
        if one.type.id in self._known:
            self._known[one.type.id][one.variant] = one

    def _made(self, track: Track, now_unix_s: float) -> Fingerprint:
        """The run on top of the variant that it is like, or as a variant of its own."""
        assert track.shown is not None
        if track.slot is None:
            self._choose(track)
        assert track.slot is not None
        one = adapted(track.base, track.shown)
        learned_s = track.base.learned_unix_s if track.base is not None else now_unix_s
        made = msgspec.structs.replace(
            one, variant=track.slot, revision=track.revision + 1, missed=0,
            learned_unix_s=learned_s, updated_unix_s=now_unix_s,
        )  # fmt: skip
        track.offered = made, track.shown
        return made

    def _choose(self, track: Track) -> None:
        assert track.shown is not None
        known = self._known.get(track.of.id, {})
        scored = [(fingerprints_match.alike(one, track.shown), one) for one in known.values()]
        best = max(scored, key=lambda pair: pair[0], default=None)
        if best is not None and best[0] >= FITS:
            track.base, track.slot, track.revision = best[1], best[1].variant, best[1].revision
            return
        free = [variant for variant in range(VARIANTS) if variant not in known]
        if free:
            track.slot = free[0]
            track.revision = self._held.get(f"{track.of.id}-{free[0]}", 0)
        else:  # the one that runs were least like gives way
            given = max(known.values(), key=lambda one: (one.missed, -one.updated_unix_s))
            track.slot, track.revision = given.variant, given.revision

    def _miss_others(self, one: Fingerprint, seconds: float) -> None:
        """A run of `seconds` was like this one, and unlike those others that it lasted long enough to be held to."""
        for variant, other in list(self._known[one.type.id].items()):
            if variant == one.variant or seconds < _COMPARABLE * usual_s(other):
                continue
            if other.missed + 1 >= _FORGOTTEN_AFTER:
                self._forgotten = [*self._forgotten[1 - _MOST_WAITING :], other]
                del self._known[one.type.id][variant]
            else:
                self._misses.append(
                    msgspec.structs.replace(other, missed=other.missed + 1, revision=other.revision + 1)
                )
