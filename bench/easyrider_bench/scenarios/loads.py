"""Which jobs run where and when, scenario by scenario. Boards are numbered node by node, eight a node."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from easyrider_bench.cases import WARM_UP_S, HallJob
from easyrider_bench.controllers.contract import Ints
from easyrider_bench.scenarios.programs import MODEL, training
from easyrider_twin import recordings
from easyrider_twin.programs import Recorded
from easyrider_twin.recorded_rows import BadRecording

BOARDS, PER_NODE = 64, 8
CLASSES = ("low", "normal", "high")
"""In equal thirds of the boards as far as whole jobs allow."""
MIXED_SIZES = (16, 16, 8, 8, 8, 4, 4)
MIXED_CLASSES = ("high", "low", "normal", "normal", "high", "low", "normal")
Load = Callable[[np.random.Generator, float, Path | None], list[HallJob]]
"""(rng, seconds, folder of recordings) -> jobs."""


def mixed(rng: np.random.Generator, seconds: float, _: Path | None) -> list[HallJob]:
    """Seven synchronous jobs of 4 to 16 boards with checkpoints."""
    return _all_at_once(rng, MIXED_SIZES, MIXED_CLASSES, seconds)


def prio(rng: np.random.Generator, seconds: float, _: Path | None) -> list[HallJob]:
    """A third of the boards weighs eight times the rest."""
    classes = ("critical", "low", "low", "low", "low", "critical", "low")
    return _all_at_once(rng, MIXED_SIZES, classes, seconds)


def small32(rng: np.random.Generator, seconds: float, _: Path | None) -> list[HallJob]:
    """32 independent jobs of two boards."""
    return _all_at_once(rng, (2,) * 32, [CLASSES[k % 3] for k in range(32)], seconds)


def bigjob(rng: np.random.Generator, seconds: float, _: Path | None) -> list[HallJob]:
    """One job over the whole hall."""
    return _all_at_once(rng, (BOARDS,), ("normal",), seconds)


def starts(rng: np.random.Generator, seconds: float, _: Path | None) -> list[HallJob]:
    """All jobs start within two seconds, twice."""
    found = []
    for turn, (begin, end) in enumerate(((0.03, 0.48), (0.53, 1.0))):
        for number, (boards, kind) in enumerate(zip(_split(MIXED_SIZES), MIXED_CLASSES, strict=True)):
            begin_s = WARM_UP_S + begin * seconds + float(rng.uniform(0.0, 2.0))
            window_s = (begin_s, WARM_UP_S + end * seconds)
            found.append(training(rng, f"start-{turn}-{number}", boards, window_s, kind))
    return found


def churn(rng: np.random.Generator, seconds: float, _: Path | None) -> list[HallJob]:
    """Jobs of one to four minutes follow each other on every node, with idle gaps."""
    found = []
    for node in range(BOARDS // PER_NODE):
        boards = np.arange(node * PER_NODE, (node + 1) * PER_NODE)
        at_s, number = WARM_UP_S + float(rng.uniform(0.0, 30.0)), 0
        while at_s < WARM_UP_S + seconds - 20.0:
            end_s = at_s + float(rng.uniform(60.0, 240.0))
            kind = CLASSES[int(rng.integers(3))]
            window_s = (at_s, min(end_s, WARM_UP_S + seconds))
            found.append(training(rng, f"churn-{node}-{number}", boards, window_s, kind))
            at_s, number = end_s + float(rng.uniform(5.0, 30.0)), number + 1
    return found


def trace(rng: np.random.Generator, seconds: float, folder: Path | None) -> list[HallJob]:
    """Recorded whole nodes, shifted against each other; smaller recordings are repeated where there are no others."""
    names = recordings.names(folder)
    known = [recordings.load(name, folder) for name in names]
    if not known:
        raise BadRecording(f"{folder} holds no *.csv.gz recording of GPU power")
    whole = [each for each in known if each.gpus == PER_NODE] or known
    found = []
    for node in range(BOARDS // PER_NODE):
        pick = whole[node % len(whole)]
        program = Recorded(
            trace=pick.name,
            folder=str(folder) if folder else None,
            start_s=round(float(rng.uniform(0.0, pick.length_s)), 1),
        )
        found.append(
            HallJob(
                id=f"trace-{node}",
                type_key=f"recorded-{pick.name}",
                priority_class=CLASSES[node % 3],
                boards=np.arange(node * PER_NODE, (node + 1) * PER_NODE),
                begin_s=WARM_UP_S,
                end_s=WARM_UP_S + seconds,
                tape=recordings.tape(program, PER_NODE, MODEL),
            )
        )
    return found


def _split(sizes: tuple[int, ...]) -> list[Ints]:
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends.tolist(), strict=True)]


def _all_at_once(
    rng: np.random.Generator, sizes: tuple[int, ...], classes: tuple[str, ...] | list[str], seconds: float
) -> list[HallJob]:
    """Jobs that all run for the whole time, begun within the first 20 s."""
    found = []
    for number, (boards, kind) in enumerate(zip(_split(sizes), classes, strict=True)):
        begin_s = WARM_UP_S + float(rng.uniform(0.0, 20.0))
        window_s = (begin_s, WARM_UP_S + seconds)
        found.append(training(rng, f"job-{number}", boards, window_s, kind))
    return found
