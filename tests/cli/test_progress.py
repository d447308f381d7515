"""Live progress: in place in a terminal, a line now and then elsewhere."""

import io

import pytest
from rich.console import Console

from easyrider_cli.progress import DomainNow, Moment, Progress, bar, plain_line


def moment(t_s: float = 12.0, wall_w: float = 20e3, phase: str = "with EasyRider", **more: object) -> Moment:
    ups = DomainNow(domain="ups", wall_w=wall_w, hard_w=30e3, target_w=24e3)
    return Moment(phase=phase, elapsed_s=t_s, total_s=150, domains=(ups,), acks=7, raises_waited=2, **more)  # type: ignore[arg-type]


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def test_outside_a_terminal_there_is_one_line_every_five_seconds() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(Console(file=out, force_terminal=False, width=200), clock) as progress:
        for step in range(41):
            clock.s = 100.0 + 0.25 * step
            progress.show(moment(0.25 * step))

    assert len(out.getvalue().splitlines()) == 3  # at 0, 5 and 10 s
    assert "\x1b" not in out.getvalue()


def test_a_new_phase_and_a_trip_are_told_at_once() -> None:
    out, clock = io.StringIO(), Clock()
    with Progress(Console(file=out, force_terminal=False, width=200), clock) as progress:
        progress.show(moment(phase="starting"))
        progress.show(moment(phase="a module fails"))
        progress.show(moment(phase="a module fails", tripped=("ups",)))
        progress.show(moment(phase="a module fails", tripped=("ups",)))

    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[2].endswith("TRIPPED: ups")


def test_a_plain_line_says_time_phase_power_limits_and_counts() -> None:
    assert plain_line(moment()) == (
        "12 of 150 s  with EasyRider  ups 20.0 kW of target 24.0, hard 30.0 (ok)  acks 7, raises that waited 2"
    )


def test_a_count_that_is_not_known_is_not_said() -> None:
    assert "acks" not in plain_line(Moment(phase="starting", elapsed_s=1.0))


@pytest.mark.parametrize(
    ("wall_w", "verdict"), [(20e3, "ok"), (25e3, "over target"), (31e3, "OVER HARD LIMIT")]
)
def test_where_the_power_stands_is_said_in_words(wall_w: float, verdict: str) -> None:
    assert f"({verdict})" in plain_line(moment(wall_w=wall_w))


def test_a_bar_is_filled_up_to_the_power_and_marks_both_limits() -> None:
    domain = DomainNow(domain="ups", wall_w=20e3, hard_w=30e3, target_w=24e3)

    shown = bar(domain, 40e3, cells=40, ascii_only=True).plain

    assert shown == "#" * 20 + "...." + "t" + "....." + "H" + "." * 9


def test_in_a_terminal_the_picture_is_renewed_in_place_and_shows_bars() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120, color_system=None, legacy_windows=False)
    with Progress(console) as progress:
        progress.show(moment(1.0))
        progress.show(moment(2.0))

    assert "ups" in out.getvalue()
    assert "█" in out.getvalue() or "#" in out.getvalue()
    assert "\x1b[" in out.getvalue()
    assert "raises that waited 2" in out.getvalue()


def test_the_scale_stays_when_a_hard_limit_drops() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=True, width=120, color_system=None)) as progress:
        progress.show(moment())
        lower = DomainNow(domain="ups", wall_w=20e3, hard_w=24e3, target_w=19e3)
        progress.show(Moment(phase="a module fails", elapsed_s=2, domains=(lower,)))

    bars = [line for line in out.getvalue().splitlines() if "kW" in line]
    assert bars[0].index("┃" if "┃" in bars[0] else "H") > bars[-1].index("┃" if "┃" in bars[-1] else "H")


def test_in_a_narrow_terminal_bars_are_shorter_and_no_line_breaks() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=True, width=80, color_system=None)) as progress:
        progress.show(moment(wall_w=31e3))

    line = next(line for line in out.getvalue().splitlines() if "kW" in line)
    assert line.rstrip().endswith("OVER HARD LIMIT")
    assert "target 24.0, hard 30.0" in line
