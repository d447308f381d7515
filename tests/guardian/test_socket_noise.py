"""Whatever comes over its socket, a guardian goes on answering and writes nothing that was not a whole order."""

import random
import socket
import time
from contextlib import suppress

from easyrider import wire
from easyrider.guardian_link import FRAME_LIMIT, Request, frame

ROUNDS, SEED = 400, 20261130


def noise(chance: random.Random, order: bytes) -> bytes:
    """Bytes at random, frames around bytes at random, or an order with some of its bytes changed, cut or said twice."""
    match chance.randrange(6):
        case 0:
            return chance.randbytes(chance.randrange(1, 4096))
        case 1:
            body = chance.randbytes(chance.randrange(1, 512))
            return len(body).to_bytes(4, "big") + body
        case 2:
            return chance.choice([0, FRAME_LIMIT + 1, 2**31, 2**32 - 1]).to_bytes(
                4, "big"
            ) + chance.randbytes(64)
        case 3:
            whole = bytearray(frame(Request(id=1, verb="apply", body=order)))
            for _ in range(chance.randrange(1, 8)):
                # not the nonce alone: an order that is whole but for what the fence looks at is tried elsewhere
                whole[chance.randrange(4, len(whole))] = chance.randrange(256)
            return bytes(whole)
        case 4:
            whole_frame = frame(Request(id=1, verb="apply", body=order))
            return whole_frame[: chance.randrange(1, len(whole_frame))]
        case _:
            verb = chance.choice(["apply", "watch", "state"])
            return frame(
                Request(id=2, verb=verb, body=chance.randbytes(chance.randrange(64)))
            ) * chance.randrange(1, 20)


def test_noise_on_the_socket_moves_no_limit_and_the_guardian_answers_all_the_time(node, wait_until):
    node.start()
    node.ready()
    chance = random.Random(SEED)
    # an order nobody may give any more: whatever is left of it when bytes are changed must not be taken either
    order = wire.encode(node.limits(400, 400, 400, 400, nonce=1, ttl_s=0.5))
    idle, slowest_s = [], 0.0

    for turn in range(ROUNDS):
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.connect(str(node.socket))  # waits while others stand in line
        link.settimeout(2)
        with suppress(BrokenPipeError, ConnectionResetError):  # being cut off is an answer too
            link.sendall(noise(chance, order))
        if turn % 40 == 0:
            idle.append(link)  # some say half a word and stay
        else:
            link.close()
        if turn % 20 == 0:
            began_s = time.monotonic()
            wait_until(lambda: node._answers(), 2)  # there may be others in line before us
            slowest_s = max(slowest_s, time.monotonic() - began_s)

    wait_until(lambda: node._answers(), 2)
    assert node.process.poll() is None
    assert node.writes == 0
    assert not node.state().armed
    assert node.state().highest_seq == 0
    assert slowest_s < 2.0
    for link in idle:
        link.close()


def test_a_guardian_still_obeys_after_the_noise(node, wait_until):
    node.start()
    node.ready()
    chance = random.Random(SEED + 1)
    for _ in range(50):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.connect(str(node.socket))
            link.sendall(chance.randbytes(200))
    wait_until(lambda: node._answers(), 2)  # there may be others in line before us

    ack = node.say(node.limits(400, 410, 420, 430))

    assert ack.accepted
    assert node.enforced_w() == [400.0, 410.0, 420.0, 430.0]
