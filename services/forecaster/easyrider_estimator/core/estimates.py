"""What a job will draw before it starts: by what trees learned where jobs like it are known, else its nameplate.

Unknown is nil and never zero. Watts are of one GPU unless they are `job` watts.
"""

import math

from easyrider.job_types import JobType
from easyrider.messages.base import Record
from easyrider_estimator.core.boards import Board, strange
from easyrider_estimator.core.model import Learned, Ready
from easyrider_estimator.core.said import GPU_COUNT, GPU_MODEL, texts
from easyrider_estimator.core.saying import say
from easyrider_estimator.core.targets import BY_NAME, SETTLES, STEPS_S, step_name

LEAST_MAX_W, MOST_MAX_W = 10.0, 1e5
"""What a nameplate of one GPU may say: what lies beyond is a slip, and would have nothing or a grid kept free."""


class Interval(Record, frozen=True, kw_only=True):
    """What is expected, and the range that holds `coverage` of jobs like it; nil: not known."""

    expected: float | None = None
    low: float | None = None
    high: float | None = None


class Power(Record, frozen=True, kw_only=True):
    """Mean without start-up, and 0.99 quantile of 0.1 s means."""

    mean_w: Interval
    p99_w: Interval


class Step(Record, frozen=True, kw_only=True):
    """A stretch of the start, and the mean of one GPU over it."""

    from_s: float
    to_s: float
    mean_w: Interval


class Start(Record, frozen=True, kw_only=True):
    """The shape of a start; without steps: not known."""

    settles_s: Interval  # until it first draws nine tenths of its usual power
    steps: tuple[Step, ...] = ()


class Estimate(Record, frozen=True, kw_only=True):
    """The answer to a scheduler. `why`: what it rests on, or why it is the nameplate."""

    basis: str  # model, fingerprint, or nameplate
    why: tuple[str, ...]
    gpu_count: int
    gpu_max_w: float | None  # device maximum: as asked, or of known boards of this model
    reserve_w: float | None  # what to keep free for the job; nil: not even its nameplate is known
    coverage: float | None  # of intervals; nil: none is claimed
    gpu: Power
    job: Power
    startup: Start


def estimate(ready: Ready | None, asked: JobType, gpu_max_w: float | None, without: str = "") -> Estimate:
    """Of this job. `without`: why there is no model, where `ready` is None. `gpu_max_w` lies within its ends."""
    if ready is None:
        return _nameplate(asked, gpu_max_w, (without or "no model was trained",))
    model, said = ready.model, texts(asked)
    board = model.board(said.get(GPU_MODEL))
    if why := strange(model.features, model.passed_over, board, said, gpu_max_w):
        known_w = None if board is None else board.most_max_w
        return _nameplate(asked, gpu_max_w or known_w, tuple(why[:20]))
    assert board is not None
    max_w = gpu_max_w or board.most_max_w
    found = {one.target: _interval(ready, one, board, said, max_w) for one in model.learned}
    power = _ordered(found["mean_w"], found["p99_w"])
    job = Power(mean_w=times(power.mean_w, asked.gpu_count), p99_w=times(power.p99_w, asked.gpu_count))
    steps = [(step, found[name]) for step in STEPS_S if (name := step_name(*step)) in found]
    return Estimate(
        basis="model",
        why=(f"{board.jobs} known jobs on {board.gpu_model!r} span what this one says",),
        gpu_count=asked.gpu_count,
        gpu_max_w=max_w,
        reserve_w=job.p99_w.high,
        coverage=model.coverage,
        gpu=power,
        job=job,
        startup=Start(
            settles_s=found.get(SETTLES, Interval()),
            steps=tuple(Step(from_s=a, to_s=b, mean_w=mean_w) for (a, b), mean_w in steps),
        ),
    )


def _interval(ready: Ready, one: Learned, board: Board, said: dict[str, str], max_w: float) -> Interval:
    target, seen = BY_NAME[one.target], board.of(GPU_COUNT)
    least = 1.0 if seen is None or seen.low is None else seen.low
    value = say(target, ready.trees[one.target], ready.model.features, said, least)
    margin = one.margins.get(board.gpu_model)
    ends = (value, None, None) if margin is None else (value, value + margin.low, value + margin.high)
    if target.share:
        return _of([None if end is None else max_w * min(1.0, max(board.idle_share, end)) for end in ends])
    return _of([None if end is None else math.expm1(min(max(end, 0.0), 12.0)) for end in ends])


def _of(ends: list[float | None]) -> Interval:
    return Interval(expected=ends[0], low=ends[1], high=ends[2])


def _ordered(mean_w: Interval, p99_w: Interval) -> Power:
    """A 0.99 quantile is not below the mean of what never falls below zero by more than chance: none is told so."""
    return Power(
        mean_w=mean_w,
        p99_w=_of([_highest(mean_w.expected, p99_w.expected), p99_w.low, _highest(mean_w.high, p99_w.high)]),
    )


def _highest(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)


def times(one: Interval, count: int) -> Interval:
    """Of so many GPUs."""
    return _of([None if end is None else end * count for end in (one.expected, one.low, one.high)])


def _nameplate(asked: JobType, gpu_max_w: float | None, why: tuple[str, ...]) -> Estimate:
    """All that a board may draw; nothing is expected within that."""
    top = Interval(high=gpu_max_w)
    job = times(top, asked.gpu_count)
    if gpu_max_w is None:
        why = (*why, "and no nameplate is known: say gpu_max_w")
    return Estimate(
        basis="nameplate",
        why=why,
        gpu_count=asked.gpu_count,
        gpu_max_w=gpu_max_w,
        reserve_w=job.high,
        coverage=None,
        gpu=Power(mean_w=top, p99_w=top),
        job=Power(mean_w=job, p99_w=job),
        startup=Start(settles_s=Interval()),
    )
