"""Three coordinators, two regions, eight nodes: killed, frozen, cut off and replaced, with the referee watching.

One site, and its tests run one after another: each begins from what the one before left whole.
"""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile_words import say_them
from live_bus import Supply, voice
from live_regions import FAR, FEED_W, GUARANTEED_W, LEASE_S, MODULES, NEAR, TOP, WAIT_S, Halls, halls_up
from live_site import boot_ns, holds, start_jobs, until

pytestmark = [pytest.mark.system, pytest.mark.slow]

PAUSE_S = (10.0, 12.0)
"""When the job of the far hall leaves its boards, and for how long."""
MUCH_W = 250.0
"""More than a share moves by noise."""
LOADED_S = 2.0
"""What a machine shared with other work may add."""
REACTION_S = 2.3
QUIET_S = 3.0
"""A region unheard for so long is planned as one that cannot hear."""


class Feed:
    """The supply of the site's feed: the device itself, and the bridge that tells of it once a second."""

    def __init__(self, halls: Halls, says: Supply) -> None:
        self._halls, self._says, self._ok, self._over = halls, says, MODULES, threading.Event()
        self._teller = threading.Thread(target=self._tell, name="supply", daemon=True)
        self._teller.start()

    def carries(self, modules: int) -> float:
        """So many of its modules work from now on; the watts that it carries then."""
        self._halls.site.tell_twin("fail_module", domain="feed", modules=MODULES - modules)
        self._ok = modules
        self._says.say(modules)
        return FEED_W * modules / MODULES

    def end(self) -> None:
        """Tell no more."""
        self._over.set()
        self._teller.join(5)

    def _tell(self) -> None:
        while not self._over.wait(1.0):
            self._says.say(self._ok)


@contextmanager
def told_feed(halls: Halls) -> Iterator[Feed]:
    """The feed, once the parent believes that all of its modules work."""
    with voice(halls.near, "infra-bridge") as speaking:
        feed = Feed(halls, Supply(speaking, TOP, "feed", MODULES))
        try:
            until(lambda: halls.journal(TOP, "limit_moved"), 10, "the parent to hear of the whole feed")
            yield feed
        finally:
            feed.end()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Halls, Feed]]:
    """A parent, a hall beside it, a hall behind a leaf link; both want more than their guaranteed share."""
    with halls_up(Path(tmp_path_factory.mktemp("halls")), (PAUSE_S,)) as found, told_feed(found) as feed:
        start_jobs(found.site, verified=False)
        yield found, feed


@pytest.fixture(scope="module")
def halls(running: tuple[Halls, Feed]) -> Halls:
    return running[0]


@pytest.fixture(scope="module")
def feed(running: tuple[Halls, Feed]) -> Feed:
    return running[1]


def granted_w(halls: Halls, name: str) -> float:
    """What a coordinator may draw by its parent's word; 0 while its guaranteed share holds."""
    told = halls.envelope(name)
    return told["hard_w"] if told is not None and told["granted"] else 0.0


def lost(halls: Halls, name: str, since_ns: int) -> list[dict[str, object]]:
    """Moments at which a coordinator had to fall back on its guaranteed share."""
    return [line for line in halls.journal(name, "envelope", since_ns) if not line["granted"]]


def epochs(halls: Halls, *names: str) -> list[int]:
    """Every epoch that coordinators of one scope led with."""
    return [line["epoch"] for name in names for line in halls.journal(name, "leader_change")]


def obeyed(halls: Halls, name: str) -> int:
    """The parent's epoch that a region has on its disk."""
    return int(json.loads((halls.folder.state(name) / "tenure.json").read_text())["epoch"])


def both_granted(halls: Halls) -> bool:
    return all(granted_w(halls, name) > GUARANTEED_W + MUCH_W for name in (NEAR, FAR))


def test_watts_go_where_the_work_is_and_back_over_a_leaf_link(halls: Halls) -> None:
    until(lambda: both_granted(halls), 15, "both halls have more than their guaranteed share")
    before_w = granted_w(halls, NEAR)

    until(
        lambda: granted_w(halls, NEAR) > before_w + MUCH_W, 20, "the near hall gets what the far one leaves"
    )
    until(lambda: halls.could_w(NEAR) > before_w + MUCH_W / 2, 15, "and its boards rise")
    until(lambda: both_granted(halls), 20, "the far job is back, and so are its watts")
    halls.site.clean_so_far()


