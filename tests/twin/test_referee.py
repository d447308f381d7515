"""The referee on rings, truth and journals written by hand: each rule has a case that breaks it."""

import ast
import json
from pathlib import Path

import pytest

import easyrider_twin.referee
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
        self, node: str, gpu: int, limit_w: float, *, after_s: float = 0.0, enforced_w: float | None = None
    ) -> int:
        """One entry of the ring, as the library leaves it."""
        self.now_ns += round(after_s * SECOND)
        file, requested_mw = self.files[node], round(limit_w * 1000)
        answer = 0 if MIN_MW <= requested_mw <= MAX_MW else 2
        if answer == 0:
            file.gpus["enforced_mw"][gpu] = requested_mw if enforced_w is None else round(enforced_w * 1000)
        head = int(file.header["ring_head"])
        entry = file.ring[head % statefile.RING_CAPACITY : head % statefile.RING_CAPACITY + 1]
        entry["stamp_ns"], entry["gpu"], entry["requested_mw"] = self.now_ns, gpu, requested_mw
        entry["enforced_mw"], entry["answer"], entry["seq"] = file.gpus["enforced_mw"][gpu], answer, head + 1
        file.header["ring_head"] = head + 1
        return self.now_ns

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


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_limits_that_fit_are_found_clean(bench: Bench) -> None:
    bench.all_at(700)  # 2000 + 100 + 4 x 700 = 4900 W
    bench.begin_counting()
    bench.command("n1", 0, 500)
    bench.command("n2", 1, 700)

    found = bench.verdict()

    assert found["ok"] is True
    assert found["sum_rule_violations"] == found["foreign_writes"] == found["late_commands_applied"] == 0
    assert found["limits_changed"] == 1


def test_a_rogue_700_w_write_breaks_the_sum_rule_and_is_foreign(bench: Bench) -> None:
    bench.all_at(500)
    bench.truth(4000, hard_w=4500)
    bench.now_ns += 3 * SECOND
    bench.begin_counting()
    bench.write("n1", 0, 700)
    bench.command("n1", 1, 700)
    bench.command("n2", 0, 600)

    found = bench.verdict()

    assert found["foreign_writes"] == 1
    assert found["sum_rule_violations"] == 1  # 4600 W at the end; 4300 and 4500 W before it fit
    assert found["worst_sum_excess_w"] == pytest.approx(100)
    assert found["ok"] is False


def test_raising_before_lowering_is_seen_though_each_end_state_fits(bench: Bench) -> None:
    bench.all_at(700)
    bench.command("n1", 0, 250)
    bench.truth(4000, hard_w=4500)
    bench.begin_counting()
    bench.truth(4000, hard_w=4500, after_s=3)
    bench.command("n1", 0, 700, after_s=0.01)
    bench.command("n2", 0, 250, after_s=0.01)

    assert bench.verdict()["sum_rule_violations"] == 1


def test_writes_of_two_nodes_are_merged_by_stamp_not_by_node(bench: Bench) -> None:
    bench.all_at(700)
    bench.truth(4000, hard_w=4500)
    bench.command("n2", 0, 250, after_s=0.1)
    bench.begin_counting()
    bench.truth(4000, hard_w=4500, after_s=3)
    bench.command("n2", 1, 250, after_s=0.01)  # n2 lowers first
    bench.command("n2", 0, 700, after_s=0.01)  # and only then raises: 4450 W at most

    assert bench.verdict()["sum_rule_violations"] == 0


def test_a_breach_that_began_before_counting_and_lasts_is_counted(bench: Bench) -> None:
    bench.truth(4000, hard_w=4500)  # defaults: 4900 W
    bench.now_ns += 5 * SECOND
    bench.begin_counting()
    bench.truth(4000, hard_w=4500)

    assert bench.verdict()["sum_rule_violations"] == 1


def test_nothing_counts_before_counting_begins_and_unknown_is_not_zero(bench: Bench) -> None:
    bench.write("n1", 0, 900)

    found = bench.verdict()

    assert found["sum_rule_violations"] is None
    assert found["limit_out_of_range"] is None
    assert found["ok"] is False


def test_a_command_written_after_its_lease_is_late(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 480, age_s=7.0)
    bench.command("n1", 1, 480, age_s=4.9)

    assert bench.verdict()["late_commands_applied"] == 1


