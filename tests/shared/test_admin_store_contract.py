"""What the store of those who administer promises: the fake and the real one take the same exam."""

import asyncio
import dataclasses
import secrets
from collections.abc import AsyncIterator

import pytest

from easyrider import tokens
from easyrider.admin_store import AdminStore, AdminStorePort, RulesMoved
from easyrider.embedded import ServerProcess
from easyrider.testing import FakeAdminStore

NOW_S = 1_800_000_000.0


@pytest.fixture(params=["fake", "real"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[AdminStorePort]:
    if request.param == "fake":
        async with FakeAdminStore.connect() as fake:
            assert isinstance(fake, FakeAdminStore)
            yield fake
    else:
        server: ServerProcess = request.getfixturevalue("valkey")
        async with AdminStore.connect(server.url, deadline_s=5.0) as real:
            yield real


@pytest.fixture
def tree() -> str:
    return f"site-{secrets.token_hex(4)}"


async def test_rules_are_replaced_only_at_the_version_the_edit_began_with(
    store: AdminStorePort, tree: str
) -> None:
    await store.replace_rules(tree, None, 1, b"one")
    await store.replace_rules(tree, 1, 2, b"two")

    with pytest.raises(RulesMoved) as caught:
        await store.replace_rules(tree, 1, 2, b"another two")

    assert caught.value.held == 2
    assert await store.load_rules(tree) == (2, b"two")


async def test_rules_that_are_not_there_cannot_be_edited(store: AdminStorePort, tree: str) -> None:
    with pytest.raises(RulesMoved) as caught:
        await store.replace_rules(tree, 4, 5, b"five")

    assert caught.value.held is None
    assert await store.load_rules(tree) is None


async def test_of_edits_at_once_exactly_one_wins(store: AdminStorePort, tree: str) -> None:
    await store.replace_rules(tree, None, 1, b"one")

    ends = await asyncio.gather(
        *(store.replace_rules(tree, 1, 2, f"edit {k}".encode()) for k in range(10)), return_exceptions=True
    )

    assert ends.count(None) == 1
    assert all(isinstance(end, RulesMoved) for end in ends if end is not None)
    assert await store.load_rules(tree) == (2, f"edit {ends.index(None)}".encode())


async def test_a_token_is_found_by_its_hash_and_listed(store: AdminStorePort, tree: str) -> None:
    shown, token = tokens.make("anna", "operator", "", NOW_S, 3600.0)

    await store.save_token(tree, token, NOW_S)

    assert await store.load_token(tree, tokens.digest(shown)) == token
    assert await store.load_token(tree, tokens.digest(shown + "x")) is None
    assert await store.load_tokens(tree, NOW_S) == [token]


async def test_a_revoked_token_is_known_as_revoked_at_once(store: AdminStorePort, tree: str) -> None:
    _shown, token = tokens.make("anna", "viewer", "team-a", NOW_S, 3600.0)
    await store.save_token(tree, token, NOW_S)

    await store.save_token(tree, dataclasses.replace(token, revoked_s=NOW_S + 1), NOW_S + 1)

    found = await store.load_token(tree, token.digest)
    assert found is not None
    assert not found.opens(NOW_S + 2)
    assert [each.revoked_s for each in await store.load_tokens(tree, NOW_S + 2)] == [NOW_S + 1]


async def test_tokens_that_ended_long_ago_leave_the_list(store: AdminStorePort, tree: str) -> None:
    _shown, old = tokens.make("old", "viewer", "", NOW_S, 3600.0)
    _shown, new = tokens.make("new", "viewer", "", NOW_S + 40 * 86400.0, 3600.0)
    await store.save_token(tree, old, NOW_S)
    await store.save_token(tree, new, NOW_S + 40 * 86400.0)

    assert await store.load_tokens(tree, NOW_S + 40 * 86400.0) == [new]
    assert await store.load_tokens(tree, NOW_S + 40 * 86400.0) == [new]


async def test_one_of_many_begins_and_the_others_see_what_stands_there(
    store: AdminStorePort, tree: str
) -> None:
    begun = await asyncio.gather(*(store.begin(tree, "k", b"pending", 5.0) for _ in range(10)))

    assert begun.count(None) == 1
    assert begun.count(b"pending") == 9

    await store.finish(tree, "k", b"done", 5.0)
    assert await store.begin(tree, "k", b"pending", 5.0) == b"done"

    await store.give_back(tree, "k")
    assert await store.begin(tree, "k", b"pending", 5.0) is None


async def test_what_was_begun_and_never_finished_may_be_begun_again_after_a_while(
    store: AdminStorePort, tree: str
) -> None:
    assert await store.begin(tree, "k", b"pending", 0.05) is None
    await asyncio.sleep(0.1)

    assert await store.begin(tree, "k", b"pending", 5.0) is None


@pytest.mark.parametrize(
    ("field", "made"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "with space"}),
        ("name", {"name": "x" * 65}),
        ("role", {"role": "root"}),
        ("tenant", {"role": "operator", "tenant": "team-a"}),
        ("tenant", {"tenant": "a\nb"}),
        ("lifetime_s", {"lifetime_s": 0.0}),
        ("lifetime_s", {"lifetime_s": 400 * 86400.0}),
    ],
)
def test_a_token_that_makes_no_sense_is_refused_with_the_field(field: str, made: dict[str, object]) -> None:
    given: dict[str, object] = {"name": "anna", "role": "viewer", "tenant": "", "lifetime_s": 60.0} | made

    with pytest.raises(tokens.BadToken) as caught:
        tokens.make(now_s=NOW_S, **given)  # type: ignore[arg-type]

    assert caught.value.field == field


def test_a_token_holds_256_random_bits_and_its_record_does_not_hold_it() -> None:
    made = [tokens.make("anna", "admin", "", NOW_S, 60.0) for _ in range(100)]

    assert len({shown for shown, _ in made}) == 100
    for shown, token in made:
        assert tokens.well_formed(shown)
        assert shown.removeprefix(tokens.PREFIX).encode() not in tokens.encode(token)
        assert len(token.digest) == 64
