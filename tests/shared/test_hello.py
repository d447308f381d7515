"""A program of a stranger: told what it lacks in one line, and let in at an installation with TLS by its folder."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from installed_site import Installed, site_installed

from easyrider.bus import Bus
from easyrider.tls import TlsFiles

HELLO = Path(__file__).parents[2] / "integrations" / "hello" / "hello.py"


def says(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-I", str(HELLO), *words], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stderr


def test_without_an_address_its_usage_is_shown() -> None:
    code, errors = says()

    assert code == 1
    assert errors.startswith("usage: hello.py URL")
    assert len(errors.splitlines()) == 1


def test_a_key_that_is_not_there_is_named(tmp_path: Path) -> None:
    code, errors = says("nats://127.0.0.1:9", str(tmp_path / "none.nk"))

    assert code == 1
    assert errors == f"hello.py: there is no file {tmp_path / 'none.nk'}\n"


@pytest.mark.parametrize("program", [HELLO, HELLO.with_name("twenty.py")], ids=["hello", "twenty"])
def test_a_bus_that_does_not_answer_a_key_that_is_none_and_no_address_are_told_in_a_line(
    tmp_path: Path, program: Path
) -> None:
    (tmp_path / "none.nk").write_text("no seed")
    url = "nats://127.0.0.1:9"
    impatient = (
        "import asyncio, runpy, sys; patient = asyncio.wait_for\n"
        "asyncio.wait_for = lambda work, _: patient(work, 0.3)\n"
        f"runpy.run_path({str(program)!r}, run_name='__main__')"
    )

    for words in ([url], [url, str(tmp_path / "none.nk")], ["nats://h:99999"], []):
        done = subprocess.run(
            [sys.executable, "-I", "-c", impatient, *words],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

        assert done.returncode == 1, words
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stderr.startswith(f"{program.name}: " if words else "usage: "), done.stderr


async def heard(site: Installed) -> str:
    """The first line that it prints of an event which the bus keeps."""
    here, ours = site.folder / "policy", site.folder / "integration"
    tls = TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")
    async with Bus.connect(site.nats_url, name="policy", seed_file=site.seed("policy"), tls=tls) as bus:
        await bus.keep_events()
        await bus.publish_event("leader_change", "r1", {"epoch": 7}, source="policy", ack_s=5.0)
        words = [str(ours / name) for name in ("integration.nk", "ca.pem", "certificate.pem", "key.pem")]
        stranger = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(HELLO), site.nats_url, *words, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert stranger.stdout is not None
            return (await asyncio.wait_for(stranger.stdout.readline(), 30)).decode()
        finally:
            if stranger.returncode is None:
                stranger.kill()
            await stranger.wait()


def test_where_its_reader_is_gone_it_ends_without_a_word() -> None:
    broken = (
        f"import runpy, sys, asyncio; sys.argv = ['hello.py', 'nats://x']\n"
        f"asyncio.run = lambda work: (work.close(), [print('x' * 9000, flush=True) for _ in range(99)])\n"
        f"runpy.run_path({str(HELLO)!r}, run_name='__main__')"
    )

    with subprocess.Popen(
        [sys.executable, "-I", "-c", broken], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        reader.stdout.close()
        errors = reader.stderr.read()

    assert errors == ""
    assert reader.returncode == 0


def test_at_an_installation_with_tls_it_is_let_in_by_what_its_folder_holds(tmp_path: Path) -> None:
    with site_installed(tmp_path) as site:
        line = asyncio.run(heard(site))

    assert "leader_change" in line
    assert "7" in line
