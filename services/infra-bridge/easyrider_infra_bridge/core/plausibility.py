"""Whether the numbers of a meter can be true: each by its range, and together by volts times amperes."""

from collections.abc import Mapping
from typing import NamedTuple

from easyrider_infra_bridge.core.meter_spec import PHASES, MeterSpec
from easyrider_infra_bridge.core.registers import in_four_orders

_RANGES: dict[str, tuple[float, float]] = {
    "power_w": (0.0, 1e8),
    "current_a": (0.0, 1e5),
    **dict.fromkeys(PHASES, (0.0, 1e5)),
    "voltage_v": (0.0, 1e5),
    "frequency_hz": (0.0, 70.0),
    "load_pct": (0.0, 300.0),
    "temperature_c": (-40.0, 150.0),
    "modules_total": (0.0, 256.0),
    "modules_ok": (0.0, 256.0),
    "on_battery": (0.0, 1.0),
    "battery_pct": (0.0, 100.0),
}
_LOWEST_LIVE_V, _LOWEST_LIVE_HZ = 10.0, 40.0
_OVER_RATING = 2.0
_TELLING_A = 0.5
_NEAR, _FAR = (0.4, 3.2), (0.2, 5.0)
"""W / (V x A): one phase at a poor power factor 0.4, three phases with volts to neutral 3. A slip of ten is far."""


class Judged(NamedTuple):
    """Values that may be believed, and why others are missing; `is_bad`: the scale itself is in doubt."""

    values: dict[str, float]
    doubts: tuple[str, ...]
    is_bad: bool


def judge(spec: MeterSpec, values: Mapping[str, float | None], words: Mapping[int, int]) -> Judged:
    """What of one poll may be believed. What is refused is left out, never clamped."""
    kept: dict[str, float] = {}
    doubts: list[str] = []
    for quantity, value in values.items():
        if value is None:
            continue
        if (doubt := _range_doubt(spec, quantity, value, words)) is None:
            kept[quantity] = value
        else:
            doubts.append(doubt)
    is_bad = _refuse_contradictions(kept, doubts)
    return Judged(kept, tuple(doubts), is_bad)


def _range_doubt(spec: MeterSpec, quantity: str, value: float, words: Mapping[int, int]) -> str | None:
    low, high = _RANGES[quantity]
    rating = {"power_w": spec.rating_w, "current_a": spec.rating_a}.get(quantity)
    if quantity in PHASES:
        rating = spec.rating_a
    if rating is not None:
        high = _OVER_RATING * rating
    if quantity == "frequency_hz" and 0.0 < value < _LOWEST_LIVE_HZ:
        return f"frequency_hz {value:g} is no mains frequency"
    if quantity in ("modules_total", "modules_ok", "on_battery") and value != int(value):
        return f"{quantity} {value:g} is no whole number"
    if low <= value <= high:
        return None
    return f"{quantity} {value:g} is outside {low:g}..{high:g}{_hint(spec, quantity, words, low, high)}"


def _hint(spec: MeterSpec, quantity: str, words: Mapping[int, int], low: float, high: float) -> str:
    register = next(r for r in spec.registers if r.quantity == quantity)
    if register.type != "float32":
        return ""
    orders = in_four_orders([words[register.address], words[register.address + 1]])
    fitting = [name for name, value in orders.items() if max(low, 1e-3) <= value * register.scale <= high]
    if not fitting:
        return "; implausible in all four orders, try offset +1"
    return f"; plausible with word order {' or '.join(fitting)}"


def _refuse_contradictions(kept: dict[str, float], doubts: list[str]) -> bool:
    total, working = kept.get("modules_total"), kept.get("modules_ok")
    if total is not None and working is not None and working > total:
        doubts.append(f"modules_ok {working:g} of {total:g}")
        del kept["modules_ok"]
    volts, amperes, watts = kept.get("voltage_v"), kept.get("current_a"), kept.get("power_w")
    if volts is None or amperes is None or watts is None:
        return False
    if volts < _LOWEST_LIVE_V or amperes < _TELLING_A:
        return False
    ratio = watts / (volts * amperes)
    if _NEAR[0] <= ratio <= _NEAR[1]:
        return False
    doubts.append(f"power_w {watts:g} is {ratio:.2g} times volts x amperes")
    if _FAR[0] <= ratio <= _FAR[1]:
        return False
    doubts[-1] += ": a scale is wrong"
    for quantity in ("power_w", "current_a", "voltage_v"):
        del kept[quantity]
    return True
