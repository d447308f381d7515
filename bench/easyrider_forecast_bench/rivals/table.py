"""Every rival by its name."""

from collections.abc import Callable

from easyrider_forecast_bench.contract import Rival
from easyrider_forecast_bench.rivals.stepwise import Stepwise
from easyrider_forecast_bench.rivals.windows import LastValue, Window


def _ets() -> Rival:
    from easyrider_forecast_bench.rivals.smoothing import Ets

    return Stepwise(Ets)


def _arima() -> Rival:
    from easyrider_forecast_bench.rivals.arima import Arima

    return Stepwise(Arima)


def _auto_ets() -> Rival:
    from easyrider_forecast_bench.rivals.smoothing import AutoEts

    return Stepwise(AutoEts)


def _auto_arima() -> Rival:
    from easyrider_forecast_bench.rivals.arima import AutoArima

    return Stepwise(AutoArima)


def _theta() -> Rival:
    from easyrider_forecast_bench.rivals.smoothing import Theta

    return Stepwise(Theta)


def _river() -> Rival:
    from easyrider_forecast_bench.rivals.online import Online

    return Stepwise(Online)


def _season() -> Rival:
    from easyrider_forecast_bench.rivals.season import SeasonalNaive

    return Stepwise(SeasonalNaive)


RIVALS: dict[str, Callable[[], Rival]] = {
    "ets": _ets,
    "arima": _arima,
    "autoets": _auto_ets,
    "autoarima": _auto_arima,
    "theta": _theta,
    "river": _river,
    "seasonal-naive": _season,
    "last-value": LastValue,
    "window-10": lambda: Window(10),
    "window-30": lambda: Window(30),
    "window-60": lambda: Window(60),
}
"""Made where they are used: their libraries take seconds to load, and each worker loads its own alone."""
COST_MS = {"ets": 25.0, "arima": 50.0, "autoets": 80.0, "autoarima": 100.0, "theta": 5.0, "river": 4.0}
"""Of one origin, as first guesses for the time left."""
