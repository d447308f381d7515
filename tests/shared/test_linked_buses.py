"""A region with a bus of its own: what is said up and down crosses the link, orders never do, and nothing else."""

import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from bus_attempts import Attempts
from installed_site import settings, until, write_site

from easyrider.bus import Bus
from easyrider.bus_port import NoAnswer
from easyrider.embedded import ServerProcess, nats_process
from easyrider.free_ports import free_port
from easyrider.messages import Answer, Ask
from easyrider.tls import TlsFiles
from easyrider_cli.init_site import BadSite

R = "easyrider.v1"
UP = [
    f"{R}.demand.top.row1", f"{R}.plan.row1", f"{R}.forecast.row1", f"{R}.frame.row1.a1", f"{R}.state.row1.a1",
    f"{R}.ack.row1.a1", f"{R}.meter.row1.m1", f"{R}.phase.row1.a1", f"{R}.job.row1.j1", f"{R}.event.drift.row1",
    "_INBOX_api.answer",
]  # fmt: skip
DOWN = [f"{R}.budget.row1", f"{R}.ask.row1", f"{R}.demand.row1.rack1"]
STAYS = [
    f"{R}.command.row1.a1", f"{R}.command.top.b1", f"{R}.frame.top.b1", f"{R}.state.row2.c1", f"{R}.ask.top",
    f"{R}.event.drift.top", f"{R}.demand.top.row2", f"{R}.budget.row2",
]  # fmt: skip


@dataclass(slots=True)
class Linked:
    folder: Path
    top: ServerProcess
    row: ServerProcess

    def user(self, name: str, server: ServerProcess, seed: Path | None = None) -> Attempts:
        here = self.folder / name
        tls = TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")
        return Attempts(server.port, seed or here / f"{name}.nk", tls.context())

    def bus(self, name: str, server: ServerProcess) -> AbstractAsyncContextManager[Bus]:
        """The same user, by the product's own connection."""
        here = self.folder / name
        tls = TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")
        url = f"tls://127.0.0.1:{server.port}"
        return Bus.connect(url, name=name, seed_file=here / f"{name}.nk", tls=tls, wait_s=5.0)


def rules(folder: Path) -> Path:
    curve = [{"multiple": 1.3, "time_s": 600}, {"multiple": 2.0, "time_s": 60}]
    domain = {"kind": "pdu", "rating_w": 30000, "unmanaged_max_w": 0, "curve": curve}
    node_class = {
        "overhead_w": 1600,
        "overhead_slope": 1.23,
        "gpu_min_w": 200,
        "gpu_max_w": 700,
        "gpu_count": 8,
    }
    document = {
        "tree": {"id": "hall", "version": 1},
        "domains": [{"id": "site", **domain, "rating_w": 90000}, {"id": "pdu", "parent": "site", **domain}],
        "classes": {"h": node_class},
        "nodes": [
            {"id": "a1", "domain": "pdu", "class": "h", "fallback_w_per_gpu": 250},
            {"id": "b1", "domain": "site", "class": "h", "fallback_w_per_gpu": 250},
        ],
        "regions": [{"id": "top"}, {"id": "row1", "parent": "top", "domain": "pdu", "guaranteed_w": 9000}],
    }
    (folder / "rules.yaml").write_text(yaml.safe_dump(document))
    return folder / "rules.yaml"


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    root = Path(tmp_path_factory.mktemp("two"))
    ports = {"nats_port": free_port(), "link_port": free_port(), "monitor_port": free_port()}
    folder = write_site(
        root / "site", nodes=None, rules_file=rules(root), tree=None, buses=["row1=127.0.0.1"], **ports
    )
    # both stand on one machine here, so that the second one has ports and data of its own
    row_port, row_file = free_port(), folder / "nats-row1" / "nats.conf"
    text = row_file.read_text()
    for old, new in (
        (f'listen: "127.0.0.1:{ports["nats_port"]}"', f'listen: "127.0.0.1:{row_port}"'),
        (f'http: "127.0.0.1:{ports["monitor_port"]}"', f'http: "127.0.0.1:{free_port()}"'),
        ("site-data/nats", "row-data/nats"),
    ):
        assert old in text
        text = text.replace(old, new)
    row_file.write_text(text)
    servers = [
        nats_process(
            root / name, port=port, config=lambda _port, where=where: f'include "../site/{where}/nats.conf"\n'
        )
        for name, port, where in (("hub", ports["nats_port"], "nats"), ("leaf", row_port, "nats-row1"))
    ]
    with ExitStack() as running:
        for server in servers:
            server.start()
            running.callback(server.stop)
        until(lambda: "Leafnode connection created" in servers[1].log_file.read_text(), 10, "the link")
        yield Linked(folder, *servers)


