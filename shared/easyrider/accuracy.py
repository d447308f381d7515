"""How right the forecasts of one job were: the record that is kept of it, and what of it is told.

Watts are of one GPU; times in s; Unix seconds for people alone. Numbers that belong together are kept without their
names (`array_like`), because ten thousand jobs are kept; `told` gives them back their names. A record is read back
whole or not at all. `None` is unknown.
"""

from typing import Annotated, Any

import msgspec

from easyrider.errors import EasyRiderError
from easyrider.messages.base import Count, GivenName, Label, Name, Ratio, Record, Watts

POINTS = 36
MOST_BYTES = 32 * 1024
Moment = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""Unix seconds."""
Windows = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A number of windows; those of long ago count in part where they fade."""
Signed = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
"""Watts that may lie on either side."""
Multiple = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
"""So many times as large."""
Lead = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
"""Seconds before it came."""


class AccuracyUnreadable(EasyRiderError):
    """What is kept of this job is no accuracy; it is left aside, and the forecaster replaces it while the job runs."""

    def __init__(self, kept_id: str, why: str) -> None:
        self.kept_id, self.why = kept_id, why
        super().__init__(
            f"the accuracy kept of {kept_id} cannot be read ({why}); it is replaced while its job runs"
        )


class Score(Record, frozen=True, kw_only=True, array_like=True):
    """Windows of one length. `mase` is the error over that of "the last second goes on", over the same windows."""

    windows: Windows
    mae_w: Watts | None  # of the mean
    bias_w: Signed | None  # mean said less mean seen
    mase: Multiple | None  # None: nothing was judged, or the last second was never wrong
    peak_mae_w: Watts | None
    pinball50_w: Watts | None  # of the peak, as are the next two
    pinball90_w: Watts | None
    pinball99_w: Watts | None
    coverage90: Ratio | None  # share of windows whose peak stayed below the 0.90 bound
    coverage99: Ratio | None
    slack_w: Signed | None  # 0.99 bound less peak


class Horizon(Record, frozen=True, kw_only=True, array_like=True):
    """One horizon: of the whole run, and of about the last ten minutes; and windows that could not be judged."""

    horizon_s: Annotated[int, msgspec.Meta(ge=1, le=3600)]
    run: Score
    lately: Score
    gaps: Count  # samples were missing
    hidden: Count  # a limit hid what was wanted, or moved
    assumed: Count  # nothing was known of the job yet: the forecast was its nameplate


class Rises(Record, frozen=True, kw_only=True):
    """Rises from low to high power, and what `next_rise_s` had said of them."""

    seen: Count
    foretold: Count
    lead_s: Lead | None  # median of the last fifteen that were foretold
    false: Count  # announced, and none came within the tolerance
    withdrawn: Count  # announced, and taken back before they were due


class Point(Record, frozen=True, kw_only=True, array_like=True):
    """Ten seconds: what was said before they began, and what came."""

    mean_w: Watts | None
    q99_w: Watts | None
    seen_mean_w: Watts | None
    seen_peak_w: Watts | None


class Accuracy(Record, frozen=True, kw_only=True):
    """One job in one region."""

    job: GivenName
    region: Name
    tenant: Label
    type_key: Label
    gpu_count: Count
    updated_unix_s: Moment
    seconds: Count  # since its forecasts are kept
    draw: Annotated[tuple[Horizon, ...], msgspec.Meta(max_length=16)]  # under the limits in force
    demand: Annotated[tuple[Horizon, ...], msgspec.Meta(max_length=16)]  # as if there were none
    rises: Rises
    trail_ends_unix_s: Moment | None  # end of the newest point's ten seconds
    trail_step_s: Annotated[float, msgspec.Meta(gt=0, le=3600)]
    trail: Annotated[tuple[Point, ...], msgspec.Meta(max_length=POINTS)]  # of the draw, oldest first
    v: Annotated[int, msgspec.Meta(ge=1, le=1)] = 1

    @property
    def id(self) -> str:
        """Under which it is kept."""
        return kept_id(self.region, self.job)


def kept_id(region: str, job: str) -> str:
    """Under which a job of a region is kept; a region's name holds no blank."""
    return f"{region} {job}"


def encode(one: Accuracy) -> bytes:
    """As the store keeps it. Raises `AccuracyUnreadable` for one that could not be read back."""
    data = msgspec.json.encode(one)
    decode(one.id, data)
    return data


def decode(kept: str, data: bytes) -> Accuracy:
    """What is kept under this id. Raises `AccuracyUnreadable`: no JSON, unknown fields, numbers that cannot be."""
    if len(data) > MOST_BYTES:
        raise AccuracyUnreadable(kept, f"{len(data)} bytes where {MOST_BYTES} are allowed")
    try:
        found = msgspec.json.decode(data, type=Accuracy)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise AccuracyUnreadable(kept, str(fault)) from fault
    if found.id != kept:
        raise AccuracyUnreadable(kept, f"it is that of {found.id}")
    return found


def told(one: Accuracy) -> dict[str, Any]:
    """Everything by its name, as the API and the command line tell it."""
    named: dict[str, Any] = _named(one)
    return named


def _named(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return {name: _named(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [_named(each) for each in value]
    return value
