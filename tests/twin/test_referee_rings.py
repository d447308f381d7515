"""The ring of writes: nothing is missed, and what could be missed is a failure."""

from referee_bench import MAX_MW, Bench

from easyrider_twin import statefile
from easyrider_twin.referee import rings


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
