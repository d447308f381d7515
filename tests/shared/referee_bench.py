"""A run folder written by hand, on which the referee judges: two nodes of two boards under one domain."""

import json
from pathlib import Path

from easyrider_twin import statefile
from easyrider_twin.referee import case, journals, rings, site
from easyrider_twin.world import Domain, Node, World, dump

SECOND = 1_000_000_000
NODES = ("n1", "n2")
MIN_MW, MAX_MW = 200_000, 700_000


class Bench:
    """A run folder with two nodes of two boards under one domain of 5 kW, both limits 5 kW."""

    def __init__(self, run: Path) -> None:
        self.run, self.now_ns = run, 100 * SECOND
        (run / "twin").mkdir()
        world = World(
            name="bench",
            nodes=tuple(Node(id=n, domain="rack", gpus=2, overhead_w=1000.0, overhead_slope=1.0) for n in NODES),
            domains=(
                Domain(id="rack", kind="ups", rating_w=5000, hard_limit_w=5000, target_w=5000, modules=5, fixed_w=100),
            ),
        )  # fmt: skip
        (run / "twin" / "world.yaml").write_text(dump(world))
        self.files = {}
        for node in NODES:
            (run / node).mkdir()
            file = statefile.create(run / node / "nvml.state", 2, node)
            for gpu in range(2):
                file.gpus["uuid"][gpu] = f"GPU-{node}-{gpu}".encode()
            file.gpus["min_mw"], file.gpus["max_mw"] = MIN_MW, MAX_MW
            file.gpus["default_mw"] = file.gpus["requested_mw"] = file.gpus["enforced_mw"] = MAX_MW
            self.files[node] = file
        self.case = self.open()

    def open(self) -> case.Case:
        ground = site.read(self.run / "twin" / "world.yaml")
        kept = [rings.Ring(self.run / n / "nvml.state", n) for n in NODES]
        told = {n: journals.Journal(self.run / n / "writes.jsonl") for n in NODES}
        return case.Case(ground, kept, told, self.run / "twin")

    def write(
        self,
        node: str,
        gpu: int,
        limit_w: float,
        *,
        after_s: float = 0.0,
        enforced_w: float | None = None,
        answer: int | None = None,
    ) -> int:
        """One entry of the ring, as the library leaves it; a given answer other than 0 has no effect."""
        self.now_ns += round(after_s * SECOND)
        board, requested_mw = self.files[node].gpus[gpu : gpu + 1], round(limit_w * 1000)
        if answer is None:
            answer = 0 if MIN_MW <= requested_mw <= MAX_MW else 2
        place = self.begin(node)
        if answer == 0:
            board["requested_mw"], board["limit_stamp_ns"] = requested_mw, self.now_ns
            board["enforced_mw"] = requested_mw if enforced_w is None else round(enforced_w * 1000)
        elif enforced_w is not None:
            board["enforced_mw"] = round(enforced_w * 1000)
        self.finish(node, place, gpu, limit_w, answer=answer)
        return self.now_ns

    def begin(self, node: str) -> int:
        """A place of the ring taken by a writer that has not filled it."""
        file = self.files[node]
        place = int(file.header["ring_head"])
        file.ring["seq"][place % statefile.RING_CAPACITY] = 0
        file.header["ring_head"] = place + 1
        return place

    def finish(self, node: str, place: int, gpu: int, limit_w: float, *, answer: int = 0) -> None:
        """The place filled, with the board's limit as it is now."""
        file, at = self.files[node], place % statefile.RING_CAPACITY
        entry = file.ring[at : at + 1]
        entry["stamp_ns"], entry["gpu"], entry["requested_mw"] = self.now_ns, gpu, round(limit_w * 1000)
        entry["enforced_mw"], entry["answer"] = file.gpus["enforced_mw"][gpu], answer
        entry["seq"] = place + 1

    def command(
        self,
        node: str,
        gpu: int,
        limit_w: float,
        *,
        after_s: float = 0.0,
        age_s: float = 0.2,
        cause: str = "command",
    ) -> None:
        """A write with its guardian's line."""
        stamp_ns = self.write(node, gpu, limit_w, after_s=after_s)
        line = {
            "stamp_ns": stamp_ns + 1_000_000, "uuid": f"GPU-{node}-{gpu}", "gpu": gpu, "cause": cause, "epoch": 1,
            "seq": 1,
            "mint_ns": stamp_ns - round(age_s * SECOND), "ttl_s": 5.0,
            "requested_w": limit_w,
        }  # fmt: skip
        with (self.run / node / "writes.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def all_at(self, limit_w: float) -> None:
        for node in NODES:
            for gpu in range(2):
                self.command(node, gpu, limit_w)

    def truth(self, wall_w: float, hard_w: float = 5000.0, *, after_s: float = 0.1, **more: object) -> None:
        self.now_ns += round(after_s * SECOND)
        line = {"boottime_ns": self.now_ns, "wall_w": {"rack": wall_w}, "hard_w": {"rack": hard_w}}
        line |= {"target_w": {"rack": hard_w}} | more
        with (self.run / "twin" / "truth.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def begin_counting(self) -> None:
        self.now_ns += SECOND
        (self.run / "twin" / "counting.json").write_text(json.dumps({"from_ns": self.now_ns}))
        self.now_ns += SECOND

    def verdict(self) -> dict[str, object]:
        self.case.look(self.now_ns + SECOND, last=True)
        return self.case.summary(final=True)
