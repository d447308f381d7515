"""What was learned goes to disk beside the loop, and comes back to boards as they are heard."""

from pathlib import Path

from wired_site import Wired, rules

from easyrider_policy.adapters.learned_file import LearnedFile
from easyrider_policy.core.learned_kept import Learned
from easyrider_policy.learned_keeping import GIVEN_UP_AFTER, LearnedKeeper


def counted(wired: Wired) -> dict[str, float]:
    seen = wired.picture.observation
    return dict(zip(seen.layout.fleet.gpus, seen.overshoot.counted.tolist(), strict=True))


async def test_a_coordinator_that_starts_again_knows_its_boards_once_they_are_heard(tmp_path: Path) -> None:
    before = Wired(rules(1))
    await before.seconds(2)
    before.picture.observation.overshoot.recall(0, 1.02, 500.0)
    uuid = before.picture.fleet.gpus[0]
    await LearnedKeeper(before.picture, LearnedFile(tmp_path)).keep()

    after = Wired(rules(1))
    keeper = LearnedKeeper(after.picture, LearnedFile(tmp_path))
    keeper.look()
    await keeper.keep()  # nobody was heard yet: what is on disk stays
    await after.seconds(2)
    keeper.look()

    assert counted(after)[uuid] == 1.02
    assert sorted(counted(after).values())[:-1] == [1.0, 1.0, 1.0]


async def test_what_nobody_claims_is_forgotten(tmp_path: Path) -> None:
    LearnedFile(tmp_path).keep(Learned(boards={"gone": (1.02, 9.0)}))
    wired = Wired(rules(1))
    keeper = LearnedKeeper(wired.picture, LearnedFile(tmp_path))

    for _ in range(GIVEN_UP_AFTER + 1):
        keeper.look()
    await wired.seconds(2)
    wired.picture.observation.overshoot.recall(0, 1.01, 500.0)
    await keeper.keep()

    assert "gone" not in LearnedFile(tmp_path).read().boards


async def test_a_disk_that_takes_nothing_stops_nobody(tmp_path: Path) -> None:
    wired = Wired(rules(1))
    await wired.seconds(2)
    wired.picture.observation.overshoot.recall(0, 1.01, 500.0)

    await LearnedKeeper(wired.picture, LearnedFile(tmp_path / "missing")).keep()

    assert not (tmp_path / "missing").exists()
