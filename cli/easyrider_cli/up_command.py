"""`easyrider up`: the stack kept up on a simulated rack until Ctrl-C."""

import time
from pathlib import Path

from rich.console import Console

from easyrider.tree_reader import to_document
from easyrider_cli import api_child, own_tree, preflight, stack_regions
from easyrider_cli.front_door import front_door
from easyrider_cli.keeper import Keeper
from easyrider_cli.process import Child
from easyrider_cli.recorder_child import recorder_child
from easyrider_cli.rundir import RunFolder, default_root
from easyrider_cli.servers import OPEN, Servers
from easyrider_cli.stack import REGION, TREE, Stack, stack_up
from easyrider_twin.control import ask

_DEMO_S = 150.0
"""The jobs' programs are those of a demonstration of this length; they loop."""
_LOOK_S = 0.25


def keep_up(
    seed: int,
    mode: str,
    traces: Path | None,
    run: Path | None,
    insecure: bool,
    record: Path | None,
    console: Console,
    *,
    regions: bool = False,
    rules_file: Path | None = None,
) -> None:
    """Every service on a simulated rack; one that dies is started again. Raises `NotKeptUp`.

    `regions`: three coordinators instead of one, a site and its two rows. `rules_file`: the rules, their modes
    included, and the hardware that they declare, instead of those of the demonstration's rack.
    """
    if record is not None:
        preflight.writable_folder("--record", record)
    preflight.light_traces(traces)
    preflight.compiled()
    scopes, rules = None, None
    if rules_file is not None:
        if regions or traces is not None:
            raise preflight.CannotShow("--rules goes with neither --regions nor --traces")
        own = own_tree.ruled(rules_file, TREE)
        world, rules = own_tree.world_of(own, rules_file, seed), to_document(own)
    else:
        world = preflight.sized_world(seed, _DEMO_S, traces)
    if regions:
        world = stack_regions.in_rows(world)
        scopes, rules = stack_regions.scopes_of(world), {"regions": stack_regions.regions_of(world)}
    folder = RunFolder.fresh(run or default_root())

    def say(step: str) -> None:
        console.print(step, highlight=False, markup=False, soft_wrap=True)

    def beside(folder: RunFolder, running: Servers) -> list[Child]:
        recorder = [] if record is None else [recorder_child(folder, running, record, REGION, TREE)]
        return [*recorder, api_child.api_child(folder, running, REGION, TREE)]

    with stack_up(
        folder, world, mode=mode, say=say, insecure=insecure, beside=beside, scopes=scopes, rules=rules
    ) as stack:
        ask(folder.twin / "control.sock", {"do": "start"})
        _say_where(stack, "the modes of its rules" if rules_file else mode, run, record, console)
        try:
            keeper = Keeper(stack, say)
            while True:
                keeper.look()
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            console.print("stopping")


def _say_where(stack: Stack, mode: str, run: Path | None, record: Path | None, console: Console) -> None:
    folder = stack.folder
    named = "" if run is None else f" --run {folder.root}"
    fails = [
        f"a supply module of {failure.domain} fails after {failure.at_s:.0f} s for {failure.for_s:.0f} s"
        for failure in stack.world.failures
    ]
    easyrider = front_door()
    one = f" --region {stack_regions.ROWS[0]}" if f"policy-{stack_regions.ROWS[0]}" in stack.children else ""
    keys = "" if stack.servers.keys is None else f"   keys {stack.servers.keys}"
    lines = [
        f"up in {mode}; Ctrl-C ends it. Everything it writes is in {folder.root}",
        f"  bus      {stack.servers.nats.url}   nats-server, pid {stack.servers.nats.pid}{keys}",
        f"  store    {stack.servers.redis.url}   valkey-server, pid {stack.servers.redis.pid}",
        f"  logs     {folder.log('nats-server').parent}",
        f"  rules    {folder.rules}",
        f"  journal  {folder.journal}",
        f"  api      http://{api_child.address_file(folder).read_text().strip()}/v1   "
        f"an administrator's token {api_child.token_file(folder)}",
    ]
    if stack.servers.keys is None:
        lines.insert(1, OPEN)
    for node in stack.world.nodes:
        guardian = stack.child(f"guardian-{node.id}")
        lines.append(f"  {guardian.name:<18} {folder.guardian_socket(node.id)}   pid {guardian.pid}")
    for name in stack.services():
        at = folder.health(name).read_text().strip()
        lines.append(f"  {name:<18} http://{at}/metrics   pid {stack.child(name).pid}")
    lines += [
        *fails,
        f"  how it stands:       {easyrider} status{named}",
        f"  plans as they come:  {easyrider} plan{named}",
        f"  any NVML program:    {easyrider} twin exec{named} -- nvidia-smi",
        "                       (or gpustat, nvitop, zeus if you have them)",
        f"  a program of yours:  python integrations/hello/hello.py {stack.servers.nats.url} "
        f"{stack.servers.seed('integration') or ''}",
        *(
            []
            if record is None
            else [f"  recorded into:       {record.absolute()}   ({easyrider} replay {record}{one})"]
        ),
        "a service that dies is started again after 1 s: kill one, the policy say, and see that no limit moves",
    ]
    # In one go: whoever waits for the first line may read on at once.
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
