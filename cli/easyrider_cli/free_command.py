"""`easyrider free`: an operator answers for a node or a region that will not return; what is booked for it ends."""

import json
import sys

from rich.console import Console

from easyrider_cli.doors import Door, Refused


def free(door: Door, kind: str, name: str, as_json: bool, console: Console) -> None:
    """Do it and say so. Raises `Refused` with what stands against it."""
    if kind not in ("node", "region"):
        raise Refused(f"{kind!r} is neither node nor region; nothing was changed")
    freed_w = door.free("node" if kind == "node" else "region", name)
    if as_json:
        sys.stdout.write(json.dumps({kind: name, "freed": True, "freed_w": freed_w}) + "\n")
        return
    watts = "" if freed_w is None else f", {freed_w:.0f} W are let go"
    after = "nothing until it is heard" if kind == "node" else "its guaranteed share until it is heard"
    console.print(f"{kind} {name} counts {after}{watts}", highlight=False, markup=False, soft_wrap=True)
