"""What was seen of each model of GPU, and what a job says that was never seen on its own: the rule that keeps trees
from answering for what they know nothing of. No value that another job said is ever named."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from easyrider.messages.base import Name, Ratio, Record, Watts
from easyrider_estimator.core.layout import MOST_VALUES, OFTEN, OTHER, Feature, Word
from easyrider_estimator.core.said import CONFIGURATION, GPU_MODEL, number

FEWEST = 8
"""Jobs on a model of GPU below which nothing is estimated for it."""
KINDS = ("image", "name")
"""What tells kinds of jobs apart, the first of these that jobs say: what one kind did says nothing of another."""
_SAME_BOARD = 0.02
Number = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
Jobs = Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]


class Seen(Record, frozen=True, kw_only=True):
    """Of one feature: the range of its numbers, or its words with how many jobs said them."""

    feature: Name
    low: Number | None = None
    high: Number | None = None
    words: dict[Word, Jobs] = msgspec.field(default_factory=dict)
    unsaid: Jobs = 0  # jobs that did not say it


class Kind(Record, frozen=True, kw_only=True):
    """Jobs of one board that share a word of `KINDS`; `word` empty: those that say none."""

    word: Word
    jobs: Jobs
    seen: tuple[Seen, ...]


class Board(Record, frozen=True, kw_only=True):
    """One model of GPU."""

    gpu_model: Word
    jobs: Jobs
    least_max_w: Watts  # device maximum: of the lowest such board
    most_max_w: Watts
    idle_share: Ratio  # lowest draw seen, of the device maximum
    seen: tuple[Seen, ...]
    kinds: Annotated[tuple[Kind, ...], msgspec.Meta(max_length=MOST_VALUES + 2)]

    def of(self, feature: str) -> Seen | None:
        """What was seen of a feature."""
        return next((one for one in self.seen if one.feature == feature), None)


def seen(features: Sequence[Feature], jobs: Sequence[Mapping[str, str]]) -> tuple[Seen, ...]:
    """Of these jobs, which are all on one model of GPU."""
    return tuple(_seen(feature, [job.get(feature.name) for job in jobs]) for feature in features)


def kinds(features: Sequence[Feature], jobs: Sequence[Mapping[str, str]]) -> tuple[Kind, ...]:
    """The same by kind; none where no feature tells them apart."""
    by_word: dict[str, list[Mapping[str, str]]] = {}
    for job in jobs:
        if (word := _word(features, job)) is not None:
            by_word.setdefault(word, []).append(job)
    return tuple(
        Kind(word=word, jobs=len(those), seen=seen(features, those))
        for word, those in sorted(by_word.items())
    )


def strange(
    features: Sequence[Feature],
    passed_over: Sequence[str],
    board: Board | None,
    job: Mapping[str, str],
    gpu_max_w: float | None,
) -> list[str]:
    """Why this job is unlike all that are known, a sentence each; empty: it is like some."""
    if GPU_MODEL not in job:
        return ["the job does not say its gpu_model"]
    if board is None:
        return [f"no job on gpu_model {job[GPU_MODEL][:64]!r} is known"]
    if board.jobs < FEWEST:
        return [f"of gpu_model {board.gpu_model!r} {board.jobs} jobs are known, too few: {FEWEST} are wanted"]
    found = []
    if gpu_max_w is not None and not (
        board.least_max_w * (1 - _SAME_BOARD) <= gpu_max_w <= board.most_max_w * (1 + _SAME_BOARD)
    ):
        found.append(f"gpu_max_w {gpu_max_w:g} is not that of the boards known as {board.gpu_model!r}")
    on = f"on {board.gpu_model!r}"
    found += _beyond(features, board.seen, on, job)
    if not found and (word := _word(features, job)) is not None:
        kind = next((one for one in board.kinds if one.word == word), None)
        if kind is None or kind.jobs < OFTEN:
            found.append(f"fewer than {OFTEN} jobs of this kind are known {on}")
        else:
            found += _beyond(features, kind.seen, f"{on} by {kind.jobs} jobs of this kind", job)
    known = {feature.name for feature in features} | set(passed_over)
    found += [
        f"{name[:80]} was never said by a known job"
        for name in sorted(job)
        if name.startswith(CONFIGURATION) and name not in known
    ]
    return found


def _seen(feature: Feature, texts: Sequence[str | None]) -> Seen:
    said = [text for text in texts if text is not None]
    unsaid = len(texts) - len(said)
    if feature.values is not None:
        words = Counter(feature.cut(text) for text in said)
        return Seen(feature=feature.name, words=dict(sorted(words.items())), unsaid=unsaid)
    numbers = [value for value in map(number, said) if value is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (None, None)
    return Seen(feature=feature.name, low=low, high=high, unsaid=unsaid)


def _word(features: Sequence[Feature], job: Mapping[str, str]) -> str | None:
    """Of its kind; None where kinds are not told apart."""
    for name in KINDS:
        for feature in features:
            if feature.name == name:
                text = job.get(name)
                return "" if text is None else feature.cut(text)
    return None


def _beyond(
    features: Sequence[Feature], known: Sequence[Seen], where: str, job: Mapping[str, str]
) -> list[str]:
    by_name = {one.feature: one for one in known}
    found = [
        _strange(feature, by_name.get(feature.name), where, job.get(feature.name))
        for feature in features
        if feature.name != GPU_MODEL
    ]
    return [why for why in found if why]


def _strange(feature: Feature, seen_here: Seen | None, where: str, text: str | None) -> str:
    if seen_here is None:
        return f"nothing is known of {feature.name} {where}"
    if text is None:
        return "" if seen_here.unsaid else f"the job does not say {feature.name}, which every known one does"
    if feature.values is not None:
        word = feature.cut(text)
        enough = seen_here.words.get(word, 0) >= (OFTEN if word == OTHER else 1)
        return "" if enough else f"{feature.name} {text[:64]!r} was never seen {where}"
    value = number(text)
    if value is None:
        return f"{feature.name} {text[:64]!r} is no number, as others say"
    if seen_here.low is None or seen_here.high is None:
        return f"{feature.name} was never said {where}"
    if not seen_here.low <= value <= seen_here.high:
        return (
            f"{feature.name} {value:g} lies beyond {seen_here.low:g} to {seen_here.high:g}, "
            f"all that was seen {where}"
        )
    return ""
