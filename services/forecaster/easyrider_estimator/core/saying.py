"""What trees say of a job, so that more GPUs of one job never draw less in all."""

import math
from collections.abc import Mapping, Sequence

from easyrider_estimator.core.layout import Feature, row
from easyrider_estimator.core.said import GPU_COUNT
from easyrider_estimator.core.targets import Target
from easyrider_estimator.core.trees import Trees

MOST_STEPS = 64


def say(
    target: Target, trees: Trees, features: Sequence[Feature], job: Mapping[str, str], least_count: float
) -> float:
    """Of one target, a GPU. `least_count`: fewest GPUs of a known job on this board.

    Trees are steps in the number of GPUs, and at a step down a larger job would draw less than a smaller one. Where
    `target.per_count`, the highest total of any job with as many GPUs or fewer stands instead, over the number asked.
    """
    columns = row(features, job)
    said = trees.value(columns)
    if not target.per_count:
        return said
    column = _column(features)
    count = columns[column]
    highest = said * count
    ends = {float(math.floor(at)) for at in trees.thresholds(column) if least_count <= at < count}
    for end in sorted(ends, reverse=True)[:MOST_STEPS]:
        columns[column] = end
        highest = max(highest, trees.value(columns) * end)
    return highest / count


def _column(features: Sequence[Feature]) -> int:
    place = 0
    for feature in features:
        if feature.name == GPU_COUNT:
            return place
        place += len(feature.columns)
    raise LookupError(GPU_COUNT)