def test_a_guardian_that_froze_between_its_line_and_its_write_is_late_and_foreign(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    told_ns = bench.now_ns
    bench.command("n1", 0, 480)
    file = bench.files["n1"]
    place = int(file.header["ring_head"]) - 1
    file.ring["stamp_ns"][place] = told_ns + 20 * SECOND
    bench.now_ns += 21 * SECOND

    found = bench.verdict()

    assert (found["late_commands_applied"], found["foreign_writes"]) == (1, 1)


def test_a_journal_that_was_rotated_is_read_to_its_end(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 480)
    bench.case.look(bench.now_ns)
    bench.command("n1", 0, 470, after_s=0.1)
    (bench.run / "n1" / "writes.jsonl").rename(bench.run / "n1" / "writes.jsonl.1")
    bench.command("n1", 0, 460, after_s=0.1)

    assert bench.verdict()["foreign_writes"] == 0


def test_a_dead_man_is_never_late(bench: Bench) -> None:
    bench.begin_counting()
    bench.command("n1", 0, 300, age_s=60.0, cause="dead_man_2")

    assert bench.verdict()["late_commands_applied"] == 0


def test_a_value_outside_the_range_counts_even_though_the_board_refused_it(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.command("n1", 0, 150)
    bench.command("n1", 1, 750)

    found = bench.verdict()

    assert found["limit_out_of_range"] == 2
    assert found["limits_changed"] == 0


def test_an_overrun_ring_is_a_failure(bench: Bench) -> None:
    bench.all_at(500)
    bench.begin_counting()
    bench.case.look(bench.now_ns)
    for _ in range(statefile.RING_CAPACITY + 3):
        bench.write("n1", 0, 500)

    found = bench.verdict()

    assert found["ring_overruns"] == 3
    assert found["ok"] is False


def test_a_full_ring_read_in_time_is_no_overrun(bench: Bench) -> None:
    for _ in range(3):
        for _ in range(statefile.RING_CAPACITY):
            bench.write("n1", 0, 500)
        bench.case.look(bench.now_ns)

    assert bench.verdict()["ring_overruns"] == 0


def test_a_writer_killed_in_its_write_leaves_the_limit_counted(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=4000)
    bench.begin_counting()
    bench.truth(3000, hard_w=4000, after_s=3)
    file = bench.files["n1"]
    file.gpus["enforced_mw"] = MAX_MW  # 4100 W
    file.gpus["limit_stamp_ns"] = bench.now_ns
    file.header["ring_head"] = int(file.header["ring_head"]) + 1
    for _ in range(rings.UNFINISHED_POLLS + 1):
        bench.case.look(bench.now_ns)

    found = bench.verdict()

    assert found["unfinished_writes"] == 1
    assert found["sum_rule_violations"] == 1


def test_after_a_drop_of_the_limit_the_window_is_reported_apart(bench: Bench) -> None:
    bench.all_at(700)  # 4900 W
    bench.begin_counting()
    bench.truth(4800)
    bench.truth(4800, hard_w=4000)
    for _ in range(10):
        bench.truth(4800, hard_w=4000)
    bench.command("n1", 0, 250, after_s=0.1)
    bench.command("n2", 0, 250)  # 4000 W
    for _ in range(20):
        bench.truth(3900, hard_w=4000)

    found = bench.verdict()

    assert found["sum_rule_violations"] == 0
    assert found["drop_window_breaches"] == 2
    assert found["drop_window_joules"] == pytest.approx(800 * 1.1, rel=0.01)
    assert found["overload_joules"] == found["target_overload_joules"] == 0


def test_the_window_after_a_drop_ends_and_what_still_stands_is_a_violation(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    bench.truth(4800, hard_w=4000)
    for _ in range(40):
        bench.truth(4800, hard_w=4000)

    found = bench.verdict()

    assert found["sum_rule_violations"] == 1
    assert found["overload_joules"] == pytest.approx(800 * 1.6, rel=0.1)


def test_the_window_ends_half_a_second_after_the_policy_heard(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    bench.truth(4800, hard_w=4000)
    heard = json.dumps({"received_ns": bench.now_ns + SECOND // 10})
    (bench.run / "twin" / "received.jsonl").write_text(heard + "\n")
    bench.command("n1", 0, 250, after_s=1.0)
    bench.command("n2", 0, 250)
    bench.truth(3900, hard_w=4000)

    assert bench.verdict()["sum_rule_violations"] >= 1


def test_an_outside_cap_below_the_request_counts_as_requested(bench: Bench) -> None:
    bench.all_at(300)
    bench.truth(3000, hard_w=3400)
    bench.begin_counting()
    bench.truth(3000, hard_w=3400, after_s=3)
    bench.files["n1"].gpus["out_of_band_mw"][0] = 250_000
    bench.write("n1", 0, 600, after_s=0.1, enforced_w=250)  # 3600 W once the outside cap ends

    assert bench.verdict()["sum_rule_violations"] == 1


def test_trips_are_taken_from_what_happened(bench: Bench) -> None:
    bench.begin_counting()
    bench.truth(5000, event="trip", domain="rack", multiple=1.4)

    assert bench.verdict()["trips"] == 1


def test_a_nested_domain_does_not_count_the_same_watts_twice(bench: Bench) -> None:
    bench.all_at(700)
    bench.begin_counting()
    for _ in range(11):
        bench.truth(5100)

    found = bench.verdict()

    assert found["overload_joules"] == pytest.approx(110, rel=0.11)


def test_the_layout_agrees_with_the_one_the_library_writes() -> None:
    assert (rings.MAGIC, rings.VERSION) == (statefile.MAGIC, statefile.VERSION)
    assert (rings.HEADER_SIZE, rings.GPU_SIZE, rings.RING_ENTRY_SIZE) == (
        statefile.HEADER_SIZE, statefile.GPU_SIZE, statefile.RING_ENTRY_SIZE,
    )  # fmt: skip
    for mine, theirs in (
        (rings.HEADER, statefile.HEADER),
        (rings.GPU, statefile.GPU),
        (rings.RING, statefile.RING),
    ):
        for name in mine.names:
            assert mine.fields[name] == theirs.fields[name], name


def test_the_referee_imports_nothing_of_ours_but_itself() -> None:
    folder = Path(easyrider_twin.referee.__file__).parent
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("easyrider") or name.startswith("easyrider_twin.referee"), (
                    file,
                    name,
                )
                assert name.split(".")[0] not in {"yaml", "msgspec", "nats", "redis"}, (file, name)
