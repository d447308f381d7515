"""Lines are held back, not lost from sight."""

import time

import pytest

from easyrider import log, metrics


class Recorder:
    """Takes lines as a logger does."""

    def __init__(self, said: list[tuple[str, dict[str, object]]], **bound: object) -> None:
        self.said, self.bound = said, bound

    def bind(self, **fields: object) -> "Recorder":
        return Recorder(self.said, **self.bound, **fields)

    def warning(self, event: str) -> None:
        self.said.append((event, self.bound))


def test_a_line_that_repeats_is_said_once_a_while_and_says_how_many_were_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    recorder = Recorder([])
    for _ in range(100):
        log.bounded(recorder, "key", 10.0).warning("again")
    log.bounded(recorder, "other key", 10.0).warning("else")
    now_s += 10.0
    log.bounded(recorder, "key", 10.0).warning("again")

    assert recorder.said == [("again", {}), ("else", {}), ("again", {"unsaid": 99})]


def test_keys_made_of_foreign_text_do_not_fill_the_memory() -> None:
    recorder = Recorder([])
    for index in range(10_000):
        log.bounded(recorder, f"key {index}", 10.0).warning("x")

    assert len(log._allowed_again_s) <= 4097


@pytest.mark.parametrize(
    ("text", "blotted"),
    [
        ("nats://anna:geheim@host:4222 failed", "nats://***@host:4222 failed"),
        ("redis://:geheim@host/0", "redis://***@host/0"),
        ("see http://host/a@b", "see http://host/a@b"),
        ("nothing here", "nothing here"),
    ],
)
def test_user_and_password_are_blotted_out_of_addresses(text: str, blotted: str) -> None:
    assert log.blot(text) == blotted


def test_a_metric_asked_for_twice_is_the_same_and_another_kind_under_its_name_is_an_error() -> None:
    first = metrics.counter("test_things_total", "things", ["kind"])

    assert metrics.counter("test_things_total", "things", ["kind"]) is first
    assert metrics.counter("easyrider_test_things_total", "things", ["kind"]) is first
    with pytest.raises(TypeError, match="easyrider_test_things_total"):
        metrics.gauge("test_things_total", "things")
