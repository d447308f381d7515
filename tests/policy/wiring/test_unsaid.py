"""What nobody says any more is found as if all that is said were gone through at each look."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from easyrider_policy.core.unsaid import Mark, Unsaid

PATIENCE_S, TALKS_S = 45.0, 3.0
NODES = ("a", "b")
Said = tuple[str, str]
things = st.tuples(st.sampled_from("xyz"), st.sampled_from(NODES))
steps = st.tuples(
    st.sampled_from([0.0, 1.0, 10.0, 10.0, 44.0, 46.0, 100.0]),  # time that passes before
    st.sampled_from(["said"] * 6 + ["ended", "look", "look"]),
    things,
    st.sampled_from([0.0, 0.0, 0.0, 0.5, 20.0, 60.0]),  # how late it comes
    st.tuples(st.floats(0.0, 5.0), st.floats(0.0, 5.0)),  # how long ago each node was heard
)


class Plain:
    """Goes through everything."""

    def __init__(self) -> None:
        self.heard_s: dict[Said, float] = {}

    def of_talking(self, heard_s: dict[str, float], now_s: float) -> set[Said]:
        return {
            what
            for what, said_s in self.heard_s.items()
            if now_s - said_s > PATIENCE_S and now_s - heard_s.get(what[1], -1e18) < TALKS_S
        }


X = ("x", "a")


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=40))
@example(
    [(0.0, "said", X, 0.0, (0.0, 0.0)), (1.0, "said", X, 60.0, (0.0, 0.0)), (0.0, "look", X, 0.0, (0.0, 0.0))]
)
@example(
    [(0.0, "said", X, 0.0, (0.0, 0.0)), (46.0, "look", X, 0.0, (5.0, 5.0)), (1.0, "look", X, 0.0, (0.0, 0.0))]
)
@example(
    [
        (0.0, "said", X, 0.0, (0.0, 0.0)),
        (0.0, "ended", X, 0.0, (0.0, 0.0)),
        (10.0, "said", X, 0.0, (0.0, 0.0)),
        (44.0, "look", X, 0.0, (0.0, 0.0)),
    ]
)
def test_what_is_found_is_what_going_through_everything_finds(
    happens: list[tuple[float, str, Said, float, tuple[float, float]]],
) -> None:
    ours, plain, now_s = Unsaid(PATIENCE_S), Plain(), 1000.0
    marks: dict[Said, Mark] = {}
    for after_s, what, thing, late_s, ages_s in happens:
        now_s += after_s
        heard_s = dict(zip(NODES, (now_s - age_s for age_s in ages_s), strict=True))
        if what == "said":
            ours.said(marks.setdefault(thing, Mark(*thing)), now_s - late_s)
            plain.heard_s[thing] = now_s - late_s
        elif what == "ended" and thing in plain.heard_s:
            ours.ended(marks.pop(thing))
            del plain.heard_s[thing]
        found = ours.of_talking(heard_s, now_s, TALKS_S)
        assert sorted((mark.job, mark.node) for mark in found) == sorted(plain.of_talking(heard_s, now_s))


def test_a_node_that_was_never_heard_does_not_talk() -> None:
    ours = Unsaid(PATIENCE_S)
    ours.said(Mark(*X), 0.0)

    assert ours.of_talking({}, 100.0, TALKS_S) == []


def test_what_is_said_again_and_again_takes_no_more_room_and_is_not_looked_at_each_time() -> None:
    ours, marks = Unsaid(PATIENCE_S), [Mark(f"j{job}", "a") for job in range(100)]
    for second in range(0, 3600, 10):
        for mark in marks:
            ours.said(mark, float(second))
        ours.of_talking({"a": float(second)}, float(second), TALKS_S)

    assert len(ours._due) == 100
