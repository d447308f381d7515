"""A change of leader moves no limit by itself, and raises nothing for a lease."""

from hypothesis import given
from hypothesis import strategies as st
from sites import FEWER, SLOW, board_counts, roughness, seeds, settled, shuffle_wishes, site, slacks


@SLOW
@given(seed=seeds, nodes=st.integers(1, 8), boards=board_counts, slack=slacks, kill=st.booleans())
def test_a_take_over_in_steady_load_moves_no_limit(seed, nodes, boards, slack, kill):
    simulation = settled(seed, nodes, boards, slack)
    shuffle_wishes(simulation)
    simulation.run(12.0)
    before = simulation.enforced()
    first = simulation.leader()
    assert first is not None

    if kill:
        simulation.coordinators.remove(first)
    else:
        first.frozen = True
    heir = simulation.coordinator("heir")
    for _ in range(60):
        simulation.step()
        assert simulation.enforced() == before

    assert simulation.leader() is heir
    assert heir.control.lead.phase == "leading"


@FEWER
@given(seed=seeds, nodes=st.integers(1, 8), boards=board_counts, rough=roughness, slack=slacks)
def test_no_limit_rises_within_a_ttl_and_a_heartbeat_of_a_take_over(seed, nodes, boards, rough, slack):
    simulation = site(seed, nodes, boards, rough, slack)
    simulation.run(15.0)
    first = simulation.leader()
    if first is None:
        return

    simulation.coordinators.remove(first)
    heir = simulation.coordinator("heir")
    while heir.control.lead.phase == "contending":
        simulation.step()
    # What the dead leader sent may still land where the new one's hold has not.
    fenced, before = set(), simulation.enforced()
    while simulation.now_s < heir.control.lead.taken_s + 6.0 - 0.25:
        shuffle_wishes(simulation)
        simulation.step()
        for machine in simulation.machines.values():
            if machine.id in fenced:
                pairs = zip(machine.enforced_w, before[machine.id], strict=True)
                assert all(now_w <= then_w + 1e-6 for now_w, then_w in pairs)
            if machine.fence[0] == heir.control.lead.epoch:
                fenced.add(machine.id)
        before = simulation.enforced()
