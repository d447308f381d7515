"""Whatever the description allows, and more: the live service answers as it is described, and never fails inside."""

import asyncio
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from live_api import LiveApi, live_api, until
from schemathesis.config import SchemathesisConfig
from site_rules import REGION, TREE

from easyrider import subjects
from easyrider.bus import Bus
from easyrider.messages import Plan
from easyrider_policy_api.app import build

pytestmark = [pytest.mark.system, pytest.mark.slow]
CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {
            # what the schema allows may still name a domain that is not there, or a version that was edited meanwhile
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", "401", "403", "404", "409", "412", "422", "428", "429"]
            },
            # RFC 6585: If-Match is missing
            "missing_required_header": {"expected-statuses": ["401", "422", "428"]},
        }
    }
)
SCHEMA = schemathesis.openapi.from_dict(build(None).openapi(), config=CONFIG)
PLAN = Plan(
    region=REGION, tree=TREE, tree_version=1, epoch=1, seq=1, t_ns=1, mono_ns=1, cause="tick", leading=True,
    domains=(), jobs=(), idle_gpus=0, lowers=0, raises=0, raises_waiting=0, silent_nodes=(), reactive=True,
    gap=None, plan_ms=1.0,
)  # fmt: skip
"""A coordinator without a board makes none."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveApi]:
    with live_api(
        tmp_path_factory.mktemp("schema"), ask_deadline_s=5.0, login_failures_per_min=1000
    ) as found:
        asyncio.run(say_a_plan(found.servers["nats"].url))
        until(lambda: found.ask("GET", "/plan").status_code == 200, 10, "a plan")
        yield found


async def say_a_plan(url: str) -> None:
    async with Bus.connect(url, name="policy", wait_s=10) as bus:
        await bus.publish(subjects.plan(REGION), PLAN)


@SCHEMA.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_route_answers_as_it_is_described(case: schemathesis.Case, live: LiveApi) -> None:
    case.call_and_validate(
        base_url=live.url,
        headers={"Authorization": f"Bearer {live.admin}"},
    )
