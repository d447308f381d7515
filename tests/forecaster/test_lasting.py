"""A bound follows the power down into a pause that is known to last, and into no other."""

import numpy as np
import pytest

from easyrider_forecaster.core import lasting
from easyrider_forecaster.core.arrays import HORIZONS_S
from easyrider_forecaster.core.bank import Bank
from easyrider_forecaster.core.dips import Dips
from easyrider_forecaster.core.pulse import Pulse


def _sure_s(lengths_s: tuple[float, ...], age_s: float, *, in_dip: bool = True) -> list[int]:
    dips, pulse = Dips(1), Pulse(1)
    dips.long_lengths_s[0, : len(lengths_s)] = lengths_s
    pulse.in_dip[0], pulse.dip_age[0] = in_dip, round(10 * age_s)
    return [h for h, sure in zip(HORIZONS_S, lasting.through(dips, pulse)[0], strict=True) if sure]


def test_horizons_that_end_before_the_shortest_of_a_kind_are_sure() -> None:
    assert _sure_s((20.0, 21.0, 20.5), 6.0) == [1, 2, 5, 10]
    assert _sure_s((20.0, 21.0, 20.5), 12.5) == [1, 2, 5]
    assert _sure_s((20.0, 21.0, 20.5), 17.5) == []


def test_shorter_stalls_before_it_do_not_disturb_what_is_known_of_long_ones() -> None:
    assert _sure_s((5.0, 20.0, 6.0, 21.0, 20.5), 7.0) == [1, 2, 5, 10]


@pytest.mark.parametrize(
    ("lengths_s", "age_s", "in_dip"),
    [
        pytest.param((), 6.0, True, id="nothing is known"),
        pytest.param((20.0, 21.0), 6.0, True, id="seen too seldom"),
        pytest.param((20.0, 21.0, 9.0, 20.5), 6.0, True, id="one of them was much shorter"),
        pytest.param((20.0, 21.0, 20.5), 2.0, True, id="it may be a stall"),
        pytest.param((20.0, 21.0, 20.5), 25.0, True, id="older than all of them"),
        pytest.param((20.0, 21.0, 20.5), 6.0, False, id="outside dips"),
    ],
)
def test_nothing_is_sure_of_a_dip(lengths_s: tuple[float, ...], age_s: float, in_dip: bool) -> None:
    assert _sure_s(lengths_s, age_s, in_dip=in_dip) == []


def test_the_bound_of_a_pausing_job_falls_only_where_its_pauses_are_alike() -> None:
    alike, unlike = (
        np.concatenate([[False] * 25 + [True] * length for length in lengths_s])
        for lengths_s in ((15, 15, 15, 15), (15, 30, 9, 15))
    )
    alike = np.concatenate([[False] * (len(unlike) - len(alike)), alike])
    bank, q99_w = Bank(np.array([700.0, 700.0]), 75.0), []
    for second, paused in enumerate(np.stack((alike, unlike), axis=1)):
        bank.observe(np.repeat(np.where(paused, 150.0, 600.0 + second % 3)[:, None], 10, axis=1))
        q99_w.append(bank.tick().demand.q99_w)

    five, thirty, began = HORIZONS_S.index(5), HORIZONS_S.index(30), len(alike) - 15
    early_w, late_w = q99_w[began + 6], q99_w[began + 11]  # 8 s and 3 s before it ends
    assert early_w[0, five] < 250.0
    assert early_w[1, five] >= 600.0
    assert (early_w[:, thirty] >= 600.0).all()
    assert (late_w[:, five] >= 600.0).all()