def test_a_coordinator_that_starts_again_proves_its_lease_and_keeps_its_watts(halls: Halls) -> None:
    until(lambda: halls.could_w(FAR) > GUARANTEED_W + 2 * MUCH_W, 20)
    since_ns = boot_ns()

    halls.coordinators[FAR].signal(signal.SIGKILL)
    until(lambda: not halls.coordinators[FAR].running(), 5)
    halls.start(FAR, FAR, halls.far)

    until(lambda: halls.journal(FAR, "envelope", since_ns), 15, "what it may draw, from its own disk")
    assert halls.journal(FAR, "envelope", since_ns)[0]["granted"]
    holds(lambda: halls.could_w(FAR) > GUARANTEED_W + MUCH_W, 4, "its boards keep more than their share")
    until(lambda: halls.ready(FAR), 15)
    assert not lost(halls, FAR, since_ns)


def test_of_two_instances_of_a_region_one_has_effect_and_the_other_begins_at_the_guaranteed_share(
    halls: Halls,
) -> None:
    heir = f"{NEAR}-heir"
    halls.start(heir, NEAR, halls.near)
    until(lambda: halls.ready(heir), 20, "the second instance knows that another leads")
    assert epochs(halls, heir) == []
    until(lambda: granted_w(halls, NEAR) > GUARANTEED_W + MUCH_W, 10)

    killed_ns = boot_ns()
    halls.coordinators[NEAR].signal(signal.SIGKILL)
    until(lambda: epochs(halls, heir) == [2], 10, "it leads")
    until(lambda: granted_w(halls, heir) > GUARANTEED_W + MUCH_W, 15, "and is granted watts of its own")

    first = halls.journal(heir, "envelope")[0]
    assert not first["granted"]
    assert first["hard_w"] == pytest.approx(GUARANTEED_W, abs=0.1)
    assert epochs(halls, TOP) == [1]
    assert not lost(halls, FAR, killed_ns)
    halls.site.clean_so_far()


def test_a_parent_frozen_or_killed_is_replaced_and_no_region_notices(halls: Halls) -> None:
    heir, near = f"{TOP}-heir", f"{NEAR}-heir"
    halls.start(heir, TOP, halls.near)
    until(lambda: halls.ready(heir), 20, "the second instance hears the regions, and that another leads", 0.2)
    since_ns = boot_ns()

    halls.coordinators[TOP].signal(signal.SIGSTOP)
    until(lambda: epochs(halls, heir) == [2], 3 + 1 + LOADED_S, "the other took the lead")
    until(lambda: [obeyed(halls, name) for name in (near, FAR)] == [2, 2], 10, "both regions obey it")
    halls.coordinators[TOP].signal(signal.SIGCONT)

    until(lambda: halls.journal(TOP, "lead_lost", since_ns), 10, "the one that woke steps down")
    holds(lambda: epochs(halls, TOP, heir) == [1, 2], 3, "and neither pushes the other's epoch up")

    halls.coordinators[heir].signal(signal.SIGKILL)
    until(lambda: epochs(halls, TOP, heir) == [1, 3, 2], 3 + 1 + LOADED_S, "the first takes the lead again")
    until(lambda: [obeyed(halls, name) for name in (near, FAR)] == [3, 3], 10, "and both regions obey it")
    assert not lost(halls, near, since_ns)
    assert not lost(halls, FAR, since_ns)
    halls.site.clean_so_far()


def test_a_store_that_hangs_or_forgets_takes_no_region_its_grant(halls: Halls) -> None:
    since_ns, near = boot_ns(), f"{NEAR}-heir"

    halls.near.redis.freeze()
    try:
        holds(lambda: granted_w(halls, near) > 0 and granted_w(halls, FAR) > 0, 5, "both keep their grants")
    finally:
        halls.near.redis.thaw()
    holds(lambda: granted_w(halls, near) > 0 and granted_w(halls, FAR) > 0, 4, "when it answers again too")

    halls.near.redis.kill()
    halls.near.redis.start()  # empty
    holds(
        lambda: granted_w(halls, near) > 0 and granted_w(halls, FAR) > 0, 5, "and when it forgot everything"
    )
    until(lambda: halls.ready(TOP) and halls.ready(near), 15, "led again")
    assert not lost(halls, near, since_ns)
    assert not lost(halls, FAR, since_ns)
    halls.site.clean_so_far()


def test_a_frozen_region_coordinator_goes_on_where_it_was(halls: Halls) -> None:
    until(lambda: granted_w(halls, FAR) > GUARANTEED_W + MUCH_W, 10)
    before_w, since_ns = halls.could_w(FAR), boot_ns()

    halls.coordinators[FAR].signal(signal.SIGSTOP)
    try:
        holds(lambda: halls.could_w(FAR) <= before_w + MUCH_W / 2, 4, "nothing rises")
    finally:
        halls.coordinators[FAR].signal(signal.SIGCONT)

    until(lambda: halls.ready(FAR), 15, "it leads again")
    assert not lost(halls, FAR, since_ns)
    assert min(halls.site.limits_w()["b1"]) > 250.0


