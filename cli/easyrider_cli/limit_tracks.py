"""The limits that were in force, board by board, from what the guardians read back after each write."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from easyrider_twin.outcome import FloatArray


def limit_track(
    read_backs: Iterable[Path], uuids: frozenset[str], first_w: float, start_ns: int, seconds: float
) -> tuple[FloatArray, FloatArray]:
    """(seconds since `start_ns`, mean limit of `uuids` from then on), both of one shape, as steps up to `seconds`.

    `first_w` holds for a board until its first write. Lines: `stamp_ns` on the boot clock, `enforced_w` (null
    where it could not be read, which moves nothing here).
    """
    moves = sorted(
        (int(line["stamp_ns"]), line["uuid"], float(line["enforced_w"]))
        for path in read_backs
        for line in _lines(path)
        if line["uuid"] in uuids and line["enforced_w"] is not None
    )
    held_w = dict.fromkeys(uuids, first_w)
    track: dict[float, float] = {}
    for stamp_ns, uuid, enforced_w in moves:
        at_s = (stamp_ns - start_ns) / 1e9
        if at_s > seconds:
            break
        if at_s > 0 and not track:
            track[0.0] = _mean(held_w)
        held_w[uuid] = enforced_w
        if at_s > 0:
            track[round(at_s, 2)] = _mean(held_w)
    track.setdefault(0.0, _mean(held_w))
    track[max(seconds, *track)] = _mean(held_w)
    times_s = sorted(track)
    return np.array(times_s), np.array([track[at_s] for at_s in times_s])


def _mean(held_w: dict[str, float]) -> float:
    return sum(held_w.values()) / max(len(held_w), 1)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
