"""What one look at everything gives."""

from dataclasses import dataclass

from easyrider_policy.core.commands import Orders
from easyrider_policy.core.counting import Sums
from easyrider_policy.core.lending import Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class Excursion:
    """A domain's limits moved to another share of what they were planned at."""

    domain: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look gives: orders, the sums they rest on, and why a plan was made, if one was."""

    orders: Orders
    sums: Sums
    cause: str | None
    verified: bool  # every node within reach is commanded, and the sums hold by what nodes have acked
    silent_meters: frozenset[str]  # domains whose meter says nothing
    excursions: tuple[Excursion, ...]  # since the last look
    budgets: tuple[Grant, ...] = ()  # for regions below, booked
    unsaid: bool = False  # orders of this plan are composed in the look that follows at once
