"""Grows trees with lightgbm, the only file that imports it; imported itself only when a model is trained."""

from collections.abc import Sequence

import lightgbm
import numpy as np

from easyrider_estimator.core.trees import END, LEAVES, TREES

_HOW = {
    "objective": "regression",
    "num_leaves": LEAVES,
    "learning_rate": 0.06,
    "min_data_in_leaf": 5,
    "min_data_in_bin": 1,
    "lambda_l2": 1.0,
    "feature_pre_filter": False,
    # the same fingerprints give the same trees
    "seed": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


def grow(rows: Sequence[Sequence[float]], wanted: Sequence[float]) -> str:
    """Trees in lightgbm's text, fitted to `wanted` by squared error; NaN in `rows` is what was not said."""
    data = lightgbm.Dataset(np.asarray(rows, dtype=np.float64), label=np.asarray(wanted, dtype=np.float64))
    grown = lightgbm.train(_HOW, data, num_boost_round=TREES)
    text: str = grown.model_to_string(num_iteration=-1)
    return text[: text.index(END) + len(END)] + "\n"  # settings of the fit are not needed to read it


def version() -> str:
    """Of the library."""
    return str(lightgbm.__version__)
