"""Whoever reads the rules learns the digest that plans made by them say."""

from inner_house import Inner
from site_rules import TREE

from easyrider.tree_reader import digest, dump, read


async def test_the_tree_is_told_with_the_digest_that_its_plans_carry(api: Inner) -> None:
    found = await api.store.load_rules(TREE)
    assert found is not None

    told = await api.ask("GET", "/tree", "viewer")

    assert told.headers["rules-sha256"] == digest(dump(read(told.text, "what was told")))
    assert told.headers["rules-sha256"] == digest(dump(read(found[1].decode(), "the store")))