def may_cross(linked: Linked, said_at: ServerProcess, heard_at: ServerProcess) -> set[str]:
    """Which of all subjects, said by whoever may say it on one bus, is heard by whoever may hear it on the other."""
    speakers = ["policy-top", "api", "recorder"] if said_at is linked.top else _ROW
    listeners = ["policy-top", "api", "recorder"] if heard_at is linked.top else _ROW
    subjects, crossed = [*UP, *DOWN, *STAYS], set()
    with ExitStack() as links:
        ears = {name: linked.user(name, heard_at) for name in listeners}
        voices = {name: linked.user(name, said_at) for name in speakers}
        for link in (*ears.values(), *voices.values()):
            links.callback(link.close)
        for ear in ears.values():
            ear.listen([s for s in subjects if s not in ear.denied("subscribe", subjects)])
        allowed = {
            name: [s for s in subjects if s not in voice.denied("publish", subjects)]
            for name, voice in voices.items()
        }
        for _ in range(20):  # what one side wants to hear is known to the other a moment later
            for name, voice in voices.items():
                for subject in allowed[name]:
                    voice.say(subject, b"word")
                voice.answered()
        for _ in range(20):
            crossed |= {subject for ear in ears.values() for subject, body in ear.heard() if body == b"word"}
            time.sleep(0.01)
        return crossed


_ROW = ["policy-row1", "forecaster-row1", "infra-bridge-row1", "telemetry-a1", "actuator-a1"]


def test_what_a_region_says_up_is_heard_above_and_no_order_is(linked: Linked) -> None:
    crossed = may_cross(linked, linked.row, linked.top)

    assert crossed == set(UP)


def test_what_is_said_down_is_heard_in_the_region_and_no_order_is(linked: Linked) -> None:
    crossed = may_cross(linked, linked.top, linked.row)

    assert crossed == {f"{R}.budget.row1", f"{R}.ask.row1"}


def test_the_key_of_a_link_opens_no_more_than_the_link(linked: Linked) -> None:
    seed = linked.folder / "nats-row1" / "link-row1.nk"
    thief = linked.user("policy-row1", linked.top, seed)

    assert thief.denied("publish", STAYS) == set(STAYS)
    assert thief.denied("subscribe", [*UP, *STAYS, ">", f"{R}.>", "$JS.>", "$SYS.>"]) >= {*UP, *STAYS, ">"}
    assert thief.denied("publish", ["$JS.API.STREAM.DELETE.EVENTS"]) == {"$JS.API.STREAM.DELETE.EVENTS"}
    thief.close()


def test_each_region_finds_its_own_bus_and_has_the_keys_of_its_own_users_alone(
    linked: Linked, tmp_path: Path
) -> None:
    row = (linked.folder / "nats-row1" / "nats.conf").read_text()
    top = (linked.folder / "nats" / "nats.conf").read_text()
    (tmp_path / "again").mkdir()
    folder = write_site(
        tmp_path / "site",
        nodes=None,
        rules_file=rules(tmp_path),
        tree=None,
        buses=["row1=bus.row1"],
        hosts=["bus.top"],
    )

    assert "# actuator-a1" in row
    assert "# actuator-a1" not in top
    assert "# link-row1" in top
    assert (
        settings(folder / "actuator-a1" / "actuator-a1.env")["EASYRIDER_ACTUATOR_NATS_URL"]
        == "tls://bus.row1:4222"
    )
    assert (
        settings(folder / "policy-top" / "policy-top.env")["EASYRIDER_POLICY_NATS_URL"]
        == "tls://bus.top:4222"
    )
    assert "tls://bus.top:7422" in (folder / "nats-row1" / "nats.conf").read_text()


def test_a_region_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSite, match="--bus-of top=x"):
        write_site(
            tmp_path / "site", nodes=None, rules_file=rules(tmp_path), tree=None, buses=["top=x", "row1"]
        )


async def test_a_question_from_above_is_answered_by_the_coordinator_of_the_region(linked: Linked) -> None:
    async def answer(ask: Ask) -> Answer:
        return Answer(
            tree=ask.tree, region="row1", ok=True, reason="", epoch=3, version=7, t_ns=1, body=b"x" * 200_000
        )

    async with linked.bus("policy-row1", linked.row) as row, linked.bus("api", linked.top) as top:
        await row.answer("row1", answer)
        until_s, told = time.monotonic() + 10.0, None
        while told is None:
            try:
                told = await top.ask("row1", Ask(tree="hall", region="row1", what="state", who="api"), 1.0)
            except NoAnswer:
                assert time.monotonic() < until_s, "the question or its answer does not cross the link"

    assert (told.region, told.version, len(told.body)) == ("row1", 7, 200_000)
