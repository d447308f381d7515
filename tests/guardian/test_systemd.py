"""Systemd hears of a guardian that it guards, and that its loop turns; of a frozen one it hears nothing."""

import signal
import socket
import time

import pytest


@pytest.fixture
def notified(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "2000000")
        yield line


def hears(line: socket.socket, word: str, within_s: float) -> bool:
    end_s = time.monotonic() + within_s
    while (left_s := end_s - time.monotonic()) > 0:
        line.settimeout(left_s)
        try:
            if word in line.recv(4096).decode():
                return True
        except TimeoutError:
            return False
    return False


def test_a_guardian_is_ready_once_it_has_looked_at_its_boards_and_shows_that_its_loop_turns(node, notified):
    node.start()

    assert hears(notified, "READY=1", 10)
    assert [gpu.enforced_w for gpu in node.state().gpus] == [700.0] * 4
    assert hears(notified, "WATCHDOG=1", 5)
    assert hears(notified, "WATCHDOG=1", 5)


def test_a_frozen_guardian_says_nothing_so_that_systemd_starts_another(node, notified):
    node.start()
    assert hears(notified, "WATCHDOG=1", 10)
    node.signal(signal.SIGSTOP)
    while hears(notified, "", 0.2):
        pass

    assert not hears(notified, "WATCHDOG=1", 2.5)
    node.signal(signal.SIGCONT)
    assert hears(notified, "WATCHDOG=1", 5)
