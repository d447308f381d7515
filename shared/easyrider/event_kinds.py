"""Every kind of integration event: whose word it is, when it is said, and the fields of its data.

An event is said when something changes, by the one service that knows it, on `event.<kind>.<region>`. Fields may be
added with defaults; another meaning is another kind. Numbers carry their unit at the end of their name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from easyrider.errors import EasyRiderError
from easyrider.event_data import Data, GateMet, ModeChange, PolicyRefused, TrustLost
from easyrider.messages.base import Count, Name, Ratio, Watts

Owner = Literal["actuator", "telemetry", "infra-bridge", "policy", "api"]


class EventMisfit(EasyRiderError):
    """An event does not say what its kind promises to those who listen."""

    def __init__(self, kind: str, why: str) -> None:
        self.kind, self.why = kind, why
        super().__init__(f"event {kind}: {why}; kinds and their fields stand in easyrider.event_kinds")


class Drift(Data, frozen=True):
    """A limit moved without a command: a program beside us wrote it, the driver lost it, or a cap from outside."""

    node: Name
    uuid: Name
    cause: Literal["reverted_to_default", "changed_by_another", "external_cap"]
    requested_before_w: Watts
    enforced_before_w: Watts
    requested_w: Watts
    enforced_w: Watts


class Xid(Data, frozen=True):
    """The driver reported an error of a board, by NVIDIA's XID number."""

    node: Name
    gpu: Name
    xid: Count


class MeterCondition(Data, frozen=True):
    """A meter gives good readings, doubtful ones, or none."""

    meter: Name
    domain: Name
    condition: Literal["good", "suspect", "bad", "silent", "refused"]
    before: Literal["new", "good", "suspect", "bad", "silent", "refused"]
    why: str


class Facility(Data, frozen=True):
    """A supply changed its state: a module, mains, battery. What the device does not give is null."""

    what: Literal["module_lost", "module_back", "on_battery", "on_mains"]
    meter: Name
    domain: Name
    modules_ok: Count | None = None
    modules_total: Count | None = None
    modules_before: Count | None = None
    battery_pct: float | None = None


class LeaderChange(Data, frozen=True):
    """Another coordinator leads this scope; commands of lower epochs are void."""

    epoch: Count


class LimitDrop(Data, frozen=True):
    """A domain may carry less than before, as a share of what was planned."""

    domain: Name
    share_before: Ratio
    share: Ratio


class LimitBack(Data, frozen=True):
    """A domain may carry more again, as a share of what was planned."""

    domain: Name
    share_before: Ratio
    share: Ratio


class Excursion(Data, frozen=True):
    """What a domain draws went above its target, and came back; limits are being lowered meanwhile. Wall watts."""

    domain: Name
    above: bool
    observed_w: Watts
    target_w: Watts
    others: Count = 0  # so many more at the same moment, told of in no event of their own


class Infeasible(Data, frozen=True):
    """A domain exceeds its limits even with every job at its minimum, by so much; 0 when that has ended."""

    domain: Name
    missing_w: Watts
    others: Count = 0  # so many more at the same moment, told of in no event of their own


class Slowed(Data, frozen=True):
    """A job had to yield more than its class allows; first to return. `slowdown` is the expected one."""

    job: Name
    beyond: bool
    slowdown: Ratio
    max_slowdown: Ratio
    reason: Name
    others: Count = 0  # so many more at the same moment, told of in no event of their own


class MeterSilent(Data, frozen=True):
    """A domain's meter tells nothing that may be believed: its unmanaged load counts at its highest meanwhile."""

    domain: Name
    silent: bool
    others: Count = 0  # so many more at the same moment, told of in no event of their own


class NodeSilent(Data, frozen=True):
    """A node tells nothing: it counts at the most it could still draw, and nothing in its domains rises for it."""

    node: Name
    silent: bool
    others: Count = 0  # so many more at the same moment, told of in no event of their own


class Reactive(Data, frozen=True):
    """Forecasts are not trusted: limits follow what is measured, with a larger margin. `why` names the doubt."""

    reactive: bool
    why: str


class Demotion(Data, frozen=True):
    """Boards of a node are taken back to `observe`: they keep their limits until the room for more is booked."""

    node: Name
    gpus: tuple[Name, ...]
    cause: Literal["xid", "drift"]
    detail: str
    until_version: Count  # stands until rules above this version are in force


class Leaving(Data, frozen=True):
    """A node asks for the limits it was found with, has them back and is not ours to limit, or is back."""

    node: Name
    place: Literal["asks", "left", "here"]


