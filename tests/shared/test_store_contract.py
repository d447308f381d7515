"""What a store promises: the fake and the real one take the same exam."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from easyrider import store_keys
from easyrider.embedded import ServerProcess
from easyrider.store import Store
from easyrider.store_keys import BadKeyPart
from easyrider.store_port import OlderFingerprint, OlderRules, StorePort
from easyrider.testing import FakeStore


@pytest.fixture(params=["fake", "real"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StorePort]:
    if request.param == "fake":
        async with FakeStore.connect() as fake:
            yield fake
    else:
        server: ServerProcess = request.getfixturevalue("valkey")
        async with Store.connect(server.url, deadline_s=5.0) as real:
            yield real


@pytest.fixture
def tree() -> str:
    return f"site-{secrets.token_hex(4)}"


async def test_one_leads_and_the_other_gets_nothing(store: StorePort, tree: str) -> None:
    assert await store.take_lead(tree, "r1", "anna", 0, 5.0) == 1
    assert await store.take_lead(tree, "r1", "bert", 0, 5.0) is None
    assert await store.take_lead(tree, "r2", "bert", 0, 5.0) == 1


async def test_of_many_contenders_at_once_exactly_one_wins(store: StorePort, tree: str) -> None:
    epochs = await asyncio.gather(*(store.take_lead(tree, "r1", f"owner {i}", 0, 5.0) for i in range(20)))

    assert [epoch for epoch in epochs if epoch is not None] == [1]


async def test_a_new_epoch_is_above_every_epoch_any_node_has_seen(store: StorePort, tree: str) -> None:
    assert await store.take_lead(tree, "r1", "anna", 41, 0.05) == 42
    await asyncio.sleep(0.2)  # longer than the lease

    assert await store.take_lead(tree, "r1", "bert", 7, 5.0) == 43


async def test_a_lease_ends_by_itself_unless_it_is_renewed(store: StorePort, tree: str) -> None:
    epoch = await store.take_lead(tree, "r1", "anna", 0, 0.4)
    assert epoch is not None
    assert await store.renew_lead(tree, "r1", "anna", epoch, 0.4)
    assert await store.take_lead(tree, "r1", "bert", 0, 5.0) is None
    await asyncio.sleep(0.6)  # longer than the lease

    assert not await store.renew_lead(tree, "r1", "anna", epoch, 0.4)
    assert await store.take_lead(tree, "r1", "bert", 0, 5.0) == epoch + 1


async def test_nobody_renews_or_gives_up_what_another_holds(store: StorePort, tree: str) -> None:
    epoch = await store.take_lead(tree, "r1", "anna", 0, 5.0)
    assert epoch is not None

    assert not await store.renew_lead(tree, "r1", "bert", epoch, 5.0)
    assert not await store.renew_lead(tree, "r1", "anna", epoch + 1, 5.0)
    await store.give_up_lead(tree, "r1", "bert", epoch)
    await store.give_up_lead(tree, "r1", "anna", epoch - 1)

    assert await store.renew_lead(tree, "r1", "anna", epoch, 5.0)


async def test_what_is_given_up_can_be_taken_at_once_with_a_higher_epoch(store: StorePort, tree: str) -> None:
    epoch = await store.take_lead(tree, "r1", "anna", 0, 60.0)
    assert epoch is not None

    await store.give_up_lead(tree, "r1", "anna", epoch)

    assert await store.take_lead(tree, "r1", "bert", 0, 5.0) == epoch + 1


async def test_whoever_takes_its_own_lease_again_gets_a_new_epoch(store: StorePort, tree: str) -> None:
    assert await store.take_lead(tree, "r1", "anna", 0, 5.0) == 1
    assert await store.take_lead(tree, "r1", "anna", 0, 5.0) == 2
    assert not await store.renew_lead(tree, "r1", "anna", 1, 5.0)


@pytest.mark.parametrize("owner", ["with space", "12 34", "%d+", "ünï", "a\nb"])
async def test_an_owner_may_have_any_name(store: StorePort, tree: str, owner: str) -> None:
    epoch = await store.take_lead(tree, "r1", owner, 0, 5.0)
    assert epoch == 1

    assert await store.renew_lead(tree, "r1", owner, epoch, 5.0)
    assert await store.take_lead(tree, "r1", owner + "x", 0, 5.0) is None


async def test_an_epoch_that_cannot_be_counted_exactly_is_refused(store: StorePort, tree: str) -> None:
    assert await store.take_lead(tree, "r1", "anna", 2**53 - 3, 5.0) == 2**53 - 2
    with pytest.raises(ValueError, match="epoch"):
        await store.take_lead(tree, "r1", "anna", 2**53 - 1, 5.0)


async def test_state_is_merged_field_by_field_and_is_bytes(store: StorePort, tree: str) -> None:
    await store.save_state(tree, "r1", {"a": b"\x00\xff", "b": b"2"})
    await store.save_state(tree, "r1", {"b": b"3"})
    await store.save_state(tree, "r1", {})

    assert await store.load_state(tree, "r1") == {"a": b"\x00\xff", "b": b"3"}
    assert await store.load_state(tree, "r2") == {}


async def test_rules_are_kept_with_their_version_and_never_go_back(store: StorePort, tree: str) -> None:
    assert await store.load_rules(tree) is None
    await store.save_rules(tree, 3, b"three")
    await store.save_rules(tree, 3, b"three again")

    with pytest.raises(OlderRules) as caught:
        await store.save_rules(tree, 2, b"two")

    assert caught.value.held == 3
    assert await store.load_rules(tree) == (3, b"three again")


async def test_fingerprints_are_kept_by_id_with_their_revision_and_never_go_back(
    store: StorePort, tree: str
) -> None:
    assert await store.load_fingerprint(tree, "a-0") is None
    await store.save_fingerprint(tree, "a-0", 1, b"\x00one")
    await store.save_fingerprint(tree, "a-0", 3, b"3 three")
    await store.save_fingerprint(tree, "b-1", 1, b"")

    for offered in (2, 3):
        with pytest.raises(OlderFingerprint) as caught:
            await store.save_fingerprint(tree, "a-0", offered, b"late")
        assert caught.value.held == 3

    assert await store.load_fingerprint(tree, "a-0") == (3, b"3 three")
    assert await store.load_fingerprints(tree) == {"a-0": (3, b"3 three"), "b-1": (1, b"")}


async def test_a_fingerprint_that_is_forgotten_is_gone_and_may_begin_again(
    store: StorePort, tree: str
) -> None:
    await store.save_fingerprint(tree, "a-0", 9, b"nine")
    assert await store.forget_fingerprint(tree, "a-0", 9)
    assert not await store.forget_fingerprint(tree, "never-was", 9)

    await store.save_fingerprint(tree, "a-0", 1, b"one")

    assert await store.load_fingerprints(tree) == {"a-0": (1, b"one")}


async def test_a_fingerprint_that_is_newer_than_what_was_to_be_forgotten_stays(
    store: StorePort, tree: str
) -> None:
    await store.save_fingerprint(tree, "a-0", 9, b"nine")

    assert not await store.forget_fingerprint(tree, "a-0", 8)

    assert await store.load_fingerprints(tree) == {"a-0": (9, b"nine")}


@pytest.mark.parametrize("spoiled", [b"", b"junk", b"12", b"-4 x", b"99999999999999999999 x", b"\xff\xfe 1"])
async def test_what_somebody_else_put_in_a_fingerprints_place_has_no_revision_and_is_replaced(
    valkey: ServerProcess, tree: str, spoiled: bytes
) -> None:
    async with Store.connect(valkey.url, deadline_s=5.0) as store:
        await store._client.hset(store_keys.fingerprints(tree), "a-0", spoiled)

        assert await store.load_fingerprint(tree, "a-0") == (0, spoiled)
        await store.save_fingerprint(tree, "a-0", 1, b"one")

        assert await store.load_fingerprint(tree, "a-0") == (1, b"one")


async def test_accuracies_are_kept_by_job_with_their_moment_and_replaced(store: StorePort, tree: str) -> None:
    assert await store.load_accuracy(tree, "r1 a") is None
    await store.save_accuracy(tree, 10, {"r1 a": b"10 first", "r1 b": b"\x00"})
    await store.save_accuracy(tree, 20, {"r1 a": b"second"})
    await store.save_accuracy(tree, 30, {})

    assert await store.load_accuracy(tree, "r1 a") == (20, b"second")
    assert await store.load_accuracies(tree) == {"r1 a": (20, b"second"), "r1 b": (10, b"\x00")}


async def test_accuracies_of_long_ago_and_beyond_the_most_are_swept(store: StorePort, tree: str) -> None:
    for moment in range(6):
        await store.save_accuracy(tree, moment, {f"r1 {moment}": b"x"})

    assert await store.sweep_accuracies(tree, 2, 3) == 3

    assert set(await store.load_accuracies(tree)) == {"r1 3", "r1 4", "r1 5"}
    assert await store.sweep_accuracies(tree, 2, 3) == 0


async def test_a_name_that_would_reach_into_another_key_is_refused(store: StorePort) -> None:
    with pytest.raises(BadKeyPart):
        await store.load_rules("site:leader")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["take", "renew", "give up"])), max_size=12))
async def test_whatever_is_done_the_epoch_only_grows_and_one_leads(
    store: StorePort, steps: list[tuple[str, str]]
) -> None:
    tree = f"site-{secrets.token_hex(6)}"
    holder, highest, epochs = "", 0, {"a": 0, "b": 0}
    for owner, verb in steps:
        if verb == "take":
            epoch = await store.take_lead(tree, "r1", owner, epochs[owner], 60.0)
            assert (epoch is not None) == (holder in ("", owner))
            if epoch is not None:
                assert epoch > highest
                holder, highest, epochs[owner] = owner, epoch, epoch
        elif verb == "renew":
            assert await store.renew_lead(tree, "r1", owner, epochs[owner], 60.0) == (holder == owner)
        else:
            await store.give_up_lead(tree, "r1", owner, epochs[owner])
            holder = "" if holder == owner else holder
