"""Power fingerprints: what is remembered of a type of job from one run to the next, and how it is kept.

Watts are of one GPU, means over 0.1 s unless said otherwise; times in s; Unix seconds for people alone. A record is
read back whole or not at all: one whose numbers cannot be is `FingerprintUnreadable`, and nothing of it is believed.
"""

from typing import Annotated, Literal

import msgspec

from easyrider.errors import EasyRiderError
from easyrider.job_types import JobType
from easyrider.messages.base import Count, Name, Ratio, Record, Watts

BINS = 64
"""Points of an iteration's shape."""
VARIANTS = 3
"""Fingerprints of one type at most: its runs may differ although it says nothing of why."""
STARTUP_STEP_S = 2.0
STARTUP_STEPS = 60
MOST_BYTES = 64 * 1024
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""A length of time."""
Moment = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""Unix seconds."""
Loss = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
_ROUNDING_W = 0.11


class FingerprintUnreadable(EasyRiderError):
    """What is kept under this id is no fingerprint; it is left aside, and the next run of its type replaces it."""

    def __init__(self, kept_id: str, why: str) -> None:
        self.kept_id, self.why = kept_id, why
        super().__init__(f"fingerprint {kept_id} cannot be read ({why}); its type is learned anew")


class Startup(Record, frozen=True, kw_only=True):
    """From the start of a job on: means over `STARTUP_STEP_S` each, nil where none was measured."""

    mean_w: Annotated[tuple[Watts | None, ...], msgspec.Meta(max_length=STARTUP_STEPS)] = ()
    settles_s: Seconds | None = None  # until it first drew nine tenths of its usual power; nil: not seen


class Pauses(Record, frozen=True, kw_only=True):
    """Checkpoints come at a cadence (by a clock that stops in pauses) and last `LONG_S` or longer; stalls do not."""

    cadence_s: Seconds | None = None
    long_s: Seconds | None = None  # median length of a checkpoint
    depth_w: Watts | None = None  # mean power within one
    lengths_s: Annotated[
        tuple[Seconds, ...], msgspec.Meta(max_length=32)
    ] = ()  # of the last pauses of any kind
    stalls_per_hour: Annotated[float, msgspec.Meta(ge=0, le=36_000)] | None = (
        None  # pauses that were no checkpoint
    )


class SpeedPoint(Record, frozen=True, kw_only=True):
    """How fast iterations went under a limit, beside how fast they go free."""

    limit_share: Ratio  # of the device maximum
    speed_ratio: Annotated[float, msgspec.Meta(ge=0, le=2)]  # free period over the period under this limit
    seconds: Seconds  # over which it was seen


class Trust(Record, frozen=True, kw_only=True):
    """How far one kind of forecast lay behind the best at each horizon, in the forecaster's loss; by its name."""

    of: Literal["mean", "peak"]
    model: Name
    behind: Annotated[tuple[Loss, ...], msgspec.Meta(max_length=16)]


class Fingerprint(Record, frozen=True, kw_only=True):
    """One behaviour of one type of job. `revision` grows with every change that is kept."""

    v: Literal[1] = 1
    type: JobType
    variant: Annotated[int, msgspec.Meta(ge=0, lt=VARIANTS)] = 0
    revision: Count = 0
    runs: Count = 1
    missed: Count = (
        0  # runs of its type that were like another variant, since the last that was like this one
    )
    seconds: Seconds  # measured in all its runs, without start-up
    learned_unix_s: Moment  # first kept
    updated_unix_s: Moment  # last run that matched
    max_w: Watts  # device maximum of its boards
    idle_w: Watts  # lowest draw seen of them
    mean_w: Watts  # with pauses, without start-up
    calm_w: Watts | None = None  # mean outside pauses; nil: not seen apart
    spread_w: Watts  # standard deviation of one-second means outside pauses
    p99_w: Watts  # 0.99 quantile
    peak_w: Watts | None  # 0.995 quantile of what no limit hid: what it draws free; nil: never seen free
    hidden: Ratio  # share of samples that a limit hid
    period_s: Seconds | None = None  # of an iteration; nil: none found, or not observable
    period_spread: Ratio = 0.0  # relative standard deviation of the period
    usual_low_s: Seconds | None = None  # usual length of the low part of an iteration; nil: none regular
    shape_w: Annotated[
        tuple[Watts, ...], msgspec.Meta(max_length=BINS)
    ] = ()  # over one iteration; empty: none
    startup: Startup = Startup()
    pauses: Pauses = Pauses()
    points: Annotated[tuple[SpeedPoint, ...], msgspec.Meta(max_length=32)] = ()
    trust: Annotated[
        tuple[Trust, ...], msgspec.Meta(max_length=128)
    ] = ()  # models that are not named: unknown

    @property
    def id(self) -> str:
        """Of its type, and which of the type's behaviours it is."""
        return f"{self.type.id}-{self.variant}"


def ids(of: JobType) -> tuple[str, ...]:
    """Every id under which a fingerprint of this type may be kept."""
    return tuple(f"{of.id}-{variant}" for variant in range(VARIANTS))


def encode(fingerprint: Fingerprint) -> bytes:
    """As the store keeps it. Raises `FingerprintUnreadable` for one that could not be read back."""
    data = msgspec.json.encode(fingerprint)
    if decode(fingerprint.id, data) != fingerprint:  # JSON knows no NaN: one would come back as nil
        raise FingerprintUnreadable(fingerprint.id, "a number is not finite")
    return data


def decode(kept_id: str, data: bytes) -> Fingerprint:
    """What is kept under `kept_id`. Raises `FingerprintUnreadable`: no JSON, unknown fields, numbers that cannot be.

    Every number has a least and a greatest value, so that nothing infinite passes.
    """
    if len(data) > MOST_BYTES:
        raise FingerprintUnreadable(kept_id, f"{len(data)} bytes where {MOST_BYTES} are allowed")
    try:
        found = msgspec.json.decode(data, type=Fingerprint)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise FingerprintUnreadable(kept_id, str(fault)) from fault
    why = _fault(found)
    if why:
        raise FingerprintUnreadable(kept_id, why)
    if found.id != kept_id:
        raise FingerprintUnreadable(kept_id, f"it is that of {found.id}")
    return found


def _fault(one: Fingerprint) -> str:
    """What cannot be about these numbers; empty where nothing is wrong. Watts may be off by their rounding."""
    top_w = one.max_w + _ROUNDING_W
    for name in ("idle_w", "mean_w", "calm_w", "spread_w", "p99_w", "peak_w"):
        watts = getattr(one, name)
        if watts is not None and watts > top_w:
            return f"{name} lies above max_w"
    if one.max_w <= 0:
        return "max_w is 0"
    for low, high in (("idle_w", "mean_w"), ("mean_w", "p99_w"), ("mean_w", "peak_w")):
        low_w, high_w = getattr(one, low), getattr(one, high)
        if high_w is not None and low_w > high_w + _ROUNDING_W:
            return f"{low} lies above {high}"
    if len(one.shape_w) not in (0, BINS):
        return f"shape_w has {len(one.shape_w)} points, not {BINS}"
    if bool(one.shape_w) != (one.period_s is not None) or one.period_s == 0:
        return "a period and a shape come together"
    for name, row in (("shape_w", one.shape_w), ("startup.mean_w", one.startup.mean_w)):
        if any(w is not None and w > top_w for w in row):
            return f"{name} lies above max_w"
    if one.pauses.depth_w is not None and one.pauses.depth_w > top_w:
        return "pauses.depth_w lies above max_w"
    if one.pauses.cadence_s == 0:
        return "pauses.cadence_s is 0"
    return ""
