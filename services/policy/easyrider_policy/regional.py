"""Parent and child of one scope, introduced to loop and bus: the same at every level, quiet where there is none."""

from pathlib import Path

from easyrider import subjects
from easyrider.bus_port import BusPort
from easyrider.messages import Budget, Demand
from easyrider_policy.adapters.shares_file import SharesFile
from easyrider_policy.adapters.tenure_file import TenureFile
from easyrider_policy.child import Child
from easyrider_policy.clocks import Clocks
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.loop import Loop
from easyrider_policy.parent import Parent
from easyrider_policy.scribe import Scribe

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


async def wire_regions(
    coordinator: Coordinator, loop: Loop, bus: BusPort, file: TenureFile, clocks: Clocks, scribe: Scribe
) -> tuple[Parent, Child]:
    """Both hands of a scope: what it lends, and what it was lent. On the connection of commands."""
    region = coordinator.picture.region
    shares = SharesFile(file.folder)
    parent = Parent(coordinator, bus, shares, clocks, scribe)
    child = Child(coordinator, bus, (file, shares), clocks, scribe.note, BOOT_ID.read_text().strip())
    loop.notes.append(parent.note)
    loop.says.append(parent.say)
    await bus.subscribe(subjects.demands_to(region), (Demand,), parent.on_demand)
    await bus.subscribe(subjects.budget(region), (Budget,), child.on_budget)
    return parent, child
