"""`python -m easyrider_twin run|simulate|worlds`."""

import argparse
import json
import math
import sys
from pathlib import Path

from easyrider_twin import world
from easyrider_twin.process import live
from easyrider_twin.rack import DoesNotTrip, demo_world, static_cap_w
from easyrider_twin.recorded_rows import BadRecording
from easyrider_twin.simulate import simulate
from easyrider_twin.table import table


def main(arguments: list[str] | None = None) -> int:
    """Exit code of one command; 2 for a world or recording that was refused."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "worlds":
            made = demo_world(options.seed, options.seconds, options.traces)
            sys.stdout.write(world.dump(made))
        elif options.command == "run":
            live(world.read(options.world), options.run, options.host, start=options.start)
        else:
            site = world.read(options.world)
            caps_w = static_cap_w(site) if options.static else options.cap_w
            outcome = simulate(site, options.seconds, caps_w=caps_w)
            told = json.dumps(outcome.summary() | {"cap_w": caps_w}, indent=1) + "\n"
            sys.stdout.write(told if options.json else table(outcome, caps_w))
    except (world.BadWorld, BadRecording, DoesNotTrip, OSError, ValueError) as refused:
        sys.stderr.write(f"{refused}\n")
        return 2
    return 0


def _watts(text: str) -> float:
    """A number of watts above 0. Raises what argparse takes for a fault."""
    watts = float(text)
    if not 0 < watts < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of watts above 0")
    return watts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="easyrider_twin", description="The physical world in software.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="hold a world in real time")
    run.add_argument("world", type=Path)
    run.add_argument("--run", type=Path, required=True, help="folder for state files, sockets and records")
    run.add_argument("--host", default="127.0.0.1", help="where meters listen")
    run.add_argument("--start", action="store_true", help="let the jobs run at once, not when told to")
    virtual = commands.add_parser("simulate", help="run a world in virtual time and print what came of it")
    virtual.add_argument("world", type=Path)
    virtual.add_argument("--seconds", type=float, default=150.0)
    limit = virtual.add_mutually_exclusive_group()
    limit.add_argument("--cap-w", type=_watts, help="one equal cap for every GPU")
    limit.add_argument("--static", action="store_true", help="the equal cap that meets the UPS's target")
    virtual.add_argument("--json", action="store_true", help="everything, for programs, instead of a table")
    worlds = commands.add_parser("worlds", help="print the demonstration rack as a world")
    worlds.add_argument("--seed", type=int, default=1)
    worlds.add_argument("--seconds", type=float, default=150.0)
    worlds.add_argument("--traces", type=Path, help="folder of recordings; default the shipped ones")
    return parser


if __name__ == "__main__":
    sys.exit(main())
