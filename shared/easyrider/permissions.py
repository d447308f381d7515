"""Who may say and hear what on the bus: deny by default, granted by prefix.

Only the policy may say commands; nobody hears another user's inbox. Shipped as server configuration from the start.
"""

from collections.abc import Callable
from dataclasses import dataclass

from easyrider import subjects

_STREAM_READERS = (
    "$JS.API.CONSUMER.>",
    "$JS.ACK.>",
    f"$JS.API.STREAM.INFO.{subjects.EVENT_STREAM}",
    "$JS.API.STREAM.NAMES",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a user works: its region, and its node where it is a node's; None: any node of the region.

    `below`: regions that this one lends to, where that matters.
    """

    region: str
    node: str | None = None
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grants:
    """Subjects a user may publish on and subscribe to; all others are denied."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class User:
    """One account on the bus: its name (also that of its inbox and of its seed file), what it is, its public key."""

    name: str
    role: str
    nkey: str
    place: Place


def grants(user: User) -> Grants:
    """What this user may say and hear, its own inbox included. Raises `KeyError` for an unknown role."""
    if user.role == LINK:
        return _link(user.place)
    inbox = f"_INBOX_{subjects.token(user.name)}.>"
    said = ROLES[user.role](user.place)
    return Grants((*said.publish, inbox), (*said.subscribe, inbox))


def _telemetry(place: Place) -> Grants:
    said = (
        _at(place, subjects.frame, subjects.frames_in),
        _at(place, subjects.phase, subjects.phases_in),
        subjects.jobs_in(place.region),
        subjects.event("xid", place.region),
    )
    return Grants(said, ())


def _actuator(place: Place) -> Grants:
    said = (
        _at(place, subjects.state, subjects.states_in),
        _at(place, subjects.ack, subjects.acks_in),
        subjects.event("drift", place.region),
    )
    return Grants(said, (_at(place, subjects.command, subjects.commands_in),))


def _infra_bridge(place: Place) -> Grants:
    kinds = ("meter", "facility")
    events = tuple(subjects.event(kind, place.region) for kind in kinds)
    return Grants((subjects.meters_in(place.region), *events), ())


def _forecaster(place: Place) -> Grants:
    region = place.region
    heard = (
        subjects.frames_in(region),
        subjects.phases_in(region),
        subjects.jobs_in(region),
        subjects.meters_in(region),
        subjects.acks_in(region),
        subjects.plan(region),
    )
    return Grants((subjects.forecast(region),), heard)


def _policy(place: Place) -> Grants:
    region = place.region
    said = (
        subjects.plan(region),
        subjects.commands_in(region),
        subjects.demands_of(region),
        subjects.every("budget"),
        subjects.events(),
        "_INBOX_api.>",
        "$JS.API.STREAM.>",  # creates the stream
    )
    heard = (
        subjects.frames_in(region),
        subjects.states_in(region),
        subjects.acks_in(region),
        subjects.meters_in(region),
        subjects.phases_in(region),
        subjects.jobs_in(region),
        subjects.forecast(region),
        subjects.plan(region),  # of whoever leads: a contender follows the rules it has in force
        subjects.demands_to(region),
        subjects.budget(region),
        subjects.ask(region),
        subjects.event("xid", region),  # faults of nodes demote them
        subjects.event("drift", region),
    )
    return Grants(said, heard)


def _api(_place: Place) -> Grants:
    return Grants(
        (subjects.every("ask"), subjects.events_of("audit")),
        (subjects.every("plan"), subjects.events()),
    )


def _watcher(_place: Place) -> Grants:
    kinds = [kind for kind in subjects.KINDS if kind != "command"]
    return Grants(_STREAM_READERS, tuple(subjects.every(kind) for kind in kinds))


def _recorder(_place: Place) -> Grants:
    return Grants(_STREAM_READERS, tuple(subjects.every(kind) for kind in subjects.KINDS))


def _link(place: Place) -> Grants:
    """What crosses between a region's own bus and the one above it: what is said up, and what is said down.

    Orders never do: a region commands its nodes on its own bus alone.
    """
    region = place.region
    up = (
        subjects.demands_of(region),
        *(subjects.budget(child) for child in place.below),  # their buses are linked to the same one
        subjects.plan(region),
        subjects.forecast(region),
        *(
            inside(region)
            for inside in (
                subjects.frames_in,
                subjects.states_in,
                subjects.acks_in,
                subjects.meters_in,
                subjects.phases_in,
                subjects.jobs_in,
                subjects.events_in,
            )
        ),
        "_INBOX_api.>",
    )
    return Grants(up, (subjects.budget(region), subjects.demands_to(region), subjects.ask(region)))


def _at(place: Place, one: Callable[[str, str], str], region_wide: Callable[[str], str]) -> str:
    return region_wide(place.region) if place.node is None else one(place.region, place.node)


ROLES: dict[str, Callable[[Place], Grants]] = {
    "telemetry": _telemetry,
    "actuator": _actuator,
    "infra-bridge": _infra_bridge,
    "forecaster": _forecaster,
    "policy": _policy,
    "api": _api,
    "ledger": _watcher,
    "dashboard": _watcher,
    "integration": _watcher,
    "recorder": _recorder,
}
LINK = "link"
"""A server that hands on to another what crosses; no service, and no user of people."""
NODE_ROLES = ("telemetry", "actuator")
"""Those that run once a node, with a user each."""
