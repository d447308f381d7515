"""New rules move guaranteed shares between regions, which read them one by one."""

from dataclasses import replace

from scoped_site import FEED_W, GUARANTEED_W, LEASE_S, ScopedSite

from easyrider.tree import Rules


def swapped(site: ScopedSite) -> Rules:
    """The next version of the rules, in which the aisle has 100 W of the hall's share."""
    before = site.rules
    shares = {"hall": GUARANTEED_W["hall"] - 100.0, "aisle": GUARANTEED_W["aisle"] + 100.0}
    regions = tuple(
        replace(region, guaranteed_w=shares.get(region.id, region.guaranteed_w)) for region in before.regions
    )
    return replace(before, version=before.version + 1, regions=regions)


async def test_a_share_that_new_rules_raise_is_obeyed_when_the_parent_names_it_and_not_before(
    site: ScopedSite,
) -> None:
    aisle, after = site.scopes["aisle"], swapped(site)
    site.cut.add("aisle")
    aisle.picture.accept(after)
    await site.seconds(LEASE_S + 3.0)
    assert site.could_w("row-b") <= GUARANTEED_W["aisle"]

    site.cut.clear()
    for name in ("site", "hall", "rack"):
        site.scopes[name].picture.accept(after)
    await site.until(lambda: aisle.child.lease.guaranteed_w == GUARANTEED_W["aisle"] + 100.0, 30)
    assert site.highest_w <= FEED_W


async def test_a_parent_that_starts_again_knows_shares_from_its_disk(site: ScopedSite) -> None:
    after = swapped(site)
    site.cut.add("hall")
    site.scopes["site"].picture.accept(after)
    await site.seconds(1)
    site.rules = after

    site.scopes["site"].dead = True
    heir = site.scope("site", "first")

    assert heir.picture.regions.lending.accounts["hall"].owed_w == GUARANTEED_W["hall"]
