"""A parent and a region of neighbouring versions: one says fields that the other does not know, or lacks new ones."""

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from scoped_site import GUARANTEED_W, Scope, ScopedSite

from easyrider import wire
from easyrider.errors import DuplicateKey, UnknownVersion, WrongField
from easyrider.messages import ALL, Budget, Demand, Hold

BUDGET = Budget(
    parent="site", region="aisle", epoch=2, seq=7, nonce=5, lease_s=10.0, granted_w=900.0, guaranteed_w=650.0, t_ns=1,
    tree="t", target_w=800.0, job_keys=b"k" * 8, job_shares=b"\0" * 4,
)  # fmt: skip
DEMAND = Demand(
    parent="site", region="aisle", boot_id="b", nonce=5, observed_w=700.0, floor_w=500.0, want_w=1300.0,
    curve_w=(500.0, 900.0), curve_value=(1.0, 2.0), t_ns=1, mono_ns=1, tree="t", counted_w=900.0,
)  # fmt: skip
ADDED: dict[str, Any] = {"colour": "red", "deepest": {"a": [1, 2]}, "could_w": 1e300}
LATER = {"job_keys", "job_shares"}
"""Fields that were added to both; a version without them says none."""


def newer(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | ADDED


def older(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in LATER}


def said(message: Budget | Demand | Hold, by: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    packed: bytes = msgpack.packb(by(msgpack.unpackb(wire.encode(message))))
    return packed


@pytest.mark.parametrize("message", [BUDGET, DEMAND], ids=["budget", "demand"])
def test_fields_of_a_newer_version_are_passed_over_and_all_others_are_read(message: Budget | Demand) -> None:
    assert wire.decode(said(message, newer), (type(message),)) == message


@pytest.mark.parametrize("message", [BUDGET, DEMAND], ids=["budget", "demand"])
def test_whatever_else_is_wrong_is_refused_as_ever(message: Budget | Demand) -> None:
    kinds = (type(message),)
    with pytest.raises(WrongField):
        wire.decode(said(message, lambda fields: newer(fields) | {"nonce": -1}), kinds)
    with pytest.raises(WrongField, match="region"):
        wire.decode(
            said(message, lambda fields: {k: v for k, v in newer(fields).items() if k != "region"}), kinds
        )
    with pytest.raises(UnknownVersion):
        wire.decode(said(message, lambda fields: newer(fields) | {"v": 2}), kinds)
    whole = said(message, newer)
    entries = (int.from_bytes(whole[1:3], "big") + 1).to_bytes(2, "big")
    with pytest.raises(DuplicateKey):
        wire.decode(b"\xde" + entries + whole[3:] + msgpack.packb("colour") + b"\x01", kinds)


def test_a_guardian_still_refuses_a_word_that_it_does_not_know() -> None:
    hold = Hold(tree="t", region="r", node="n", epoch=1, seq=1, nonce=1, ttl_s=5.0)

    with pytest.raises(WrongField, match="colour"):
        wire.decode(said(hold, newer), ALL)


class Mixed(ScopedSite):
    """`versions`: what becomes of the words of a scope of another version, budgets and demands alone."""

    versions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]

    async def _deliver(self, scope: Scope, where: str, body: bytes) -> None:
        made = self.versions.get(scope.name)
        if made is not None and (".demand." in where or ".budget." in where):
            body = msgpack.packb(made(msgpack.unpackb(body)))
        await super()._deliver(scope, where, body)


@pytest.mark.parametrize("versions", [{"site": newer, "aisle": older}, {"site": older, "aisle": newer}])
async def test_watts_are_lent_between_neighbouring_versions_and_no_lease_ends(
    site: ScopedSite, versions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]
) -> None:
    site.__class__ = Mixed
    assert isinstance(site, Mixed)
    site.versions = {}
    await site.seconds(1)
    before_w = site.granted_w("aisle")
    site.versions = versions

    for _ in range(13):  # seconds: longer than a lease, and than the parent waits for one that is silent
        await site.seconds(1)
        assert (site.granted_w("aisle") or 0.0) > GUARANTEED_W["aisle"] + 50.0

    assert site.granted_w("aisle") == pytest.approx(before_w, abs=60.0)
    assert site.scopes["site"].picture.regions.lending.silent(site.clock.at_s) == []
