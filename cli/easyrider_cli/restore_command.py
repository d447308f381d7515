"""`easyrider restore`: nodes give back the limits they were found with."""

import json
import sys
import time
from pathlib import Path

from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider.guardian_link import GuardianLink, LinkBroken
from easyrider.messages import NodeState
from easyrider_cli.front_door import front_door

_LEAVE_S = 10.0
"""Longer than any guardian waits for leave."""
_LOOK_S = 0.01
_AGAIN = (
    "a coordinator in pilot or enforce limits a node again as soon as it plans for it: "
    "set its mode to observe, or stop it, to have it stay as found"
)


class NoGuardian(EasyRiderError):
    """There is no guardian's socket where one was looked for."""

    def __init__(self, place: Path) -> None:
        self.place = place
        super().__init__(
            f"no guardian listens in {place}: name its socket by --socket; where none runs any more, "
            "`easyrider-guardian --restore` with its settings puts back what was found"
        )


def restore(*, run: Path, socket: Path | None, now: bool, console: Console, as_json: bool = False) -> int:
    """Exit code: 0 when every node is restored, 1 when one is not. Raises `NoGuardian`, `LinkBroken`.

    By default leave is asked for, and the coordinator makes room first. `now` does not ask: the sums of the
    site are then the operator's to answer for.
    """
    places = [socket] if socket is not None else sorted(run.glob("*/guardian.sock"))
    if not places:
        raise NoGuardian(run)
    said = [_restored(place, now) for place in places]
    if as_json:
        nodes = [{"said": line, "restored": done} for line, done in said]
        sys.stdout.write(json.dumps({"nodes": nodes, "done": all(done for _, done in said)}) + "\n")
        return 0 if all(done for _, done in said) else 1
    for line, _done in said:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if any(": restored, " in line for line, _done in said):
        console.print(_AGAIN, highlight=False, markup=False, soft_wrap=True)
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
        after = _asked(guardian)
        return (_held(after, why_held(state, after)), False) if after.armed else (_done(after), True)


def why_held(before: NodeState, after: NodeState) -> str:
    """Why a node that asked for leave was not let go: whoever leads commands it every second, and was heard or not."""
    heard = (after.highest_epoch, after.highest_seq) > (before.highest_epoch, before.highest_seq)
    holds = (
        f"the lower of limit and fallback holds; `{front_door()} restore --now` does not ask, and you answer for "
        "the sums"
    )
    if not heard:
        return f"no coordinator answered; {holds}"
    found_w = sum(gpu.baseline_w or gpu.max_w for gpu in before.gpus if gpu.controlled)
    return f"no room now: the sums forbid the {found_w:.0f} W it was found with; {holds}"


def _asked(guardian: GuardianLink) -> NodeState:
    """Its state once it is without limits of ours, or has stopped asking; a coordinator may limit it again soon."""
    deadline_s = time.monotonic() + _LEAVE_S
    while (state := guardian.state()).armed and state.leaving:
        if time.monotonic() > deadline_s:
            raise LinkBroken(f"{state.node} still asks for leave after {_LEAVE_S:.0f} s")
        time.sleep(_LOOK_S)
    return state


def _done(state: NodeState) -> str:
    return f"{state.node}: restored, {len(state.gpus)} GPUs as they were found"


def _held(state: NodeState, why: str) -> str:
    return f"{state.node}: {sum(gpu.controlled for gpu in state.gpus)} GPUs still limited: {why}"
