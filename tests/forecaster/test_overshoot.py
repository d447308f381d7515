"""Boards draw a little more than their limit; a bound that is cut there is not wrong for it."""

import numpy as np
import pytest

from easyrider_forecaster.core.bank import HORIZONS_S, Bank

AT_10S = HORIZONS_S.index(10)


@pytest.mark.parametrize(("over", "wrong"), [(1.02, False), (1.05, True)])
def test_a_domains_bound_under_limits_is_wrong_only_beyond_what_boards_overshoot(
    over: float, wrong: bool
) -> None:
    limit_w = np.full(2, 400.0)
    bank = Bank(np.full(2, 700.0), 75.0, domains=np.ones((1, 2)))

    for second in range(240):
        level_w = 650.0 if second < 60 else over * 400.0  # wanted free, then held by the limit
        bank.observe(np.full((2, 10), level_w), limit_w=None if second < 60 else limit_w)
        bank.tick()

    bound = bank.domains.draw.bound
    assert bound.scored[0, AT_10S] > 150
    assert (bound.missed[0, AT_10S] > 0.03) == wrong
