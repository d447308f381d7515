"""`easyrider accuracy`: docs/accuracy.md is run as it stands there, on records made by hand, in a real store."""

import asyncio
import json
import re
import secrets
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from accuracy_records import NOTHING, one

from easyrider import accuracy
from easyrider.accuracy import Accuracy
from easyrider.embedded import ServerProcess
from easyrider.store import Store
from easyrider.testing.servers import redis_server
from easyrider_cli import address
from easyrider_cli.__main__ import app
from easyrider_cli.accuracy_command import CannotDraw, NoAccuracy
from easyrider_cli.address import Address
from easyrider_cli.rundir import RunFolder

PAGE = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text()
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    for line in block.splitlines()
    if line
]
CAPPED = one("capped $x_1$", demand=NOTHING, updated_unix_s=1.7e9)
YOUNG = one("young", demand=NOTHING, draw=NOTHING, trail=(), updated_unix_s=1.6e9)
Keep = Callable[..., None]


@pytest.fixture(scope="module")
def valkey() -> Iterator[ServerProcess]:
    with redis_server() as server:
        yield server


@pytest.fixture
def keep(valkey: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Puts records where the stack of this user's run folder keeps them."""
    tree = f"site-{secrets.token_hex(4)}"
    up = Address(
        nats_url="nats://127.0.0.1:1",
        redis_url=valkey.url,
        region="local",
        tree=tree,
        nodes=(),
        watcher_seed=None,
    )
    (tmp_path / "run").mkdir()
    address.leave(RunFolder(tmp_path / "run"), up)
    monkeypatch.setenv("EASYRIDER_RUN", str(tmp_path / "run"))
    monkeypatch.chdir(tmp_path)

    def kept(*ones: Accuracy, junk: bool = False) -> None:
        async def save() -> None:
            async with Store.connect(valkey.url, deadline_s=5.0) as store:
                found = {each.id: accuracy.encode(each) for each in ones}
                await store.save_accuracy(tree, 5, found | ({"local junk": b"junk"} if junk else {}))

        asyncio.run(save())

    return kept


def test_its_page_works_as_it_stands_there(keep: Keep, capsys: pytest.CaptureFixture[str]) -> None:
    keep(one())

    said = []
    for line in LINES:
        program, *words = shlex.split(line)
        assert program == "easyrider"
        app(words, standalone_mode=False)
        said.append(capsys.readouterr().out)

    listed, single, drawn, machine = said
    assert listed.count("\n") == 1
    assert "held90" in single
    assert Path(drawn.splitlines()[-1]).read_bytes().startswith(b"\x89PNG")
    assert json.loads(machine)["jobs"][0]["demand"][0]["run"]["mase"] == 0.5


def test_a_line_for_each_job_newest_first_and_what_is_unknown_is_said(
    keep: Keep, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(one(), CAPPED, YOUNG, junk=True)

    app(["accuracy"], standalone_mode=False)

    said = capsys.readouterr()
    whole, capped, young = said.out.splitlines()
    assert "demand over 10 s off by 12.5 W, 0.50 x the last second's error" in whole
    assert "0.99 bound held 99.0 % of 100" in whole
    assert "7 of 9 rises foretold, 4.5 s ahead; 1 announced that never came, 2 withdrawn" in whole
    assert "draw over 10 s" in capped
    assert "nothing was judged yet" in young
    assert "left aside: the accuracy kept of local junk" in said.err


def test_a_picture_is_drawn_also_of_a_job_of_which_nothing_is_known(keep: Keep, tmp_path: Path) -> None:
    keep(CAPPED, YOUNG)

    for job in (CAPPED.job, YOUNG.job):
        app(["accuracy", job, "--plot", "picture.png"], standalone_mode=False)
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "picture.png").unlink()


def test_a_job_that_is_not_there_is_said_so_with_those_that_are(keep: Keep) -> None:
    keep(one("a"), one("a", region="row-1", updated_unix_s=1.9e9))

    with pytest.raises(NoAccuracy, match=r"there is a$"):
        app(["accuracy", "b"], standalone_mode=False)
    with pytest.raises(CannotDraw, match="of one job"):
        app(["accuracy", "--plot", "x.png"], standalone_mode=False)


def test_of_a_job_in_two_regions_the_newest_is_told_or_the_one_named(
    keep: Keep, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(one("a"), one("a", region="row-1", updated_unix_s=1.9e9))

    for words, region in ((["accuracy", "a"], "row-1"), (["accuracy", "a", "--region", "local"], "local")):
        app([*words, "--json"], standalone_mode=False)
        assert json.loads(capsys.readouterr().out)["region"] == region
