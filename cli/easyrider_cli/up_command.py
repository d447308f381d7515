"""`easyrider up`: the stack kept up on a simulated rack until Ctrl-C."""

import time
from pathlib import Path

from rich.console import Console

from easyrider_cli import preflight
from easyrider_cli.process import ChildFailed
from easyrider_cli.rundir import RunFolder, default_root
from easyrider_cli.stack import Stack, stack_up
from easyrider_twin.control import ask

_DEMO_S = 150.0
"""The jobs' programs are those of a demonstration of this length; they loop."""


def keep_up(seed: int, mode: str, traces: Path | None, run: Path | None, console: Console) -> None:
    """Every service on a simulated rack. Raises `ChildFailed` when one of the processes ends by itself."""
    preflight.compiled()
    world = preflight.sized_world(seed, _DEMO_S, traces)
    folder = RunFolder.fresh(run or default_root())

    def say(step: str) -> None:
        console.print(step, highlight=False, soft_wrap=True)

    with stack_up(folder, world, mode=mode, say=say) as stack:
        ask(folder.twin / "control.sock", {"do": "start"})
        _say_where(stack, mode, run, console)
        try:
            while not (dead := stack.dead()):
                time.sleep(0.5)
        except KeyboardInterrupt:
            console.print("stopping")
            return
        raise ChildFailed(dead[0], "ended by itself", folder.log(dead[0]))


def _say_where(stack: Stack, mode: str, run: Path | None, console: Console) -> None:
    folder = stack.folder
    named = "" if run is None else f" --run {folder.root}"
    failure = stack.world.failures[0]
    lines = [
        f"up in {mode}; Ctrl-C ends it. Everything it writes is in {folder.root}",
        f"  bus      {stack.servers.nats.url}   keys {stack.servers.keys}",
        f"  store    {stack.servers.redis.url}",
        f"  rules    {folder.rules}",
        f"  journal  {folder.journal}",
    ]
    for name in stack.services():
        at = folder.health(name).read_text().strip()
        lines.append(f"  {name:<18} http://{at}/metrics   log {folder.log(name)}")
    lines += [
        f"a supply module of {failure.domain} fails after {failure.at_s:.0f} s for {failure.for_s:.0f} s",
        f"  plans as they come:  easyrider plan{named}",
        f"  any NVML program:    easyrider twin exec{named} -- gpustat",
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
