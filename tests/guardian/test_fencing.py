"""Old, late, foreign and doubled commands, and the guardian's memory of what it accepted."""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from easyrider import wire
from easyrider.guardian_link import GuardianLink, LinkBroken, LinkRefused
from easyrider.messages import Hold
from easyrider_guardian.core.permission import may


def test_a_late_command_is_refused_and_nothing_is_written(node):
    node.start()
    nonce = node.ready().nonce
    time.sleep(1.1)  # its lease runs out

    ack = node.say(node.limits(400, 400, 400, 400, nonce=nonce, ttl_s=1.0))

    assert (ack.accepted, ack.refused) == (False, "stale_nonce")
    assert node.writes == 0


def test_an_older_or_equal_command_is_refused_also_after_a_kill(node):
    node.start()
    node.ready()
    first, second = node.limits(400, 400, 400, 400), node.limits(450, 450, 450, 450)
    assert node.say(second).accepted

    assert node.say(first).refused == "stale_seq"
    assert node.say(second).refused == "stale_seq"
    node.kill()
    node.start()
    node.ready()

    assert node.say(second).refused == "stale_seq"
    again = node.say(first)
    assert (again.refused, again.highest_epoch, again.highest_seq) == ("stale_seq", 1, second.seq)
    assert node.enforced_w() == [450] * 4


def test_a_nonce_minted_before_a_kill_is_still_aged(node):
    node.start()
    nonce = node.ready().nonce
    node.kill()
    node.start()
    node.ready()

    assert node.say(node.limits(400, 400, 400, 400, nonce=nonce, ttl_s=9)).accepted
    time.sleep(0.5)  # longer than the second command may be old
    assert node.say(node.limits(500, 500, 500, 500, nonce=nonce, ttl_s=0.1)).refused == "stale_nonce"


def test_a_hold_fences_the_old_epoch_and_writes_nothing(node):
    node.start()
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    before, old = node.writes, node.limits(600, 600, 600, 600)

    node.epoch, node.seq = 2, 0
    assert node.say(node.grant(Hold)).accepted

    ack = node.say(old)
    assert (ack.refused, ack.highest_epoch) == ("stale_epoch", 2)
    assert node.writes == before
    assert node.enforced_w() == [400] * 4


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tree": "other"}, "wrong_tree"),
        ({"region": "other"}, "wrong_region"),
        ({"node": "n2"}, "wrong_node"),
        ({"nonce": 12345}, "wrong_boot"),
        ({"nonce": 2**62}, "wrong_boot"),
        ({"ttl_s": 1e6}, "bad_ttl"),
        ({"ttl_s": -1.0}, "bad_ttl"),
    ],
)
def test_a_command_for_somebody_else_is_refused(node, fields, reason):
    node.start()
    node.ready()

    assert node.say(node.limits(400, 400, 400, 400, **fields)).refused == reason
    assert node.writes == 0


def test_a_command_that_waited_while_the_guardian_was_frozen_is_not_applied(node):
    node.start()
    node.ready()
    command = wire.encode(node.limits(400, 400, 400, 400, ttl_s=0.5))
    with GuardianLink.open(node.socket, 5) as link:
        node.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, node.process.pid, os.WSTOPPED)
        link._connection.sendall(_frame(command))
        time.sleep(0.8)  # the freeze itself: longer than the lease
        node.signal(signal.SIGCONT)
        ack = _ack(link)

    assert ack.refused == "stale_nonce"
    assert node.writes == 0


def test_a_raise_held_up_in_a_slow_driver_is_not_written_after_its_lease(node, wait_until):
    node.start()
    node.ready()
    node.say(node.limits(300, 300, 300, 300))
    before = node.writes
    node.boards.gpus["fault_delay_us"] = 30_000  # a look takes 0.12 s, the write comes 0.24 s after the fence

    ack = node.say(node.limits(500, 500, 500, 500, nonce=node.state().nonce, ttl_s=_age_s(node) + 0.2))

    assert {gpu.refused for gpu in ack.gpus} == {"stale_nonce"}
    node.boards.gpus["fault_delay_us"] = 0
    assert node.writes == before


