"""The profile `regions`: coordinators of two racks below that of the whole site, by configuration alone."""

from collections.abc import Iterator

import pytest
from compose_stack import ComposeStack, own_stack, until

pytestmark = [pytest.mark.containers, pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(900)]

COORDINATORS = ("policy", "policy-row-1", "policy-row-2")
RATING_W = 700.0


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeStack]:
    with own_stack(tmp_path_factory.mktemp("regions"), "regions", top="-site") as stack:
        up = stack.run("up", profiles="twin regions")
        assert up.returncode == 0, up.stderr
        yield stack


def test_three_coordinators_lead_their_own_scopes_and_boards_of_both_racks_are_limited(
    stack: ComposeStack,
) -> None:
    until(lambda: all(stack.is_well(name) for name in COORDINATORS), 90, "every coordinator healthy")

    until(
        lambda: all(min(boards) < RATING_W for boards in stack.limits_w().values()),
        90,
        "limits on both nodes",
    )
    for name in COORDINATORS:
        assert "took the lead" in stack.said(name)


def test_the_order_of_a_rack_is_its_own_coordinators(stack: ComposeStack) -> None:
    """A row that loses its coordinator goes to its fallback; the other goes on."""
    stack.compose("stop", "policy-row-1")

    until(
        lambda: all(write["cause"] != "command" for write in stack.writes("node-1")[-1:]), 60, "its dead-man"
    )
    assert {write["cause"] for write in stack.writes("node-2")} == {"command"}
