"""Trees are read without the library that grew them, say what it says, and are refused where they are damaged."""

import math
import random

import lightgbm
import numpy as np
import pytest

from easyrider_estimator.adapters.lightgbm_trees import grow
from easyrider_estimator.core.trees import TreesUnreadable, read


def rows(count: int, *, missing: float = 0.1) -> list[list[float]]:
    chance = random.Random(5)
    return [
        [math.nan if chance.random() < missing else chance.gauss(0, 1) for _ in range(4)]
        for _ in range(count)
    ]


def text(missing: float = 0.1) -> str:
    seen = rows(200, missing=missing)
    return grow(seen, [sum(0.0 if math.isnan(each) else each for each in row) for row in seen])


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_they_say_what_the_library_says_of_known_missing_and_extreme_values(missing: float) -> None:
    grown = text(missing)
    asked = [*rows(300), [0.0] * 4, [math.nan] * 4, [1e300] * 4, [-1e300] * 4]

    trees = read(grown)
    ours = [trees.value(row) for row in asked]

    theirs = lightgbm.Booster(model_str=grown).predict(np.asarray(asked), num_threads=1)
    assert ours == pytest.approx(list(theirs), abs=1e-12)


def test_what_never_varies_is_one_leaf() -> None:
    assert read(grow([[1.0, 2.0]] * 30, [0.5] * 30)).value([9.0, math.nan]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("version=v4", "version=v5", "format"),
        ("objective=regression", "objective=binary", "regression"),
        ("end of trees", "", "end"),
        ("Tree=1\n", "Tree=7\n", "tree 1 is missing"),
        ("num_cat=0", "num_cat=1", "num_cat"),
        ("left_child=1 ", "left_child=0 ", "hang nowhere or twice"),
        ("left_child=1 ", "left_child=999999999999 ", "beyond"),
        ("leaf_value=", "leaf_value=nan ", "leaf_value"),
        ("decision_type=", "decision_type=1 ", "decision_type"),
        ("is_linear=0", "is_linear=1", "kind"),
        ("threshold=", "threshold=\nthreshold=", "twice"),
        ("max_feature_idx=3", "max_feature_idx=1", "split_feature"),
    ],
)
def test_damaged_text_is_refused_by_name(old: str, new: str, why: str) -> None:
    whole = text()
    assert old in whole

    with pytest.raises(TreesUnreadable, match=why):
        read(whole.replace(old, new, 1))


def test_a_loop_among_nodes_is_refused_and_never_walked() -> None:
    loop = (
        "tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=regression\n\nTree=0\nnum_leaves=3\n"
        "num_cat=0\nsplit_feature=0 0\nsplit_gain=1 1\nthreshold=0 0\ndecision_type=2 2\nleft_child=-1 1\n"
        "right_child=-2 -3\nleaf_value=1 2 3\nis_linear=0\n\nend of trees\n"
    )

    with pytest.raises(TreesUnreadable, match="back to node 1"):
        read(loop)


def test_no_cut_or_changed_byte_is_more_than_a_refusal() -> None:
    whole, chance = text(), random.Random(9)
    for _ in range(150):
        at = chance.randrange(len(whole))
        damaged = (
            whole[:at]
            + chance.choice(["", "x", "-", "9", "\n", "="])
            + whole[at + chance.choice([0, 1, 500]) :]
        )
        try:
            found = read(damaged)
        except TreesUnreadable:
            continue
        assert math.isfinite(found.value([math.nan] * found.columns))
