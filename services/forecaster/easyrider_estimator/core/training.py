"""A model out of fingerprints: trees, margins from jobs that trees had not learned from, and how good they were.

Pure: what grows trees and the time are handed in. The same fingerprints give the same model.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from easyrider.errors import EasyRiderError
from easyrider.fingerprints import Fingerprint
from easyrider_estimator.core.boards import Board, kinds, seen
from easyrider_estimator.core.layout import Feature, layout, row
from easyrider_estimator.core.margins import COVERAGE, FEWEST, by_board, covered
from easyrider_estimator.core.model import Importance, Learned, Measured, Model
from easyrider_estimator.core.said import GPU_COUNT, GPU_MODEL, texts
from easyrider_estimator.core.saying import say
from easyrider_estimator.core.targets import NEEDED, TARGETS, Target, usable
from easyrider_estimator.core.trees import Trees, read

FOLDS = 8
_FITS = FOLDS + 1  # of one target: without each fold, and of all
Grow = Callable[[Sequence[Sequence[float]], Sequence[float]], str]
"""Rows and what is wanted of each, to trees as text."""
Progress = Callable[[int, int, str], None]
"""So many of so many fits are done, and what the next is of."""


class TooFewFingerprints(EasyRiderError):
    """What was learned of jobs so far does not suffice for a model; estimates stay the nameplate."""

    def __init__(self, found: int, usable_ones: int, left_out: Mapping[str, int]) -> None:
        self.found, self.usable_ones, self.left_out = found, usable_ones, dict(left_out)
        why = "".join(f"; {count} {reason}" for reason, count in sorted(left_out.items()))
        super().__init__(
            f"{usable_ones} of {found} fingerprints teach something, {FEWEST} types of job are wanted{why}; "
            "estimates stay the nameplate"
        )


class _Lessons:
    """Usable fingerprints as rows; types are dealt to folds, so that no variant of one judges another."""

    def __init__(self, found: Sequence[Fingerprint]) -> None:
        self.all = sorted(found, key=lambda one: one.id)
        self.said = [texts(one.type) for one in self.all]
        self.features, self.passed_over = layout(self.said)
        self.rows = [row(self.features, said) for said in self.said]
        self.where = [said[GPU_MODEL] for said in self.said]
        dealt: dict[str, int] = {}
        for one in self.all:  # ids are hashes: in their order types are dealt by chance
            dealt.setdefault(one.type.id, len(dealt) % FOLDS)
        self.folds = [dealt[one.type.id] for one in self.all]
        self.types = len(dealt)
        self.boards = tuple(self._board(name) for name in sorted(set(self.where)))

    def _board(self, name: str) -> Board:
        here = [index for index, where in enumerate(self.where) if where == name]
        ones = [self.all[index] for index in here]
        said = [self.said[index] for index in here]
        return Board(
            gpu_model=name,
            jobs=len(ones),
            least_max_w=min(one.max_w for one in ones),
            most_max_w=max(one.max_w for one in ones),
            idle_share=min(1.0, *(one.idle_w / one.max_w for one in ones)),
            seen=seen(self.features, said),
            kinds=kinds(self.features, said),
        )

    def least_count(self, index: int) -> float:
        """Of GPUs, on the board of this row."""
        board = next(board for board in self.boards if board.gpu_model == self.where[index])
        counts = board.of(GPU_COUNT)
        return 1.0 if counts is None or counts.low is None else counts.low


def train(
    found: Sequence[Fingerprint],
    grow: Grow,
    *,
    library: str,
    made_unix_s: float,
    note: str,
    progress: Progress,
) -> Model:
    """The model of these fingerprints. Raises `TooFewFingerprints`."""
    why = [usable(one) for one in found]
    left_out = Counter(reason for reason in why if reason)
    lessons = _Lessons([one for one, reason in zip(found, why, strict=True) if not reason])
    if lessons.types < FEWEST:
        raise TooFewFingerprints(len(found), len(lessons.all), left_out)
    learned: list[Learned] = []
    grown: dict[str, Trees] = {}
    for number, target in enumerate(TARGETS):
        fitted = _within(progress, number)
        wanted = [target.of(one) for one in lessons.all]
        known = [index for index, value in enumerate(wanted) if value is not None]
        fitted(0)
        if len({lessons.all[index].type.id for index in known}) >= FEWEST:
            one, trees = _learn(
                target, lessons, known, [value for value in wanted if value is not None], grow, fitted
            )
            learned.append(one)
            grown[target.name] = trees
        elif target.name in NEEDED:
            raise TooFewFingerprints(len(found), len(known), left_out)
    progress(len(TARGETS) * _FITS, len(TARGETS) * _FITS, "done")
    return Model(
        made_unix_s=made_unix_s,
        library=library,
        note=note,
        fingerprints=len(lessons.all),
        types=lessons.types,
        left_out=dict(sorted(left_out.items())),
        coverage=COVERAGE,
        features=lessons.features,
        passed_over=lessons.passed_over[:4096],
        boards=lessons.boards,
        learned=tuple(learned),
        importance=_importance(lessons.features, [grown[name] for name in NEEDED]),
    )


def _within(progress: Progress, number: int) -> Callable[[int], None]:
    """What tells of so many fits of one target."""
    return lambda done: progress(number * _FITS + done, len(TARGETS) * _FITS, TARGETS[number].name)


def _learn(
    target: Target,
    lessons: _Lessons,
    known: Sequence[int],
    wanted: Sequence[float],
    grow: Grow,
    fitted: Callable[[int], None],
) -> tuple[Learned, Trees]:
    rows = [lessons.rows[index] for index in known]
    folds = [lessons.folds[index] for index in known]
    where = [lessons.where[index] for index in known]
    off, plain = [0.0] * len(known), [0.0] * len(known)
    for done, fold in enumerate(sorted(set(folds))):
        fitted(done)
        others = [place for place, each in enumerate(folds) if each != fold]
        trees = read(grow([rows[place] for place in others], [wanted[place] for place in others]))
        for place, each in enumerate(folds):
            if each == fold:
                index = known[place]
                said = say(target, trees, lessons.features, lessons.said[index], lessons.least_count(index))
                off[place] = wanted[place] - said
                plain[place] = wanted[place] - _mean(
                    [wanted[p] for p in others if where[p] == where[place]] or [wanted[p] for p in others]
                )
    margins = by_board(off, where)
    fitted(FOLDS)
    text = grow(rows, wanted)
    measured = Measured(
        jobs=len(known),
        off=_mean([abs(each) for each in off]),
        plain_off=_mean([abs(each) for each in plain]),
        covered=covered(off, where, folds),
        width=_mean([margins[board].high - margins[board].low for board in where]),
    )
    return Learned(target=target.name, trees=text, margins=margins, measured=measured), read(text)


def _importance(features: Sequence[Feature], grown: Sequence[Trees]) -> tuple[Importance, ...]:
    """Most important first; each of `grown` counts the same."""
    shares = [0.0] * sum(len(feature.columns) for feature in features)
    for trees in grown:
        gains = trees.gains()
        whole = math.fsum(gains)
        for column, gain in enumerate(gains):
            shares[column] += gain / whole / len(grown) if whole > 0 else 0.0
    found, place = [], 0
    for feature in features:
        width = len(feature.columns)
        share = min(1.0, max(0.0, math.fsum(shares[place : place + width])))
        found.append(Importance(feature=feature.name, share=share))
        place += width
    return tuple(sorted(found, key=lambda one: (-one.share, one.feature)))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
