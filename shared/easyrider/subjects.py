"""Every subject on the bus: kind first, place after, so that permissions go by prefix."""

import re
from functools import lru_cache

_ROOT = "easyrider.v1"
KINDS = (
    "frame",
    "state",
    "meter",
    "phase",
    "job",
    "forecast",
    "plan",
    "command",
    "ack",
    "demand",
    "budget",
    "ask",
    "event",
)
"""Every kind of subject: the first token after the root."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
EVENT_STREAM = "EVENTS"
"""The stream that keeps every integration event."""


class BadToken(ValueError):
    """A name that cannot stand in a subject."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} cannot stand in a subject: letters, digits, _ and -, at most 64")


def token(name: str) -> str:
    """The name itself, fit to stand between two dots. Raises `BadToken`."""
    if not _TOKEN.fullmatch(name):
        raise BadToken(name)
    return name


@lru_cache(maxsize=1 << 17)  # asked for with every message, of some tens of thousands of nodes at most
def _subject(kind: str, *places: str) -> str:
    return ".".join([_ROOT, kind, *map(token, places)])


def frame(region: str, node: str) -> str:
    """Where telemetry says `NodeFrame`."""
    return _subject("frame", region, node)


def frames_in(region: str) -> str:
    """Pattern for the frames of every node of a region."""
    return _subject("frame", region) + ".>"


def state(region: str, node: str) -> str:
    """Where an actuator says `NodeState` and `Leaving`."""
    return _subject("state", region, node)


def states_in(region: str) -> str:
    """Pattern for the states of every node of a region."""
    return _subject("state", region) + ".>"


def command(region: str, node: str) -> str:
    """Where one node's actuator takes `SetLimits`, `Hold` and `ExitGrant`."""
    return _subject("command", region, node)


def commands_in(region: str) -> str:
    """Pattern for the commands to every node of a region."""
    return _subject("command", region) + ".>"


def ack(region: str, node: str) -> str:
    """Where an actuator says `LimitAck`."""
    return _subject("ack", region, node)


def acks_in(region: str) -> str:
    """Pattern for the acks of every node of a region."""
    return _subject("ack", region) + ".>"


def meter(region: str, meter_id: str) -> str:
    """Where the infrastructure bridge says `MeterReading`."""
    return _subject("meter", region, meter_id)


def meters_in(region: str) -> str:
    """Pattern for every meter of a region."""
    return _subject("meter", region) + ".>"


def phase(region: str, node: str) -> str:
    """Where training code says `PhaseMark`, through telemetry."""
    return _subject("phase", region, node)


def phases_in(region: str) -> str:
    """Pattern for the phase marks of a region."""
    return _subject("phase", region) + ".>"


def job(region: str, job_id: str) -> str:
    """Where telemetry and schedulers say `JobEvent`; an id that is no token is coded by `job_token`."""
    return _subject("job", region, job_token(job_id))


def jobs_in(region: str) -> str:
    """Pattern for the job events of a region."""
    return _subject("job", region) + ".>"


def job_token(job_id: str) -> str:
    """A subject token of any job id: letters, digits and - stay, the rest becomes _xx; cut at 64."""
    coded = "".join(c if re.fullmatch(r"[A-Za-z0-9-]", c) else f"_{ord(c):02x}" for c in job_id)
    return coded[:64] or "_"


def forecast(region: str) -> str:
    """Where the forecaster says `PowerForecast`."""
    return _subject("forecast", region)


def plan(region: str) -> str:
    """Where the coordinator says `Plan`."""
    return _subject("plan", region)


def demand(parent: str, region: str) -> str:
    """Where a child coordinator says `Demand` to its parent."""
    return _subject("demand", parent, region)


def budget(region: str) -> str:
    """Where a parent coordinator says `Budget` to one region."""
    return _subject("budget", region)


def event(kind: str, region: str) -> str:
    """Where integration events go, as CloudEvents in JSON, kept in a stream."""
    return _subject("event", kind, region)


def events() -> str:
    """Pattern for every integration event."""
    return f"{_ROOT}.event.>"


def ask(scope: str) -> str:
    """Where the admin API asks a coordinator."""
    return _subject("ask", scope)


def demands_to(parent: str) -> str:
    """Pattern for the demands of every child."""
    return _subject("demand", parent) + ".>"


def events_of(kind: str) -> str:
    """Pattern for the events of one kind."""
    return _subject("event", kind) + ".>"


def events_in(region: str) -> str:
    """Pattern for the events of one region, of any kind."""
    return f"{_ROOT}.event.*.{token(region)}"


def demands_of(region: str) -> str:
    """Pattern for the demands of one child, whoever its parent is."""
    return f"{_ROOT}.demand.*.{token(region)}"


def everything() -> str:
    """Pattern for every subject of ours."""
    return f"{_ROOT}.>"


def every(kind: str) -> str:
    """Pattern for everything of one kind, in every region."""
    return _subject(kind) + ".>"


def covers(pattern: str, subject: str) -> bool:
    """Whether a subject, or a narrower pattern, falls under a pattern, by the rules of NATS."""
    wanted, given = pattern.split("."), subject.split(".")
    for index, part in enumerate(wanted):
        if part == ">":
            return len(given) > index
        if index >= len(given) or (part != "*" and part != given[index]):
            return False
    return len(wanted) == len(given)
