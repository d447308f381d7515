"""What has no room in one answer stays out, the last rows first, and is counted."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from easyrider_policy.room import cut

SHARES = {"domains": 0.5, "jobs": 1.0}
rows = st.lists(st.text(max_size=300), max_size=80)


@settings(max_examples=100, deadline=None)
@given(rows, rows)
def test_a_document_has_room_and_says_how_many_rows_it_lacks(domains: list[str], jobs: list[str]) -> None:
    document = {"region": "r", "domains": domains, "jobs": jobs}

    told, missing = cut(document, SHARES, 12_000)

    assert len(told) <= 12_000
    found = json.loads(told + b"}")
    assert found["region"] == "r"
    for name, whole in (("domains", domains), ("jobs", jobs)):
        assert found[name] == whole[: len(found[name])]
        assert missing.get(name, 0) == len(whole) - len(found[name])


@pytest.mark.parametrize("room", [5_000, 20_000, 400_000])
def test_what_has_room_is_told_whole_and_what_has_not_nearly_fills_it(room: int) -> None:
    document = {"domains": ["d" * 100] * 500, "jobs": ["j" * 100] * 500}

    told, missing = cut(document, SHARES, room)

    assert len(told) <= room
    assert not missing if room > 300_000 else missing["domains"] and missing["jobs"]
    assert room > 300_000 or len(told) > 0.9 * (room - 4096) - 250
