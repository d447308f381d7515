"""Every subject with what is said there; who may say and hear it follows from the permissions."""

from collections.abc import Callable
from dataclasses import dataclass

from easyrider import subjects
from easyrider.messages import (
    Answer,
    Ask,
    Budget,
    Demand,
    ExitGrant,
    Hold,
    JobEvent,
    Leaving,
    LimitAck,
    Message,
    MeterReading,
    NodeFrame,
    NodeState,
    PhaseMark,
    Plan,
    PowerForecast,
    SetLimits,
)
from easyrider.permissions import ROLES, Grants, Place

_REGION, _NODE = "REGION", "NODE"


@dataclass(frozen=True, slots=True)
class Channel:
    """One kind of subject: `subject` holds its places in capitals; no types: CloudEvents, or not yet in use."""

    kind: str
    subject: str
    types: tuple[type[Message], ...]
    transport: str
    meaning: str

    @property
    def address(self) -> str:
        """The subject with its places in braces."""
        words = [f"{{{word.lower()}}}" if word.isupper() else word for word in self.subject.split(".")]
        return ".".join(words)

    @property
    def said_by(self) -> tuple[str, ...]:
        """Roles that may publish here."""
        return self._roles(lambda grants: grants.publish)

    @property
    def heard_by(self) -> tuple[str, ...]:
        """Roles that may subscribe here."""
        return self._roles(lambda grants: grants.subscribe)

    def _roles(self, side: Callable[[Grants], tuple[str, ...]]) -> tuple[str, ...]:
        places = (Place(_REGION, _NODE), Place("PARENT"))  # the policy of a parent scope is a policy too
        return tuple(
            role
            for role, granted in ROLES.items()
            if any(
                subjects.covers(pattern, self.subject) or _some_kinds(pattern, self.subject)
                for place in places
                for pattern in side(granted(place))
            )
        )


def _some_kinds(pattern: str, subject: str) -> bool:
    """Events: a role may say only kinds of its own, which is part of the channel."""
    return ".event." in subject and ".event." in pattern and subjects.covers(subjects.events(), pattern)


CHANNELS = (
    Channel(
        "frame",
        subjects.frame(_REGION, _NODE),
        (NodeFrame,),
        "core",
        "samples of one node since its last frame",
    ),
    Channel(
        "state", subjects.state(_REGION, _NODE), (NodeState, Leaving), "core", "what a node's guardian holds"
    ),
    Channel("meter", subjects.meter(_REGION, "METER"), (MeterReading,), "core", "one poll of one meter"),
    Channel("phase", subjects.phase(_REGION, _NODE), (PhaseMark,), "core", "training code announces a phase"),
    Channel(
        "job",
        subjects.job(_REGION, "JOB"),
        (JobEvent,),
        "core",
        "a job starts, changes, runs or ends on a node",
    ),
    Channel(
        "forecast", subjects.forecast(_REGION), (PowerForecast,), "core", "power expected of jobs and domains"
    ),
    Channel("plan", subjects.plan(_REGION), (Plan,), "core", "every limit with its reason"),
    Channel(
        "command",
        subjects.command(_REGION, _NODE),
        (SetLimits, Hold, ExitGrant),
        "core",
        "what a node is to hold, under a lease",
    ),
    Channel(
        "ack", subjects.ack(_REGION, _NODE), (LimitAck,), "core", "what became of a command, as read back"
    ),
    Channel(
        "demand", subjects.demand("PARENT", _REGION), (Demand,), "core", "what a region asks of its parent"
    ),
    Channel("budget", subjects.budget(_REGION), (Budget,), "core", "what a parent grants, under a lease"),
    Channel("ask", subjects.ask(_REGION), (Ask, Answer), "core", "the admin API asks; answered in its inbox"),
    Channel(
        "event", subjects.event("KIND", _REGION), (), "JetStream", "CloudEvents 1.0 in JSON, for integrations"
    ),
)