def counted_w(halls: Halls, region: str) -> float:
    """What the parent counts a region at."""
    return halls.metrics(TOP)[f'easyrider_policy_region_counted_watts{{region="{region}"}}']


def test_a_limit_falls_above_a_region_cut_off_which_keeps_its_lease_and_its_watts_are_lent_on_after_the_full_wait(
    halls: Halls, feed: Feed
) -> None:
    near = f"{NEAR}-heir"
    until(lambda: min(granted_w(halls, near), granted_w(halls, FAR)) > GUARANTEED_W + MUCH_W, 20)
    far_w, cut_s, cut_ns = granted_w(halls, FAR), time.monotonic(), boot_ns()

    halls.link.cut()
    holds(lambda: granted_w(halls, FAR) > GUARANTEED_W + MUCH_W, QUIET_S + 1.0, "the lease runs on")
    dropped_w, dropped_s = feed.carries(MODULES - 1), time.monotonic()
    until(lambda: halls.could_w(NEAR) + halls.could_w(FAR) <= dropped_w, 2.5, "the other makes room at once")
    print(f"\nroom was made {time.monotonic() - dropped_s:.2f} s after the limit fell")
    assert halls.could_w(FAR) > GUARANTEED_W + MUCH_W, "and not the one that cannot hear"
    assert counted_w(halls, FAR) >= far_w - 1.0, "it counts what its lease allows"
    before_w = granted_w(halls, near)
    keeps_s = cut_s + LEASE_S - REACTION_S - 1.5 - time.monotonic()
    holds(lambda: granted_w(halls, FAR) > GUARANTEED_W + MUCH_W, keeps_s, "the lease still runs on")
    until(lambda: lost(halls, FAR, cut_ns), 5, "the lease ends")
    share_ends_s = cut_s + LEASE_S + 0.5
    until(lambda: halls.could_w(FAR) <= GUARANTEED_W, share_ends_s - time.monotonic(), "its guaranteed share")
    waited_s = LEASE_S + WAIT_S - 1.5
    holds(
        lambda: granted_w(halls, near) < before_w + MUCH_W,
        cut_s + waited_s - time.monotonic(),
        "nothing is lent on before",
    )
    until(lambda: granted_w(halls, near) > before_w + MUCH_W, 5 + LOADED_S, "then it is lent on")
    until(lambda: halls.could_w(NEAR) > before_w + MUCH_W / 2, 15, "and used")
    assert counted_w(halls, FAR) == pytest.approx(GUARANTEED_W, abs=1.0), "it counts its guaranteed share"
    assert halls.could_w(NEAR) + halls.could_w(FAR) <= dropped_w
    halls.site.clean_so_far()

    feed.carries(MODULES)
    halls.link.heal()
    until(lambda: granted_w(halls, FAR) > GUARANTEED_W + MUCH_W, 15, "healed, it gets watts again")
    halls.site.clean_so_far()


def test_a_link_that_hangs_for_less_than_a_lease_is_not_noticed(halls: Halls) -> None:
    since_ns = boot_ns()

    halls.link.freeze()
    holds(lambda: granted_w(halls, FAR) > GUARANTEED_W + MUCH_W, 4, "the grant holds")
    halls.link.heal()

    holds(lambda: not lost(halls, FAR, since_ns), 6, "and holds on")


def test_words_of_before_late_doubled_forged_and_malformed_move_nothing(halls: Halls) -> None:
    since_ns, near = boot_ns(), f"{NEAR}-heir"

    refused = say_them(halls).refused

    assert refused == {"stale_epoch", "stale_seq", "stale_nonce"}
    holds(
        lambda: min(granted_w(halls, near), granted_w(halls, FAR)) > GUARANTEED_W, 3, "both keep their grants"
    )
    assert max(map(max, halls.site.limits_w().values())) < 700.0
    assert not lost(halls, near, since_ns) + lost(halls, FAR, since_ns)
    halls.site.clean_so_far()


def test_the_referee_saw_no_sum_broken_in_either_region_nor_above_them(halls: Halls) -> None:
    found = halls.site.judged_clean()

    assert found["writes"] > 40
    assert found["highest_w"]["feed"] <= FEED_W
    assert all(found["highest_w"][row] > GUARANTEED_W for row in ("row-a", "row-b"))
