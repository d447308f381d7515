"""The desk between the shelf of fingerprints and the store."""

import msgspec
import pytest
from fingerprint_runs import TYPE, Runs, work

from easyrider import fingerprints, metrics, store_keys
from easyrider.fingerprints import Fingerprint
from easyrider.store import Store
from easyrider.store_port import StorePort
from easyrider.testing.fake_store import FakeStore
from easyrider.testing.servers import redis_server
from easyrider_forecaster.core.fingerprints import Shelf
from easyrider_forecaster.fingerprint_desk import FingerprintDesk


@pytest.fixture(scope="module")
def taught() -> Fingerprint:
    (one,) = Runs().run(work(75)).store.values()
    return one


def ended(taught: Fingerprint, *names: str) -> Shelf:
    """A shelf with runs that are over and wait to be kept."""
    shelf = Shelf()
    for row, name in enumerate(names):
        shelf.track(name, row, TYPE, fresh=True)
        track = shelf.tracks.pop(name)
        track.over, track.shown = True, msgspec.structs.replace(taught, revision=0)
        shelf.memory.add(track)
    return shelf


def counted(name: str) -> float:
    lines = metrics.text().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"easyrider_{name} ")))


async def kept(store: StorePort) -> dict[str, Fingerprint]:
    found = await store.load_fingerprints("site")
    return {name: fingerprints.decode(name, data) for name, (_, data) in found.items()}


async def rounds(shelf: Shelf, store: StorePort, number: int = 3) -> list[bool]:
    desk = FingerprintDesk(shelf=shelf, store=store, tree="site")
    return [await desk.round() for _ in range(number)]


async def test_a_run_that_is_over_is_kept_in_a_real_store_and_read_for_the_next_job(
    taught: Fingerprint,
) -> None:
    with redis_server() as redis:
        async with Store.connect(redis.url, deadline_s=5.0) as store:
            await rounds(ended(taught, "a"), store)
            later = Shelf()
            later.track("b", 0, TYPE, fresh=True)

            await rounds(later, store)

            (one,) = (await kept(store)).values()
            assert (one.id, one.runs, one.revision) == (f"{TYPE.id}-0", 1, 1)
            assert later.prior("b", 700.0).peak_w == max(one.peak_w or 0.0, one.p99_w)
            assert later.wanted() == []


async def test_two_runs_of_a_type_that_end_at_once_both_count(taught: Fingerprint) -> None:
    store = FakeStore()

    await rounds(ended(taught, "a", "b"), store)

    (one,) = (await kept(store)).values()
    assert (one.runs, one.revision) == (2, 2)


async def test_what_another_region_keeps_meanwhile_is_built_upon(taught: Fingerprint) -> None:
    store, here, there = FakeStore(), ended(taught, "a"), ended(taught, "b")
    for shelf in (here, there):
        shelf.memory.take(TYPE, ())  # both read before either wrote

    await rounds(there, store)
    await rounds(here, store)

    (one,) = (await kept(store)).values()
    assert (one.runs, one.revision) == (2, 2)


async def test_a_silent_store_loses_nothing_and_fails_nothing(taught: Fingerprint) -> None:
    store, shelf = FakeStore(), ended(taught, "a")
    store.silent = "away"
    assert await rounds(shelf, store) == [False, False, False]
    store.silent, store.full = "", "out of memory"
    assert await rounds(shelf, store) == [False, False, False]

    store.full = ""

    assert await rounds(shelf, store) == [True, True, True]
    assert len(await kept(store)) == 1


async def test_what_is_no_fingerprint_is_refused_counted_and_replaced_by_the_next_run(
    taught: Fingerprint,
) -> None:
    store, name = FakeStore(), f"{TYPE.id}-0"
    store.fingerprints[store_keys.fingerprints("site")] = {name: (41, b'{"v": 1, "mean_w": 1e999}')}
    waiting = Shelf()
    waiting.track("b", 0, TYPE, fresh=True)
    before = counted("forecaster_fingerprints_unreadable_total")

    await rounds(waiting, store, 1)
    assert counted("forecaster_fingerprints_unreadable_total") > before
    assert waiting.prior("b", 700.0).basis == "nameplate"
    await rounds(ended(taught, "a"), store)

    assert (await kept(store))[name].revision == 42


async def test_what_is_to_be_forgotten_is_forgotten_once_a_silent_store_is_back(taught: Fingerprint) -> None:
    store, shelf = FakeStore(), Shelf()
    gone = msgspec.structs.replace(taught, missed=4, revision=3)
    await store.save_fingerprint("site", gone.id, gone.revision, fingerprints.encode(gone))
    shelf.memory._forgotten.append(gone)
    store.silent = "away"
    assert await rounds(shelf, store) == [False, False, False]

    store.silent = ""
    await rounds(shelf, store)

    assert gone.id not in await kept(store)
    assert shelf.memory.forgotten() == []


async def test_what_another_region_renewed_meanwhile_is_neither_forgotten_nor_swept_out(
    taught: Fingerprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, shelf = FakeStore(), Shelf()
    old = msgspec.structs.replace(taught, updated_unix_s=1.0, missed=4)
    renewed = msgspec.structs.replace(taught, updated_unix_s=9e9, revision=5)
    await store.save_fingerprint("site", old.id, 1, fingerprints.encode(old))
    read = store.load_fingerprints

    async def overtaken(tree: str) -> dict[str, tuple[int, bytes]]:
        found = await read(tree)
        await store.save_fingerprint("site", renewed.id, renewed.revision, fingerprints.encode(renewed))
        return found

    monkeypatch.setattr(store, "load_fingerprints", overtaken)
    shelf.memory._forgotten.append(msgspec.structs.replace(old, revision=0))

    await rounds(shelf, store, 1)

    monkeypatch.undo()
    assert await kept(store) == {renewed.id: renewed}


async def test_fingerprints_of_half_a_year_ago_are_swept_out(taught: Fingerprint) -> None:
    store = FakeStore()
    old = msgspec.structs.replace(taught, updated_unix_s=1.0)
    new = msgspec.structs.replace(taught, variant=1, updated_unix_s=9e9)
    for one in (old, new):
        await store.save_fingerprint("site", one.id, 1, fingerprints.encode(one))

    await rounds(Shelf(), store, 1)

    assert list(await kept(store)) == [new.id]
