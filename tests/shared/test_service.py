"""What every service gets: help, settings, log, health, signals, an orderly stop, an honest exit code."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("small_service.py")


class Running:
    """The service as a process; its health address is known once it is up."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.health_file = folder / "health"
        environ = {f"SMALL_{name.upper()}": value for name, value in settings.items()}
        environ.setdefault("SMALL_HEALTH_FILE", str(self.health_file))
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_up(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n"

    def get(self, path: str, timeout_s: float = 5.0) -> tuple[int, str]:
        host, port = self.health_file.read_text().split(":")
        door = http.client.HTTPConnection(host, int(port), timeout=timeout_s)
        with contextlib.closing(door):
            door.request("GET", path)
            answer = door.getresponse()
            return answer.status, answer.read().decode()

    def ends(self, within_s: float = 10.0) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=within_s)
        return self.process.returncode, out, err


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(**settings: str) -> Running:
        started.append(Running(tmp_path, **settings))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def wait_for(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s, f"not within {within_s} s"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_on_any_signal_callbacks_run_in_order_then_tasks_end_then_connections_close(
    run: Callable[..., Running], number: signal.Signals
) -> None:
    service = run()
    service.until_up()

    service.process.send_signal(number)
    code, out, _err = service.ends()

    assert code == 0
    assert out.splitlines() == ["callback 1", "callback 2", "task ends", "closing"]


def test_a_task_that_fails_ends_the_service_and_says_which(run: Callable[..., Running]) -> None:
    code, out, err = run(act="task fails").ends()

    assert code == 1
    assert "callback 2" in out  # the stop is as orderly as any other
    lines = [json.loads(line) for line in err.splitlines()]
    (failure,) = (line for line in lines if line["level"] == "error")
    assert failure["task"] == "task"
    assert "RuntimeError" in failure["exception"]


def test_a_start_that_fails_is_told_with_its_trace(run: Callable[..., Running]) -> None:
    code, _out, err = run(act="start fails").ends()

    assert code == 1
    assert "RuntimeError: no start" in err


def test_a_callback_that_fails_does_not_keep_the_others_from_running(run: Callable[..., Running]) -> None:
    service = run(act="callback fails")
    service.until_up()

    service.process.terminate()
    code, out, err = service.ends()

    assert code == 1
    assert "callback 2" in out
    assert "ZeroDivisionError" in err


def test_a_stop_that_hangs_is_over_within_ten_seconds(run: Callable[..., Running]) -> None:
    service = run(act="stuck")
    service.until_up()

    service.process.terminate()
    code, out, err = service.ends(within_s=11.0)

    assert code == 1
    assert "closing" in out
    assert "stop took too long" in err


def test_a_service_that_still_waits_for_its_bus_can_be_stopped(run: Callable[..., Running]) -> None:
    service = run(act="no bus")
    wait_for(service.health_file.exists)
    assert service.get("/live")[0] == 200
    assert service.get("/ready")[0] == 503

    service.process.terminate()
    code, _out, _err = service.ends(5.0)

    assert code == 0


def test_a_start_that_simply_ends_ends_the_service(run: Callable[..., Running]) -> None:
    code, out, _err = run(act="end").ends()

    assert code == 0
    assert "task ends" in out


def test_ready_follows_the_age_of_the_data(run: Callable[..., Running], tmp_path: Path) -> None:
    data = tmp_path / "data"
    service = run(data_file=str(data))
    service.until_up()
    wait_for(lambda: '"running": {"ok": true}' in service.get("/ready")[1])
    assert service.get("/ready")[0] == 503

    data.touch()
    status, body = service.get("/ready")
    assert status == 200
    assert json.loads(body)["checks"]["data"]["ok"]

    os.utime(data, (time.time() - 60, time.time() - 60))
    status, body = service.get("/ready")
    assert status == 503
    assert json.loads(body)["checks"]["data"]["age_s"] > 59


def test_a_frozen_loop_does_not_say_that_it_lives(run: Callable[..., Running]) -> None:
    service = run(act="freeze")
    service.until_up()
    assert service.get("/live")[0] == 200

    def frozen() -> bool:
        try:
            service.get("/live", timeout_s=0.7)
        except TimeoutError:
            return True
        return False

    wait_for(frozen, 4.0)


def test_metrics_and_unknown_paths(run: Callable[..., Running]) -> None:
    service = run()
    service.until_up()

    status, text = service.get("/metrics")
    assert status == 200
    assert "easyrider_bus_dropped_total" in text
    assert service.get("/etc/passwd")[0] == 404


def test_wrong_settings_are_one_message_and_exit_code_two(run: Callable[..., Running]) -> None:
    code, out, err = run(act="dance", log_levle="info", health_address="nowhere").ends()

    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "SMALL_ACT is 'dance'" in err
    assert "SMALL_LOG_LEVLE is not a setting (did you mean SMALL_LOG_LEVEL?)" in err


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "nowhere", "127.0.0.1:http"])
def test_a_door_that_cannot_be_opened_is_a_wrong_setting(run: Callable[..., Running], address: str) -> None:
    code, _out, err = run(health_address=address).ends()

    assert code == 2
    assert address in err


def test_help_lists_every_setting() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=True)

    for name in ("ACT", "DATA_FILE", "HEALTH_ADDRESS", "HEALTH_FILE", "LOG_LEVEL", "LOG_FORMAT"):
        assert f"SMALL_{name}" in done.stdout


def test_an_argument_that_is_not_understood_starts_nothing() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--halp"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "'--halp'" in done.stderr


def test_a_service_that_waits_for_its_bus_says_so_once(run: Callable[..., Running]) -> None:
    service = run(act="no bus")
    assert service.process.stderr is not None
    said = []
    while "no bus at nats://127.0.0.1:1 yet" not in (line := service.process.stderr.readline()):
        assert line, "it ended without saying what it waits for"
        said.append(line)
    time.sleep(1.5)  # time for several attempts more
    service.process.terminate()

    code, _out, err = service.ends()

    assert code == 0
    assert "no bus at" not in "".join(said) + err
    assert "bus error" not in "".join(said) + err


def test_no_password_of_an_address_reaches_the_log(run: Callable[..., Running]) -> None:
    code, out, err = run(act="task fails").ends()

    assert code == 1
    assert "geheim" not in out + err
    assert "redis://***@example/0" in err
