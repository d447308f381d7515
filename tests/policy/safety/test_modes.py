"""Which mode a board is in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_site import fleet

from easyrider.tree import MODES, ModeRule
from easyrider_policy.core.modes import Labels, managed, mode_of, modes

LABELS = {"job": ["j1"], "node": ["gpu-7"], "rack": ["r1", "pdu", "site"], "class": ["h100"], "queue": ["q"]}


def rule(mode: str, **selector: str | tuple[str, ...]) -> ModeRule:
    keys = {key.rstrip("_"): (v,) if isinstance(v, str) else v for key, v in selector.items()}
    return ModeRule(selector=keys, mode=mode)


@pytest.mark.parametrize(
    ("rules", "mode"),
    [
        ([], "observe"),
        ([rule("enforce")], "enforce"),
        ([rule("pilot", rack="r1"), rule("enforce")], "pilot"),
        ([rule("pilot", rack="r*"), rule("enforce", rack="r1")], "enforce"),
        ([rule("shadow", node="gpu-*"), rule("enforce", rack="r1")], "shadow"),
        ([rule("shadow", node="*"), rule("enforce", rack="r1")], "enforce"),
        ([rule("enforce", node="gpu-7"), rule("observe", job="j1")], "observe"),
        ([rule("enforce", rack="r1", queue="q"), rule("pilot", rack="r1")], "enforce"),
        ([rule("enforce", rack="r1"), rule("shadow", rack="r1")], "shadow"),
        ([rule("enforce", rack="r1", queue="other")], "observe"),
        ([rule("enforce", queue=("other", "q"))], "enforce"),
        ([rule("enforce", tenant="*")], "observe"),
    ],
)
def test_keys_must_all_match_the_most_specific_wins_and_a_tie_goes_to_the_less_active(rules, mode):
    assert mode_of(rules, LABELS) == mode


def test_a_job_takes_the_least_active_mode_of_its_boards():
    rules = [rule("enforce"), rule("shadow", node="b")]

    chosen = modes(rules, fleet(), [Labels(job="j", gpus=(1, 2))])

    assert [MODES[m] for m in chosen] == ["enforce", "shadow", "shadow", "shadow"]
    assert managed(chosen).tolist() == [True, False, False, False]


def test_a_job_may_be_less_active_than_its_node():
    rules = [rule("enforce", node="a"), rule("observe", job="j*")]

    chosen = modes(rules, fleet(), [Labels(job="j9", gpus=(0,))])

    assert [MODES[m] for m in chosen] == ["observe", "enforce", "observe", "observe"]


GLOBS = st.lists(st.sampled_from(["a", "b", "*", "?", "n*", "pdu", "box", "j1", "q"]), min_size=1, max_size=2)
RULES = st.lists(
    st.builds(
        ModeRule,
        selector=st.dictionaries(
            st.sampled_from(["node", "class", "rack", "job", "queue"]), GLOBS.map(tuple), max_size=2
        ),
        mode=st.sampled_from(MODES),
    ),
    max_size=4,
)


@settings(max_examples=100, deadline=None)
@given(RULES)
def test_boards_have_the_mode_that_their_own_labels_say_however_nodes_are_judged_together(rules):
    site, jobs = fleet(), [Labels(job="j1", queue="q", gpus=(1, 2))]
    by_node = {name: {"node": [name], "class": ["box"], "rack": ["pdu"]} for name in site.nodes}
    alone = {name: MODES.index(mode_of(rules, labels)) for name, labels in by_node.items()}
    of_job = {"job": ["j1"], "tenant": [""], "queue": ["q"]}
    job = min(MODES.index(mode_of(rules, labels | of_job)) for labels in by_node.values())

    assert modes(rules, site, jobs).tolist() == [alone["a"], job, job, alone["b"]]