def test_malformed_bytes_are_refused_by_name_and_change_nothing(node):
    node.start()
    before = node.ready()

    with GuardianLink.open(node.socket) as link:
        with pytest.raises(LinkRefused, match="not_a_map"):
            link.apply(b"\x93\x01\x02\x03")
        with pytest.raises(LinkRefused, match="unknown_kind"):
            link.apply(wire.encode(before))
        assert link.state().highest_seq == 0
    assert node.writes == 0


def test_a_frame_that_is_too_long_or_no_request_cuts_the_connection_only(node):
    node.start()
    node.ready()

    for bytes_ in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x03abc"):
        with GuardianLink.open(node.socket, 3) as link:
            link._connection.sendall(bytes_)
            with pytest.raises(LinkBroken):
                link.ask("state")

    assert node.state().node == "n1"


OTHER = 10001


@pytest.fixture
def open_folder(node):
    """A folder that other users may enter, with the socket in it."""
    folder = Path(tempfile.mkdtemp(prefix="easyrider-peer-"))
    folder.chmod(0o755)
    node.socket = folder / "guardian.sock"
    yield folder
    shutil.rmtree(folder)


def test_the_socket_is_closed_to_others_by_its_mode(node):
    node.start()
    node.ready()

    assert node.socket.stat().st_mode & 0o777 == 0o660


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try as another user")
@pytest.mark.parametrize(("peer_uid", "answered"), [("", False), (OTHER + 1, False), (OTHER, True)])
def test_a_peer_is_known_by_its_user_and_not_by_the_mode_of_the_socket(node, open_folder, peer_uid, answered):
    node.start(peer_uid=peer_uid)
    node.ready()
    node.socket.chmod(0o666)

    child = os.fork()
    if child == 0:
        code = 9
        try:
            os.setresuid(OTHER, OTHER, OTHER)
            with GuardianLink.open(node.socket, 3) as link:
                code = 0 if link.state().node == "n1" else 8
        except LinkBroken as fault:
            code = 7 if "Permission" in str(fault) else 1
        finally:
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if answered else 1)
    assert node.state().node == "n1"


@pytest.mark.parametrize("verb", ["apply", "state", "watch", "leave", "restore"])
def test_only_the_guardians_own_user_and_root_may_restore_without_a_lease(verb):
    assert may(verb, OTHER, own_uid=OTHER + 1) == (verb != "restore")
    assert may(verb, OTHER, own_uid=OTHER)
    assert may(verb, 0, own_uid=OTHER)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try as another user")
def test_the_user_of_the_actuator_is_refused_a_restore_and_the_limits_stay(node, open_folder):
    node.start(peer_uid=OTHER)
    node.ready()
    node.say(node.limits(400, 400, 400, 400))
    node.socket.chmod(0o666)

    child = os.fork()
    if child == 0:
        code = 9
        try:
            os.setresuid(OTHER, OTHER, OTHER)
            with GuardianLink.open(node.socket, 3) as link:
                link.restore()
                code = 0
        except LinkRefused as fault:
            code = 1 if fault.why == "not_permitted" else 8
        finally:
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert node.state().armed
    assert node.enforced_w() == [400] * 4


def _frame(command):
    from easyrider.guardian_link import Request, frame

    return frame(Request(id=1, verb="apply", body=command))


def _ack(link):
    from easyrider.guardian_link import Frames, Reply, as_ack

    frames = Frames()
    while True:
        for reply in frames.feed(link._connection.recv(65536), Reply):
            return as_ack(reply)


def _age_s(node):
    mint_ns = (node.state().nonce >> 15) * 1000
    return (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - mint_ns) / 1e9
