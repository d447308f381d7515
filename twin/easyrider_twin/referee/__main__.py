"""`python -m easyrider_twin.referee --run DIR [--guardian-log NODE=PATH ...]`: watches until SIGTERM."""

import argparse
import json
import signal
import sys
import threading
import time
from pathlib import Path

from easyrider_twin.referee import site
from easyrider_twin.referee.case import Case
from easyrider_twin.referee.journals import Journal
from easyrider_twin.referee.rings import NoEvidence, Ring

PERIOD_S = 0.05
SUMMARY_EVERY = 20


def main(arguments: list[str] | None = None) -> int:
    """0 once ended; 2 if there is no twin to watch, or a node file of it is missing.

    What was found is in `twin/referee.json`.
    """
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    place: Path = options.run / "twin"
    deadline_s = time.monotonic() + options.wait_s
    while not (place / "ready").exists():
        if stop.is_set() or time.monotonic() > deadline_s:
            sys.stderr.write(f"no twin became ready in {place} within {options.wait_s} s\n")
            return 2
        time.sleep(PERIOD_S)
    ground = site.read(place / "world.yaml")
    journals = {node: Journal(options.run / node / "writes.jsonl") for node in ground.slope}
    for entry in options.guardian_log:
        node, _, path = entry.partition("=")
        journals[node] = Journal(Path(path))
    try:
        rings = [Ring(options.run / node / "nvml.state", node) for node in ground.slope]
    except NoEvidence as missing:
        sys.stderr.write(f"{missing}\n")
        return 2
    case = Case(ground, rings, journals, place)
    looks = 0
    while not stop.wait(PERIOD_S):
        case.look(_boot_ns())
        looks += 1
        if looks % SUMMARY_EVERY == 1:
            _replace(place / "referee.json", case)
    case.look(_boot_ns(), last=True)
    _replace(place / "referee.json", case, final=True)
    return 0


def _boot_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _replace(path: Path, case: Case, *, final: bool = False) -> None:
    half = path.with_suffix(".new")
    half.write_text(json.dumps(case.summary(final=final), indent=1) + "\n")
    half.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="easyrider_twin.referee", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="run folder of the twin")
    parser.add_argument("--guardian-log", action="append", default=[], metavar="NODE=PATH")
    parser.add_argument("--wait-s", type=float, default=30.0, help="for the twin to become ready")
    return parser


if __name__ == "__main__":
    sys.exit(main())
