"""A reader that had enough, as `head` has, ends a command without a word; other broken pipes are told."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_plan_view import plan

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.testing.servers import nats_server
from easyrider_cli import check_command
from easyrider_cli.__main__ import main
from easyrider_cli.reader_gone import EXIT

EASYRIDER = str(Path(sys.executable).parent / "easyrider")


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [EASYRIDER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and its stderr, once nobody reads its stdout."""
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    return process.wait(20), errors


@pytest.mark.parametrize("words", [("version",), ("--help",), ("hold", "--help")])
def test_what_ends_by_itself_ends_without_a_word(words: tuple[str, ...]) -> None:
    with started(*words) as process:
        assert ended(process) == (EXIT, "")


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["people", "machines"])
def test_plans_that_nobody_reads_any_more_end(form: tuple[str, ...]) -> None:
    over = threading.Event()

    async def speak(url: str) -> None:
        async with Bus.connect(url, name="policy", wait_s=5) as bus:
            while not over.is_set():
                await bus.publish(subjects.plan("local"), plan())
                await asyncio.sleep(0.05)

    with nats_server() as bus:
        speaker = threading.Thread(target=lambda: asyncio.run(speak(bus.url)), daemon=True)
        speaker.start()
        try:
            with started("plan", "--nats-url", bus.url, *form) as process:
                assert process.stdout is not None
                first = process.stdout.readline()
                assert "plan" in first or "seq" in first
                assert ended(process) == (EXIT, "")
        finally:
            over.set()
            speaker.join()


def test_a_socket_that_breaks_is_told_where_the_reader_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise BrokenPipeError(32, "Broken pipe", "guardian.sock")

    monkeypatch.setattr(check_command, "check", broken)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["easyrider", "check", "rules.yaml"])

    assert main() == 2
    assert "guardian.sock" in capsys.readouterr().err
