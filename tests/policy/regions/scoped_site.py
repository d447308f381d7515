"""Four coordinators of one tree, three levels deep, wired in memory; a node is a box that answers like a guardian."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wired_box import TREE, Box, at, job
from wired_site import TICK_S, HandClock, Lines, LoggingBus

from easyrider import subjects, wire
from easyrider.messages import Budget, Demand, ExitGrant, Hold, SetLimits
from easyrider.testing import FakeStore
from easyrider.tree import Domain, Leases, ModeRule, Node, NodeClass, Region, Rules
from easyrider_policy.adapters.shares_file import SharesFile
from easyrider_policy.adapters.tenure_file import TenureFile
from easyrider_policy.child import Child
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.handlers import Desk
from easyrider_policy.leadership import Leadership
from easyrider_policy.loop import Loop
from easyrider_policy.news import News
from easyrider_policy.parent import Parent
from easyrider_policy.picture import Picture
from easyrider_policy.scribe import Scribe

BOX = NodeClass(overhead_w=100.0, overhead_slope=1.0, gpu_min_w=200.0, gpu_max_w=700.0, gpu_count=2)
PARENTS = {"site": None, "hall": "site", "aisle": "site", "rack": "hall"}
PLACES = {"s": "feed", "h": "row-a", "k": "rack-a", "o": "row-b"}
SCOPES = {"s": "site", "h": "hall", "k": "rack", "o": "aisle"}
GUARANTEED_W = {"hall": 1350.0, "aisle": 650.0, "rack": 650.0}
ABOVE = {"feed": None, "row-a": "feed", "row-b": "feed", "rack-a": "row-a"}
FEED_W = 4000.0
LEASE_S = 10.0


def rules(version: int = 1, feed_w: float = FEED_W, **of_feed: Any) -> Rules:
    """A feed with a node, a row with a node and a rack of its own, another row; each box wants 1300 W."""
    return Rules(
        id=TREE,
        version=version,
        domains=(
            Domain(id="feed", kind="feed", rating_w=feed_w, target_share=1.0, supply_modules=4, **of_feed),
            *(
                Domain(id=name, kind="row", parent=up, rating_w=3000.0, target_share=1.0)
                for name, up in ABOVE.items()
                if up is not None
            ),
        ),
        classes={"box": BOX},
        nodes=tuple(
            Node(id=name, domain=domain, node_class="box", fallback_w_per_gpu=250.0)
            for name, domain in PLACES.items()
        ),
        regions=(
            Region(id="site"),
            Region(id="hall", parent="site", domain="row-a", guaranteed_w=GUARANTEED_W["hall"]),
            Region(id="aisle", parent="site", domain="row-b", guaranteed_w=GUARANTEED_W["aisle"]),
            Region(id="rack", parent="hall", domain="rack-a", guaranteed_w=GUARANTEED_W["rack"]),
        ),
        modes=(ModeRule(selector={"node": ("*",)}, mode="enforce"),),
        leases=Leases(region_lease_s=LEASE_S),
    )


class Pages(Lines):
    """A journal in memory that can be copied with its site."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Pages":
        found = Pages([])
        memo[id(self)], found.kept, found.broken = found, list(self.kept), self.broken
        return found


def always() -> bool:
    """Every instance could command."""
    return True


@dataclass(slots=True)
class Scope:
    """One coordinator and the box it governs."""

    name: str
    box: Box
    picture: Picture
    coordinator: Coordinator
    loop: Loop
    desk: Desk
    leadership: Leadership
    parent: Parent
    child: Child
    journal: Lines
    dead: bool = False


