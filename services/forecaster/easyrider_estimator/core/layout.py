"""The columns that trees look at: a number is one, a word one for each value that came often enough."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from easyrider.messages.base import Name, Record
from easyrider_estimator.core.said import CONFIGURATION, GPU_COUNT, GPU_MODEL, number

OTHER = "(other)"
"""In place of values that came too seldom to be told apart."""
OFTEN = 3
"""Jobs that say a value before it is one of its own."""
MOST_VALUES, MOST_SETTINGS = 64, 32
_MOSTLY = 0.95
"""Share of jobs that say a number, for it to be one: a single "batch=auto" shall not make words of all."""
Word = Annotated[str, msgspec.Meta(max_length=256)]


class Feature(Record, frozen=True, kw_only=True):
    """One thing that jobs say. `values`: of a word, those told apart; None: it is a number."""

    name: Name
    values: Annotated[tuple[Word, ...], msgspec.Meta(max_length=MOST_VALUES)] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        return (self.name,) if self.values is None else tuple(f"{self.name}={value}" for value in self.values)

    def cut(self, text: str) -> str:
        """A word as it is told apart."""
        return text if self.values is None or text in self.values else OTHER

    def row(self, text: str | None) -> list[float]:
        """Its columns for a job that says `text`; NaN where it says nothing, or no number where one belongs."""
        if self.values is None:
            found = None if text is None else number(text)
            return [math.nan if found is None else found]
        if text is None:
            return [math.nan] * len(self.values)
        return [float(text == value) for value in self.values]


def layout(jobs: Sequence[Mapping[str, str]]) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    """Features of these jobs, and names of settings too seldom said to be one."""
    said = Counter(name for job in jobs for name in job)
    least = max(OFTEN, len(jobs) // 20)
    settings = [name for name, _ in said.most_common() if name.startswith(CONFIGURATION)]
    kept = [name for name in settings if said[name] >= least][:MOST_SETTINGS]
    names = [GPU_COUNT, GPU_MODEL, "image", "name", *sorted(kept)]
    features = (_feature(name, [job[name] for job in jobs if name in job]) for name in names)
    return tuple(one for one in features if one is not None), tuple(sorted(set(settings) - set(kept)))


def row(features: Sequence[Feature], job: Mapping[str, str]) -> list[float]:
    """The columns of a job."""
    return [value for feature in features for value in feature.row(job.get(feature.name))]


def _feature(name: str, texts: Sequence[str]) -> Feature | None:
    if not texts:
        return None
    numbers = sum(number(text) is not None for text in texts)
    if name == GPU_COUNT or (name.startswith(CONFIGURATION) and numbers >= _MOSTLY * len(texts)):
        return Feature(name=name)
    counted = sorted(Counter(texts).items(), key=lambda each: (-each[1], each[0]))
    often = sorted(text for text, count in counted[:MOST_VALUES] if count >= OFTEN)
    return Feature(name=name, values=tuple(often)) if often else None