class Hold(Data, frozen=True):
    """An operator stopped every raise in these domains, in all where none is named, or let go again."""

    id: Name
    held: bool
    domains: tuple[Name, ...]
    reason: str
    by: str


class Target(Data, frozen=True):
    """A load target of a domain begins, is not met, is met again, or ends. Wall watts."""

    id: Name
    domain: Name
    change: Literal["begins", "short", "kept", "ends"]
    target_w: Watts
    observed_w: Watts | None  # mean over the domain's window
    short_w: Watts  # drawn above it, or what no limits could take away
    reason: str
    by: str
    kept_ratio: Ratio | None = None  # share of the time since it began in which it was kept
    worst_w: Watts = 0.0  # the highest excess since it began


class DemandInterval(Data, frozen=True):
    """A billed interval closed: its mean, what it would have been, and what holding it saved and cost. Wall watts.

    Prices in `currency`. `saved_value` is null where the month's peak was not known.
    """

    id: Name
    domain: Name
    ends: str  # RFC 3339
    mean_w: Watts
    would_w: Watts
    billed_w: Watts | None
    known_ratio: Ratio
    saved_value: float | None
    cost_value: float
    energy_value: float
    currency: str


class Audit(Data, frozen=True):
    """Somebody changed something over the admin API, or was refused. `before` and `after` are JSON, empty: none."""

    id: Name
    act: Name  # "put /modes", "post /release", ...
    path: str
    who: str  # the token's name; empty: nobody we know
    token: str  # its id
    role: str
    peer: str  # the address it came from
    result: Literal["done", "refused", "unknown"]
    status: Count  # of the HTTP answer
    why: str  # what was refused and why
    reason: str  # what the operator gave
    before: str
    after: str
    version: Count | None  # of the rules, after it


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind: its name in subjects, who says it, at which change, and what its data holds."""

    name: str
    said_by: Owner
    when: str
    data: type[Data]

    @property
    def type(self) -> str:
        """What stands in the `type` of the CloudEvent."""
        return f"easyrider.{self.name}"


_ALL: tuple[tuple[str, Owner, str, type[Data]], ...] = (
    ("drift", "actuator", "once for each move that no command asked for", Drift),
    ("xid", "telemetry", "once for each error that the driver reports", Xid),
    ("meter", "infra-bridge", "when a meter's condition changes", MeterCondition),
    ("facility", "infra-bridge", "when a supply's state changes", Facility),
    ("leader_change", "policy", "when an instance takes the lead", LeaderChange),
    ("limit_drop", "policy", "when a supply can carry less", LimitDrop),
    ("limit_back", "policy", "when a supply can carry more again", LimitBack),
    ("excursion", "policy", "when a domain goes above its target, and when it was below for 10 s", Excursion),
    ("infeasible", "policy", "when a domain cannot be kept, and when it could be for 10 s", Infeasible),
    ("slowed", "policy", "when a job yields beyond its class, and when it did not for 10 s", Slowed),
    ("meter_silent", "policy", "when a domain's meter falls silent, and when it speaks again", MeterSilent),
    ("node_silent", "policy", "when a node falls silent, and when it speaks again", NodeSilent),
    ("reactive", "policy", "when forecasts lose or regain trust", Reactive),
    ("mode_change", "policy", "when newer rules move boards to another mode", ModeChange),
    ("demotion", "policy", "when faults take a node's boards back to observe", Demotion),
    ("leaving", "policy", "when a node asks to leave, has left, or is back", Leaving),
    ("hold", "policy", "when raises are stopped, and when they are let go", Hold),
    ("target", "policy", "when a load target begins, is not met, is met again, or ends", Target),
    ("demand_interval", "policy", "when a billed interval closes: what a cap saved and cost", DemandInterval),
    ("gate_met", "policy", "when what was seen of a scope would let its mode rise", GateMet),
    ("trust_lost", "policy", "when a scope is taken back for what it cost, or for want of forecasts", TrustLost),
    ("policy_refused", "policy", "when the product's plan takes a plug-in policy's place", PolicyRefused),
    ("audit", "api", "once for each change that is made over the admin API, or refused", Audit),
)  # fmt: skip
KINDS: dict[str, Kind] = {
    name: Kind(name=name, said_by=said_by, when=when, data=data) for name, said_by, when, data in _ALL
}
"""Every kind by its name."""


def check(kind: str, data: Mapping[str, Any]) -> Data:
    """The data as its record. Raises `EventMisfit`."""
    known = KINDS.get(kind)
    if known is None:
        raise EventMisfit(kind, "no such kind")
    try:
        return msgspec.convert(dict(data), known.data, strict=True)
    except msgspec.ValidationError as fault:
        raise EventMisfit(kind, str(fault)) from fault
