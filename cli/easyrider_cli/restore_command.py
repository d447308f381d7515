"""`easyrider restore`: nodes give back the limits they were found with."""

import time
from pathlib import Path

from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider.guardian_link import GuardianLink, LinkBroken
from easyrider.messages import NodeState

_LEAVE_S = 10.0
"""Longer than any guardian waits for leave."""
_LOOK_S = 0.01
_NO_LEAVE = (
    "no leave was granted: no coordinator, or no room for what was found; the lower of limit and fallback holds; "
    "`easyrider restore --now` does not ask, and you answer for the sums"
)


class NoGuardian(EasyRiderError):
    """There is no guardian's socket where one was looked for."""

    def __init__(self, place: Path) -> None:
        self.place = place
        super().__init__(
            f"no guardian listens in {place}: name its socket by --socket; where none runs any more, "
            "`easyrider-guardian --restore` with its settings puts back what was found"
        )


def restore(*, run: Path, socket: Path | None, now: bool, console: Console) -> int:
    """Exit code: 0 when every node is restored, 1 when one is not. Raises `NoGuardian`, `LinkBroken`.

    By default leave is asked for, and the coordinator makes room first. `now` does not ask: the sums of the
    site are then the operator's to answer for.
    """
    places = [socket] if socket is not None else sorted(run.glob("*/guardian.sock"))
    if not places:
        raise NoGuardian(run)
    said = [_restored(place, now) for place in places]
    for line, _done in said:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    return 0 if all(done for _line, done in said) else 1


def _restored(place: Path, now: bool) -> tuple[str, bool]:
    if not place.exists():
        raise NoGuardian(place)
    with GuardianLink.open(place) as guardian:
        state = guardian.state()
        if not state.armed:
            return f"{state.node}: nothing to restore, no limit of ours is in force", True
        if now:
            in_the_way = guardian.restore()
            if not in_the_way:
                return _done(guardian.state()), True
            return _held(
                guardian.state(), "; ".join(f"{uuid}: {why}" for uuid, why in in_the_way.items())
            ), False
        guardian.leave()
        if _let_go(guardian):
            return _done(guardian.state()), True
        return _held(guardian.state(), _NO_LEAVE), False


def _let_go(guardian: GuardianLink) -> bool:
    """Whether it was seen without limits of ours before it stopped asking; a coordinator may limit it again soon."""
    deadline_s = time.monotonic() + _LEAVE_S
    while (state := guardian.state()).armed and state.leaving:
        if time.monotonic() > deadline_s:
            raise LinkBroken(f"{state.node} still asks for leave after {_LEAVE_S:.0f} s")
        time.sleep(_LOOK_S)
    return not state.armed


def _done(state: NodeState) -> str:
    again = "; a coordinator that enforces limits it again" if state.armed else ""
    return f"{state.node}: restored, {len(state.gpus)} GPUs as they were found{again}"


def _held(state: NodeState, why: str) -> str:
    return f"{state.node}: {sum(gpu.controlled for gpu in state.gpus)} GPUs still limited: {why}"
