"""Sites for properties: small, random, with hard limits that bind."""

import random

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from random_trees import random_tree
from simulation import Simulation

# A failing site is told by its seed; making it smaller would take minutes and help little.
SLOW = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
FEWER = settings(SLOW, max_examples=12)
seeds = st.integers(0, 2**32 - 1)
node_counts = st.integers(1, 10)
board_counts = st.integers(1, 4)
slacks = st.floats(0.05, 1.0)
roughness = st.sampled_from([0.0, 0.3, 0.7, 1.0])


def site(
    seed: int, nodes: int, boards: int, rough: float, slack: float, boot_guard: bool = True
) -> Simulation:
    """A site whose boards start at what the fallbacks allow, with one coordinator."""
    dice = random.Random(seed)
    simulation = Simulation(random_tree(dice, nodes, boards, slack, boot_guard), boards, dice, rough)
    for machine in simulation.machines.values():
        machine.enforced_w = [200.0] * boards  # found so; what runs uncapped is another test
    simulation.coordinator("first")
    return simulation


def shuffle_wishes(simulation: Simulation) -> None:
    """The planner wants something else for about half of the boards."""
    for uuid in simulation.raw_w:
        if simulation.dice.random() < 0.5:
            simulation.raw_w[uuid] = simulation.dice.choice([200.0, 320.0, 450.0, 700.0])


def settled(seed: int, nodes: int, boards: int, slack: float, boot_guard: bool = True) -> Simulation:
    """A site after 20 quiet seconds under its first leader, every board armed and most wishes met."""
    simulation = site(seed, nodes, boards, 0.0, slack, boot_guard)
    simulation.run(20.0)
    return simulation
