"""A hold lets no counted watt rise, whatever was under way when it came and whoever leads."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from simulation import Simulation
from sites import FEWER, SLOW, board_counts, roughness, seeds, settled, shuffle_wishes, site, slacks

from easyrider.tree import HoldRule
from easyrider_policy.core.holds import held, nobody


def hold_everywhere(simulation: Simulation, on: bool = True) -> None:
    """What every coordinator is told: it is in the rules."""
    rules = [HoldRule(id="red")]
    for coordinator in simulation.coordinators:
        coordinator.control.holds = held(rules, simulation.fleet) if on else nobody(simulation.fleet)


def counted_w(simulation: Simulation) -> np.ndarray:
    leader = simulation.leader()
    assert leader is not None
    return leader.control.ledger.counted_w(simulation.now_s)


@SLOW
@given(seed=seeds, nodes=st.integers(1, 8), boards=board_counts, rough=roughness, slack=slacks)
def test_no_counted_watt_rises_whatever_was_under_way_and_however_messages_fare(
    seed, nodes, boards, rough, slack
):
    simulation = settled(seed, nodes, boards, slack)
    simulation.network.rough = rough
    shuffle_wishes(simulation)
    simulation.run(simulation.dice.choice([0.25, 1.0, 2.5]))  # raises are under way, some are late

    hold_everywhere(simulation)
    before_w, ceiling_w = counted_w(simulation), dict(simulation.enforced())
    for _ in range(8):
        shuffle_wishes(simulation)
        for _ in range(8):
            simulation.run(0.25)
            if (leader := simulation.leader()) is None:
                continue
            # A node that nothing was heard of for long counts more; what it may draw has not risen for it.
            heard = ~leader.control.ledger.roll.silent(simulation.now_s)[simulation.fleet.gpu_node]
            now_w = counted_w(simulation)
            assert (now_w[heard] <= before_w[heard] + 1e-6).all()
            before_w = np.where(heard, np.minimum(before_w, now_w), before_w)
    for name, limits_w in simulation.enforced().items():
        rows = simulation.fleet.gpus_of(simulation.fleet.node_index[name])
        assert (np.array(limits_w) <= np.maximum(ceiling_w[name], before_w[rows]) + 1e-6).all()


@FEWER
@given(seed=seeds, nodes=st.integers(1, 6), boards=board_counts, slack=st.floats(0.5, 1.0))
def test_no_limit_rises_over_a_change_of_leader_and_some_do_once_it_is_cleared(seed, nodes, boards, slack):
    simulation = site(seed, nodes, boards, 0.0, slack)
    simulation.raw_w = dict.fromkeys(simulation.raw_w, 250.0)  # so that there is room to rise
    simulation.run(20.0)
    hold_everywhere(simulation)
    simulation.run(2.0)
    held_w = simulation.enforced()

    leader = simulation.leader()
    simulation.coordinators.remove(leader)
    simulation.coordinator("heir")
    hold_everywhere(simulation)
    for uuid in simulation.raw_w:
        simulation.raw_w[uuid] = 700.0
    for _ in range(60):
        simulation.run(0.5)
        for name, limits_w in simulation.enforced().items():
            assert (np.array(limits_w) <= np.array(held_w[name]) + 1e-6).all()

    hold_everywhere(simulation, on=False)
    simulation.run(5.0)
    assert any(max(limits_w) > max(held_w[name]) for name, limits_w in simulation.enforced().items())


@FEWER
@given(seed=seeds, boards=board_counts)
def test_grants_go_on_so_that_no_dead_man_acts(seed, boards):
    simulation = site(seed, 4, boards, 0.0, 0.5)
    simulation.run(15.0)
    hold_everywhere(simulation)

    for _ in range(40):
        simulation.run(1.0)
        assert all(machine.stage == 0 for machine in simulation.machines.values())
        assert all(simulation.now_s - machine.grant_s < 3.0 for machine in simulation.machines.values())
