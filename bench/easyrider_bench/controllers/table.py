"""Every controller of the bench, in the order in which the table shows them."""

from easyrider_bench.controllers.contract import Entry
from easyrider_bench.controllers.known_curves import KnownCurves
from easyrider_bench.controllers.oracle import Oracle
from easyrider_bench.controllers.plugged import PREFIX, Policy
from easyrider_bench.controllers.product import EasyRider
from easyrider_bench.controllers.static import Static
from easyrider_bench.controllers.steering import Steering
from easyrider_bench.controllers.three_band import ThreeBand
from easyrider_bench.controllers.two_threshold import TwoThreshold

HERE = "easyrider_bench.controllers"
PUBLISHED = (f"{HERE}.tree",)
PRODUCT = (
    f"{HERE}.product", f"{HERE}.declared", f"{HERE}.guardians", "easyrider_policy", "easyrider.tree",
    "easyrider.tree_reader", "easyrider.messages",
)  # fmt: skip
LOOK_S = 0.1
"""The product looks at what it heard ten times a second; it plans once a second, and when something happened."""
SHOWN_SEEDS = 1
"""Of the two that only show what learning costs: nothing is judged by them, and each takes as long as the product."""
SHOWN_LEVELS = (30,)

ENTRIES: tuple[Entry, ...] = (
    Entry(name="none", make=None),
    Entry(name="static", make=Static, period_s=1.0, sources=(f"{HERE}.static", *PUBLISHED)),
    Entry(name="three_band", make=ThreeBand, period_s=3.0, sources=(f"{HERE}.three_band", *PUBLISHED)),
    Entry(name="steering", make=Steering, period_s=1.0, sources=(f"{HERE}.steering", *PUBLISHED)),
    Entry(
        name="two_threshold", make=TwoThreshold, period_s=2.0, sources=(f"{HERE}.two_threshold", *PUBLISHED)
    ),
    Entry(name="easyrider", make=EasyRider, period_s=LOOK_S, woken=True, sources=PRODUCT),
    Entry(
        name="oracle",
        make=Oracle,
        period_s=LOOK_S,
        woken=True,
        truth=True,
        sources=(f"{HERE}.oracle", f"{HERE}.foresight", *PRODUCT),
    ),
    Entry(
        name="easyrider-curves",
        make=KnownCurves,
        period_s=LOOK_S,
        woken=True,
        truth=True,
        seeds=SHOWN_SEEDS,
        levels=SHOWN_LEVELS,
        sources=(f"{HERE}.known_curves", f"{HERE}.foresight", *PRODUCT),
    ),
    Entry(
        name="easyrider-exact",
        make=EasyRider,
        period_s=LOOK_S,
        woken=True,
        exact=True,
        seeds=SHOWN_SEEDS,
        levels=SHOWN_LEVELS,
        sources=PRODUCT,
    ),
)


def entry(name: str) -> Entry | None:
    """The controller of this name, a plug-in policy among them (`policy:NAME`); None where there is none.

    Raises `NoSuchPolicy`.
    """
    if not name.startswith(PREFIX):
        return next((one for one in ENTRIES if one.name == name), None)
    make = Policy(name.removeprefix(PREFIX))
    sources = (f"{HERE}.plugged", make.module, *PRODUCT)
    return Entry(name=name, make=make, period_s=LOOK_S, woken=True, sources=sources)
