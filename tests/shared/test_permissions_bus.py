"""Who may say and hear what: every user tries every subject of the shipped configuration at a real server.

The table here is written out by hand, so that a slip in the code that writes the configuration shows.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from bus_attempts import Attempts
from installed_site import Installed, site_installed, until

from easyrider.subjects import covers
from easyrider.tls import TlsFiles

R = "easyrider.v1"
STREAMS = ("$JS.API.CONSUMER.>", "$JS.ACK.>", "$JS.API.STREAM.INFO.EVENTS", "$JS.API.STREAM.NAMES")
ALL_BUT_COMMANDS = tuple(
    f"{R}.{kind}.>"
    for kind in (
        "frame", "state", "meter", "phase", "job", "forecast", "plan", "ack", "demand", "budget", "ask", "event",
    )
)  # fmt: skip


def telemetry(node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (f"{R}.frame.r1.{node}", f"{R}.phase.r1.{node}", f"{R}.job.r1.>", f"{R}.event.xid.r1"), ()


def actuator(node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (f"{R}.state.r1.{node}", f"{R}.ack.r1.{node}", f"{R}.event.drift.r1"), (f"{R}.command.r1.{node}",)


ALLOWED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "telemetry-n1": telemetry("n1"),
    "telemetry-n2": telemetry("n2"),
    "actuator-n1": actuator("n1"),
    "actuator-n2": actuator("n2"),
    "infra-bridge": ((f"{R}.meter.r1.>", f"{R}.event.meter.r1", f"{R}.event.facility.r1"), ()),
    "forecaster": (
        (f"{R}.forecast.r1",),
        (f"{R}.frame.r1.>", f"{R}.phase.r1.>", f"{R}.job.r1.>", f"{R}.meter.r1.>", f"{R}.ack.r1.>", f"{R}.plan.r1"),
    ),
    "policy": (
        (
            f"{R}.plan.r1", f"{R}.command.r1.>", f"{R}.demand.*.r1", f"{R}.budget.>", f"{R}.event.>", "_INBOX_api.>",
            "$JS.API.STREAM.>",
        ),
        (
            f"{R}.frame.r1.>", f"{R}.state.r1.>", f"{R}.ack.r1.>", f"{R}.meter.r1.>", f"{R}.phase.r1.>",
            f"{R}.job.r1.>", f"{R}.forecast.r1", f"{R}.plan.r1", f"{R}.demand.r1.>", f"{R}.budget.r1", f"{R}.ask.r1",
            f"{R}.event.xid.r1", f"{R}.event.drift.r1",
        ),
    ),
    "api": ((f"{R}.ask.>", f"{R}.event.audit.>"), (f"{R}.plan.>", f"{R}.event.>")),
    "ledger": (STREAMS, ALL_BUT_COMMANDS),
    "dashboard": (STREAMS, ALL_BUT_COMMANDS),
    "integration": (STREAMS, ALL_BUT_COMMANDS),
    "recorder": (STREAMS, (*ALL_BUT_COMMANDS, f"{R}.command.>")),
}  # fmt: skip
"""What each user may say, and what it may hear; beside its own inbox."""

SUBJECTS = [
    *(
        f"{R}.{kind}.{place}"
        for kind in ("frame", "state", "command", "ack", "phase", "job")
        for place in ("r1.n1", "r1.n2", "r2.n1")
    ),
    *(f"{R}.meter.{place}" for place in ("r1.m1", "r2.m1")),
    *(f"{R}.{kind}.{place}" for kind in ("forecast", "plan", "budget", "ask") for place in ("r1", "r2")),
    *(f"{R}.demand.{place}" for place in ("r1.r2", "r2.r1", "top.r1")),
    *(
        f"{R}.event.{kind}.{place}"
        for kind in ("xid", "drift", "meter", "facility", "audit", "mode")
        for place in ("r1", "r2")
    ),
    *(f"_INBOX_{user}.abc.1" for user in ALLOWED),
    "_INBOX_admin.abc", "_INBOX.abc", "easyrider.v2.command.r1.n1", f"{R}.unheardof.r1", "anything",
    "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.MINE",
    "$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS",
    "$JS.API.STREAM.INFO.EVENTS", "$JS.API.STREAM.INFO.MINE", "$JS.API.STREAM.MSG.GET.EVENTS",
    "$JS.API.STREAM.MSG.DELETE.EVENTS", "$JS.API.STREAM.SNAPSHOT.EVENTS", "$JS.API.DIRECT.GET.EVENTS",
    "$JS.API.CONSUMER.CREATE.EVENTS.c", "$JS.API.CONSUMER.DELETE.EVENTS.c", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.c",
    "$JS.API.META.LEADER.STEPDOWN", "$JS.API.ACCOUNT.PURGE.X", "$JS.ACK.EVENTS.c.1.1.1.1.1", "$JS.EVENT.ADVISORY.API",
    "$KV.bucket.key", "$O.bucket.C.x", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.X.CONNZ", "$SYS.ACCOUNT.X.CONNECT",
    "$SYS.SERVER.ACCOUNT.X.CONNS", "$MQTT.sess.x", "$SRV.PING",
]  # fmt: skip
WIDE = [
    ">", "*", "easyrider.>", f"{R}.>", f"{R}.*.r1.n1", f"{R}.command.>", f"{R}.command.r1.>", f"{R}.command.*.n1",
    f"{R}.frame.>", f"{R}.frame.r1.>", f"{R}.frame.r1.*", f"{R}.state.>", f"{R}.ack.r1.>", f"{R}.event.>",
    f"{R}.event.*.r1", f"{R}.ask.>", f"{R}.budget.>", "_INBOX.>", "_INBOX_api.>", "_INBOX_policy.>", "_INBOX_*.>",
    "$JS.>", "$JS.API.>", "$JS.ACK.>", "$SYS.>", "$SYS.REQ.>", "$KV.>",
]  # fmt: skip
"""Patterns that listen to more than one subject."""


@dataclass(slots=True)
class Guarded:
    site: Installed
    users: dict[str, Attempts]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with site_installed(Path(tmp_path_factory.mktemp("site"))) as site, ExitStack() as links:
        users = {}
        for user in ALLOWED:
            here = site.folder / user
            tls = TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")
            users[user] = Attempts(site.nats.port, site.seed(user), tls.context())
            links.callback(users[user].close)
        yield Guarded(site, users)


def may(user: str, verb: str, subject: str) -> bool:
    said, heard = ALLOWED[user]
    patterns = (*(said if verb == "publish" else heard), f"_INBOX_{user}.>")
    return any(covers(pattern, subject) for pattern in patterns)


def test_the_table_names_every_user_that_is_shipped(guarded: Guarded) -> None:
    shipped = {file.stem for file in guarded.site.folder.glob("*/*.nk")}

    assert shipped == set(ALLOWED)


@pytest.mark.parametrize("verb", ["publish", "subscribe"])
def test_exactly_what_the_table_allows_is_allowed(guarded: Guarded, verb: str) -> None:
    tried = SUBJECTS if verb == "publish" else [*SUBJECTS, *WIDE]

    denied = {user: link.denied(verb, tried) for user, link in guarded.users.items()}

    wrongly_denied = [(user, s) for user, found in denied.items() for s in found if may(user, verb, s)]
    wrongly_allowed = [
        (user, s) for user in denied for s in tried if s not in denied[user] and not may(user, verb, s)
    ]
    assert wrongly_denied == []
    assert wrongly_allowed == []


def test_what_is_allowed_arrives_where_it_may_be_heard_and_nowhere_else(guarded: Guarded) -> None:
    ours = [subject for subject in SUBJECTS if not subject.startswith("$")]
    for user, link in guarded.users.items():
        link.listen([subject for subject in ours if may(user, "subscribe", subject)])

    for user, link in guarded.users.items():
        for subject in ours:
            link.say(subject, f"{user} on {subject}".encode())
        link.answered()
    wanted = {
        listener: {
            (subject, f"{speaker} on {subject}".encode())
            for subject in ours
            if may(listener, "subscribe", subject)
            for speaker in ALLOWED
            if may(speaker, "publish", subject)
        }
        for listener in ALLOWED
    }
    for user, link in guarded.users.items():
        until(lambda user=user, link=link: link.heard() >= wanted[user], 10, f"all that {user} may hear")

    assert {user: link.heard() - wanted[user] for user, link in guarded.users.items()} == {
        user: set() for user in ALLOWED
    }


def test_one_node_can_neither_read_nor_write_what_is_another_ones(guarded: Guarded) -> None:
    foreign = [f"{R}.{kind}.r1.n2" for kind in ("frame", "state", "command", "ack", "phase")]

    for user in ("telemetry-n1", "actuator-n1"):
        link = guarded.users[user]
        assert link.denied("publish", foreign) == set(foreign)
        assert link.denied("subscribe", foreign) == set(foreign)
