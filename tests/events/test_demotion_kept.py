"""Demotions on the disk: there before they are told, gone when they are lifted, one writing at a time, tried again."""

import asyncio
import dataclasses
import threading
from collections.abc import Iterable
from pathlib import Path

from test_demotion import xid
from wired_site import Wired

from easyrider_policy.adapters.demotions_file import DemotionsFile
from easyrider_policy.core.demotion import Demoted, Demotions
from easyrider_policy.demoting import DemotionDesk


def nodes_in(folder: Path) -> set[str]:
    return {demoted.node for demoted in DemotionsFile(folder).read()}


async def until_kept(folder: Path, nodes: set[str], within_s: float = 10.0) -> None:
    async with asyncio.timeout(within_s):
        while nodes_in(folder) != nodes:
            await asyncio.sleep(0.01)


class Told:
    """What was told, and which nodes the disk knew of at that moment."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.nodes, self.on_disk = folder, list[object](), list[set[str]]()

    async def say(self, kind: str, data: dict[str, object]) -> None:
        self.nodes.append(data["node"])
        self.on_disk.append(nodes_in(self.folder))


async def test_one_that_newer_rules_lifted_does_not_come_back_with_a_restart(
    led: Wired, tmp_path: Path
) -> None:
    desk = DemotionDesk(led.picture, DemotionsFile(tmp_path), led.news.say)
    await xid(led, desk)
    running = asyncio.create_task(desk.run())
    rules = led.picture.rules
    mended = dataclasses.replace(rules.modes[0], reason="the board was replaced")
    led.picture.accept(dataclasses.replace(rules, version=rules.version + 1, modes=(mended,)))
    await led.seconds(1)

    await until_kept(tmp_path, set())
    running.cancel()

    assert Demotions(DemotionsFile(tmp_path).read(), led.picture.rules.version).standing == {}


async def test_it_is_on_the_disk_before_it_is_told(led: Wired, tmp_path: Path) -> None:
    told = Told(tmp_path)

    await xid(led, DemotionDesk(led.picture, DemotionsFile(tmp_path), told.say))

    assert told.on_disk == [{"a"}]


async def test_what_the_disk_refused_is_told_and_written_later(led: Wired, tmp_path: Path) -> None:
    told = Told(tmp_path)
    desk = DemotionDesk(led.picture, DemotionsFile(tmp_path), told.say)
    in_the_way = tmp_path / "demotions.half"
    in_the_way.mkdir()
    await xid(led, desk)
    running = asyncio.create_task(desk.run())
    in_the_way.rmdir()

    await until_kept(tmp_path, {"a"})
    running.cancel()

    assert (told.nodes, told.on_disk) == (["a"], [set()])


class Slow(DemotionsFile):
    """A disk that takes its time, and sees how many write at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at_once, self.most, self.free = 0, 0, threading.Event()

    def keep(self, standing: Iterable[Demoted]) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.free.wait(5.0)
        super().keep(standing)
        self.at_once -= 1


async def test_two_at_once_are_written_one_after_the_other(led: Wired, tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    desk = DemotionDesk(led.picture, slow, Told(tmp_path).say)
    both = asyncio.gather(xid(led, desk, node="a"), xid(led, desk, node="b"))
    await asyncio.sleep(0.1)
    slow.free.set()
    await both

    await until_kept(tmp_path, {"a", "b"})

    assert slow.most == 1


async def test_a_disk_that_hangs_keeps_no_demotion_from_being_told(led: Wired, tmp_path: Path) -> None:
    told, hangs = Told(tmp_path), Slow(tmp_path)
    desk = DemotionDesk(led.picture, hangs, told.say)

    async with asyncio.timeout(4.0):
        await xid(led, desk, node="a")
        await xid(led, desk, node="b")
    hangs.free.set()

    assert (told.nodes, told.on_disk) == (["a", "b"], [set(), set()])
    assert set(led.picture.demotions.standing) == {"a", "b"}
    await until_kept(tmp_path, {"a", "b"})
