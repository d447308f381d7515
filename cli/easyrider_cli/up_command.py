"""`easyrider up`: the stack kept up on a simulated rack until Ctrl-C."""

import time
from pathlib import Path

from rich.console import Console

from easyrider_cli.process import ChildFailed
from easyrider_cli.rundir import RunFolder, default_root
from easyrider_cli.stack import Stack, stack_up
from easyrider_twin.control import ask
from easyrider_twin.rack import demo_world

_DEMO_S = 150.0
"""The jobs' programs are those of a demonstration of this length; they loop."""


def keep_up(seed: int, mode: str, traces: Path | None, run: Path | None, console: Console) -> None:
    """Every service on a simulated rack. Raises `ChildFailed` when one of the processes ends by itself."""
    folder = RunFolder.fresh(run or default_root())
    world = demo_world(seed, _DEMO_S, traces)
    with stack_up(folder, world, mode=mode, say=console.print) as stack:
        ask(folder.twin / "control.sock", {"do": "start"})
        _say_where(stack, console)
        try:
            while not (dead := stack.dead()):
                time.sleep(0.5)
        except KeyboardInterrupt:
            console.print("stopping")
            return
        raise ChildFailed(dead[0], "ended by itself", folder.log(dead[0]))


def _say_where(stack: Stack, console: Console) -> None:
    folder = stack.folder
    console.print(f"up; Ctrl-C ends it. Everything it writes is in {folder.root}")
    console.print(f"  bus      {stack.servers.nats.url}   subjects easyrider.v1.>")
    console.print(f"  store    {stack.servers.redis.url}")
    console.print(f"  rules    {folder.rules}")
    console.print(f"  journal  {folder.journal}")
    for name in stack.services():
        address = folder.health(name).read_text().strip()
        console.print(f"  {name:<18} http://{address}/metrics   log {folder.log(name)}")
    console.print("  any NVML program: easyrider twin exec -- gpustat")