class ScopedSite:
    """`cut`: scopes that neither hear their parent nor are heard by it."""

    def __init__(self, folder: Path, with_rules: Rules | None = None, now_s: float = 1000.0) -> None:
        self.folder, self.rules = folder, with_rules or rules()
        self.clock, self.bus = HandClock(now_s), LoggingBus()
        self.bus.log = []
        self.store = FakeStore(now_s=self.clock.now_s)
        self.boxes = {SCOPES[name]: Box(name) for name in PLACES}
        for box in self.boxes.values():
            box.limit_w = [250.0, 250.0]
        self.scopes = {name: self.scope(name, "first") for name in PARENTS}
        self.rivals: list[Scope] = []  # second instances, each alive beside the first
        self.cut: set[str] = set()
        self.working: dict[str, bool] = dict.fromkeys(PARENTS, True)
        self.feed_share = 1.0
        self.job_of = {name: f"job-{name}" for name in PARENTS}
        self.highest_w = 0.0
        self._looks = 0

    def scope(self, name: str, host: str, boot_id: str = "boot") -> Scope:
        """A coordinator of a scope on a host: the same host again has the same disk."""
        folder = self.folder / f"{name}-{host}"
        folder.mkdir(exist_ok=True)
        picture = Picture(self.rules, name, self.clock.at_s)
        coordinator, journal = Coordinator(picture), Pages([])
        scribe = Scribe(journal, self.clock.boot_ns)
        news = News(self.bus, coordinator, name, scribe.note)
        loop = Loop(coordinator, self.bus, scribe, news, tick_s=TICK_S, clocks=self.clock)
        files = TenureFile(folder), SharesFile(folder)
        parent = Parent(coordinator, self.bus, files[1], self.clock, scribe)
        child = Child(coordinator, self.bus, files, self.clock, scribe.note, boot_id)
        loop.notes.append(parent.note)
        loop.says.append(parent.say)
        return Scope(
            name=name,
            box=self.boxes[name],
            picture=picture,
            coordinator=coordinator,
            loop=loop,
            desk=Desk(picture, coordinator, scribe.note, scribe.meant),
            leadership=Leadership(
                self.store, picture, TREE, name, f"{name}-{host}", self.clock.now_s, always
            ),
            parent=parent,
            child=child,
            journal=journal,
        )

    def on(self, folder: Path) -> "ScopedSite":
        """The same site, its disks elsewhere."""
        self.folder = folder
        for name, scope in self.scopes.items():
            place = folder / f"{name}-first"
            scope.child._file, scope.child._shares = TenureFile(place), SharesFile(place)
            scope.parent._file = scope.child._shares
        return self

    def could_w(self, domain: str) -> float:
        """Wall watts that the limits of all boxes at and below a domain allow."""
        total = 0.0
        for name, place in PLACES.items():
            here: str | None = place
            while here is not None and here != domain:
                here = ABOVE[here]
            if here == domain:
                total += 100.0 + sum(self.boxes[SCOPES[name]].limit_w)
        return total

    def granted_w(self, name: str) -> float | None:
        envelope = self.scopes[name].picture.envelope
        return None if envelope is None else envelope.granted_w

    async def look(self) -> None:
        """100 ms: boxes speak as they are due, every coordinator looks, and what they said is delivered."""
        self.clock.at_s += TICK_S
        second = self._looks % 10 == 0
        for scope in self._every():
            if not scope.dead:
                await self._look(scope, second)
        self._looks += 1
        self.highest_w = max(self.highest_w, self.could_w("feed"))

    async def seconds(self, count: float) -> None:
        for _ in range(round(count / TICK_S)):
            await self.look()

    async def until(self, true: Any, within_s: float) -> float:
        """Seconds until something is true."""
        began_s = self.clock.at_s
        while not true():
            await self.look()
            assert self.clock.at_s - began_s <= within_s, f"not within {within_s} s"
        return self.clock.at_s - began_s

    def supply(self, modules_ok: int) -> None:
        """The feed's supply tells how many of its modules work."""
        from wired_box import reading

        told = {"device": "ups", "modules_ok": modules_ok, "modules_total": 4, "power_w": None}
        word = reading(self.clock.at_s, domain="feed", region="site", **told)
        self.scopes["site"].desk.on_meter(word, at(subjects.meter("site", "m"), self.clock.at_s))

    def _every(self, name: str | None = None) -> list[Scope]:
        """Every instance, or every one of a scope."""
        return [s for s in (*self.scopes.values(), *self.rivals) if name in (None, s.name) and not s.dead]

    async def _look(self, scope: Scope, second: bool) -> None:
        now_s, name, box = self.clock.at_s, scope.name, scope.box
        if not box.dumb:
            if second:
                state = box.state(now_s, region=name)
                scope.desk.on_state(state, at(subjects.state(name, box.name), now_s))
            scope.desk.on_frame(box.frame(now_s, region=name), at(subjects.frame(name, box.name), now_s))
        if self._looks % 50 == 0 and self.working[name]:
            job_id = self.job_of[name]
            event = job(now_s, box.name, job=job_id, change="running", region=name)
            scope.desk.on_job(event, at(subjects.job(name, job_id), now_s))
        if second:
            await scope.leadership.once(now_s)
        before = len(self.bus.exchange.said)
        await scope.loop.once(now_s)
        scope.loop.looked_s = now_s
        if second or scope.child._hurry.is_set():
            scope.child._hurry.clear()
            await scope.child.say()
        for where, body in self.bus.exchange.said[before:]:
            await self._deliver(scope, where, body)

    async def _deliver(self, scope: Scope, where: str, body: bytes) -> None:
        now_s = self.clock.at_s
        if ".command." in where:
            command = wire.decode(body, (SetLimits, Hold, ExitGrant))
            if not (scope.box.deaf or scope.box.dumb):
                ack = scope.box.take(command, now_s)
                for hears in self._every(scope.name):
                    hears.desk.on_ack(ack, at(subjects.ack(scope.name, scope.box.name), now_s))
        elif ".demand." in where:
            demand = wire.decode(body, (Demand,))
            for hears in self._every(demand.parent) if demand.region not in self.cut else ():
                hears.parent.on_demand(demand, at(where, now_s))
        elif ".budget." in where:
            budget = wire.decode(body, (Budget,))
            for hears in self._every(budget.region) if budget.region not in self.cut else ():
                await hears.child.on_budget(budget, at(where, now_s))
