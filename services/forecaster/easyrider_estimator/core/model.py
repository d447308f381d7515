"""A model as it is kept: one JSON document with the trees in lightgbm's own text, its hash, and nothing that runs.

What is damaged is refused by name; hash, ranges and trees are looked at before anything is estimated.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from easyrider.errors import EasyRiderError
from easyrider.fingerprints import Moment
from easyrider.messages.base import Label, Name, Ratio, Record
from easyrider_estimator.core.boards import Board, Jobs, Number
from easyrider_estimator.core.layout import MOST_SETTINGS, Feature
from easyrider_estimator.core.margins import Margin
from easyrider_estimator.core.said import GPU_COUNT
from easyrider_estimator.core.targets import BY_NAME, NEEDED
from easyrider_estimator.core.trees import MOST_BYTES as MOST_TEXT
from easyrider_estimator.core.trees import Trees, TreesUnreadable, read

MOST_BYTES = 16 * 1024 * 1024
FORMAT = "easyrider-estimator/1"
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class ModelUnreadable(EasyRiderError):
    """A model file is damaged, too large or of another kind; estimates are the nameplate until it is replaced."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the model cannot be read ({why}); train it anew: easyrider train")


class Measured(Record, frozen=True, kw_only=True):
    """How good estimates were on jobs that were not learned from; in units of the target."""

    jobs: Jobs
    off: Number  # mean absolute error
    plain_off: Number  # that of the mean over jobs on the same model of GPU
    covered: Ratio  # share within margins drawn from other jobs
    width: Number  # mean width of the interval


class Learned(Record, frozen=True, kw_only=True):
    """One of what is estimated."""

    target: Name
    trees: Annotated[str, msgspec.Meta(max_length=MOST_TEXT)]
    margins: dict[str, Margin]  # by model of GPU
    measured: Measured


class Importance(Record, frozen=True, kw_only=True):
    """By how much splits by a feature lowered the squared error, as a share of all; over mean and p99."""

    feature: Name
    share: Ratio


class Model(Record, frozen=True, kw_only=True):
    """Everything that an estimate needs."""

    made_unix_s: Moment
    library: Label  # which grew the trees
    note: Label = ""  # what whoever trained it says of the jobs
    fingerprints: Jobs  # learned from
    types: Jobs  # of jobs among them
    left_out: dict[str, Jobs]  # fingerprints that teach nothing, by why
    coverage: Ratio  # that intervals were drawn for
    features: Annotated[tuple[Feature, ...], msgspec.Meta(max_length=MOST_SETTINGS + 4)]
    passed_over: Annotated[tuple[Name, ...], msgspec.Meta(max_length=4096)]  # settings too seldom said
    boards: Annotated[tuple[Board, ...], msgspec.Meta(max_length=256)]
    learned: Annotated[tuple[Learned, ...], msgspec.Meta(max_length=len(BY_NAME))]
    importance: tuple[Importance, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """What trees look at."""
        return tuple(name for feature in self.features for name in feature.columns)

    def board(self, gpu_model: str | None) -> Board | None:
        """What is known of a model of GPU."""
        return next((board for board in self.boards if board.gpu_model == gpu_model), None)


class Kept(Record, frozen=True, kw_only=True):
    """The file."""

    format: Literal["easyrider-estimator/1"] = "easyrider-estimator/1"
    sha256: Digest  # of the model as JSON
    model: Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A model whose trees are read: `trees` by target."""

    model: Model
    sha256: str
    trees: dict[str, Trees]

    @property
    def version(self) -> str:
        """Short, for people and logs."""
        return self.sha256[:12]


def encode(model: Model) -> bytes:
    """As it is written to a file. Raises `ModelUnreadable` for one that could not be read back."""
    whole = msgspec.json.encode(Kept(sha256=_digest(model), model=model))
    decode(whole)
    return whole


def decode(data: bytes) -> Ready:
    """The model of a file. Raises `ModelUnreadable`."""
    if len(data) > MOST_BYTES:
        raise ModelUnreadable(f"it has more than {MOST_BYTES} bytes")
    try:
        kept = msgspec.json.decode(data, type=Kept)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise ModelUnreadable(str(fault)[:300]) from fault
    if _digest(kept.model) != kept.sha256:
        raise ModelUnreadable("its hash is not that of what it holds")
    return Ready(model=kept.model, sha256=kept.sha256, trees=_trees(kept.model))


def _trees(model: Model) -> dict[str, Trees]:
    names = [feature.name for feature in model.features]
    _once("feature", names)
    _once("board", [board.gpu_model for board in model.boards])
    _once("target", [one.target for one in model.learned])
    if GPU_COUNT not in names:
        raise ModelUnreadable(f"it lacks the feature {GPU_COUNT}")
    found: dict[str, Trees] = {}
    for one in model.learned:
        if one.target not in BY_NAME:
            raise ModelUnreadable(f"it estimates {one.target[:64]!r}, which nobody here knows")
        try:
            found[one.target] = read(one.trees)
        except TreesUnreadable as fault:
            raise ModelUnreadable(f"{one.target}: {fault.why}") from fault
        if found[one.target].columns != len(model.columns):
            raise ModelUnreadable(f"{one.target} looks at other columns than it names")
    if missing := [name for name in NEEDED if name not in found]:
        raise ModelUnreadable(f"it does not estimate {missing[0]}")
    return found


def _once(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise ModelUnreadable(f"a {what} stands in it twice")


def _digest(model: Model) -> str:
    return hashlib.sha256(msgspec.json.encode(model)).hexdigest()
