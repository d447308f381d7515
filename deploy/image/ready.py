"""Exit code 0 where a service says that it is ready.

`ready.py PORT` asks its health door, `ready.py PATH` the socket of a guardian.

Run as `python -I -S ready.py ...` every few seconds on every node: it imports nothing but sockets.
"""

import socket
import sys

STATE_REQUEST = b"\x84\xa1v\x01\xa2id\x01\xa4verb\xa5state\xa4body\xc4\x00"
"""`guardian_link.Request(id=1, verb="state")`, in the words of the wire."""
DEADLINE_S = 3.0


def main(where: str) -> int:
    if where.isdigit():
        with socket.create_connection(("127.0.0.1", int(where)), timeout=DEADLINE_S) as door:
            door.sendall(b"GET /ready HTTP/1.1\r\n\r\n")
            answer = door.makefile("rb").read(65536)
        ready = answer.startswith(b"HTTP/1.1 200 ")
        told = answer.partition(b"\r\n\r\n")[2]
    else:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(DEADLINE_S)
            door.connect(where)
            door.sendall(len(STATE_REQUEST).to_bytes(4, "big") + STATE_REQUEST)
            told = door.recv(4)
        ready = len(told) == 4
    if not ready:
        print(told.decode("latin-1").strip() or "no answer")
    return 0 if ready else 1


if __name__ == "__main__":
    try:
        code = main(sys.argv[1])
    except OSError as fault:
        print(f"{sys.argv[1]}: {fault}")
        code = 1
    sys.exit(code)
