"""Who may touch which keys of the store: every user tries every command on every kind of key at a real server.

The table here is written out by hand, so that a slip in the code that writes the ACL file shows.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from installed_site import Installed, site_installed
from store_attempts import StoreAttempts

from easyrider.store import Store
from easyrider.store_port import StoreRefused
from easyrider.tls import TlsFiles

SCRIPTED = {"EVALSHA", "SCRIPT LOAD"}
WRITES: dict[str, tuple[str, ...]] = {
    "policy": ("er:site:rules", "er:site:leader:*", "er:site:epoch:*", "er:site:state:*"),
    "api": ("er:site:rules", "er:site:token:*", "er:site:receipt:*"),
    "forecaster": ("er:site:fingerprints", "er:site:accuracy"),
    "recorder": (),
}
READS: dict[str, tuple[str, ...]] = {
    "policy": (),
    "api": (
        "er:site:leader:*",
        "er:site:epoch:*",
        "er:site:state:*",
        "er:site:fingerprints",
        "er:site:accuracy",
    ),
    "forecaster": ("er:site:rules",),
    "recorder": ("er:site:rules",),
}
COMMANDS: dict[str, set[str]] = {
    "policy": {"GET", "SET", "DEL", "PEXPIRE", "HGET", "HSET", "HMGET", "HGETALL", *SCRIPTED},
    "api": {"GET", "SET", "DEL", "HGET", "HSET", "HDEL", "HMGET", "HGETALL", *SCRIPTED},
    "forecaster": {"HGET", "HSET", "HDEL", "HMGET", "HGETALL", *SCRIPTED},
    "recorder": {"HMGET"},
}
KEYS = [
    "er:site:rules", "er:site:leader:r1", "er:site:epoch:r1", "er:site:state:r1", "er:site:fingerprints",
    "er:site:fingerprints:x", "er:site:accuracy", "er:site:accuracy:x",
    "er:site:token:abc", "er:site:token:list", "er:site:receipt:abc", "er:site:leader", "er:site:unheardof:x",
    "er:other:rules", "er:other:leader:r1", "er:other:token:abc", "er:site2:state:r1", "er:", "anything",
]  # fmt: skip
READING = {
    "GET": (), "HGET": ("f",), "HMGET": ("f",), "HGETALL": (), "EXISTS": (), "TTL": (), "TYPE": (), "STRLEN": (),
    "DUMP": (), "GETRANGE": ("0", "1"), "HKEYS": (), "LRANGE": ("0", "1"), "SMEMBERS": (), "SORT_RO": (),
    "OBJECT ENCODING": (), "MEMORY USAGE": (),
}  # fmt: skip
WRITING = {
    "SET": ("v",), "HSET": ("f", "v"), "HDEL": ("f",), "PEXPIRE": ("100000",), "EXPIRE": ("100",), "APPEND": ("v",),
    "INCR": (), "GETSET": ("v",), "GETDEL": (), "PERSIST": (), "LPUSH": ("v",), "SADD": ("v",), "SETEX": ("9", "v"),
    "SETRANGE": ("0", "v"), "RENAME": ("er:site:rules",), "COPY": ("er:site:token:x",), "MOVE": ("1",),
    "RESTORE": ("0", "v"), "UNLINK": (), "DEL": (),
}  # fmt: skip
SERVER: list[tuple[str, ...]] = [
    ("KEYS", "*"), ("SCAN", "0"), ("RANDOMKEY",), ("DBSIZE",), ("FLUSHALL",), ("FLUSHDB",), ("SWAPDB", "0", "1"),
    ("CONFIG", "GET", "*"), ("CONFIG", "SET", "save", ""), ("CONFIG", "REWRITE"), ("CONFIG", "RESETSTAT"),
    ("ACL", "LIST"), ("ACL", "GETUSER", "admin"), ("ACL", "SETUSER", "x", "on", "nopass", "+@all", "~*"),
    ("ACL", "DELUSER", "policy"), ("ACL", "LOAD"), ("ACL", "SAVE"), ("ACL", "WHOAMI"), ("ACL", "LOG"),
    ("EVAL", "return 1", "0"), ("EVAL_RO", "return 1", "0"), ("FUNCTION", "LIST"), ("FUNCTION", "FLUSH"),
    ("FCALL", "f", "0"), ("SCRIPT", "FLUSH"), ("SCRIPT", "KILL"), ("SCRIPT", "EXISTS", "a"),
    ("MODULE", "LIST"), ("MODULE", "LOAD", "/x.so"), ("DEBUG", "JMAP"), ("REPLICAOF", "NO", "ONE"),
    ("SLAVEOF", "NO", "ONE"), ("FAILOVER",), ("SAVE",), ("BGSAVE",), ("BGREWRITEAOF",), ("LASTSAVE",),
    ("CLIENT", "LIST"), ("CLIENT", "KILL", "ID", "0"), ("CLIENT", "PAUSE", "0"), ("CLIENT", "NO-EVICT", "on"),
    ("CLIENT", "SETNAME", "x"), ("CLIENT", "SETINFO", "LIB-NAME", "x"),
    ("CLIENT", "ID"), ("INFO",), ("COMMAND",), ("LATENCY", "LATEST"), ("SLOWLOG", "GET"), ("MEMORY", "STATS"),
    ("CLUSTER", "INFO"), ("PUBLISH", "c", "x"), ("PUBSUB", "CHANNELS"), ("MULTI",), ("WAIT", "0", "0"),
    ("SYNC",), ("PSYNC", "?", "-1"), ("MONITOR",), ("SUBSCRIBE", "c"), ("PSUBSCRIBE", "*"), ("SHUTDOWN", "NOSAVE"),
]  # fmt: skip


@dataclass(slots=True)
class Kept:
    site: Installed
    users: dict[str, StoreAttempts]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    with site_installed(Path(tmp_path_factory.mktemp("site"))) as site, ExitStack() as links:
        users = {}
        for user in COMMANDS:
            password = site.login(user).password_file.read_text().strip()
            users[user] = StoreAttempts(site.redis.port, user, password)
            assert users[user].greeting == b"+OK\r\n"
            links.callback(users[user].close)
        yield Kept(site, users)


def may(user: str, command: str, key: str, *, writes: bool) -> bool:
    patterns = WRITES[user] if writes else (*WRITES[user], *READS[user])
    return command in COMMANDS[user] and any(fnmatchcase(key, pattern) for pattern in patterns)


def test_the_table_names_every_user_that_is_shipped(kept: Kept) -> None:
    lines = (kept.site.folder / "redis" / "users.acl").read_text().splitlines()
    passwords = {file.parent.name for file in kept.site.folder.glob("*/store.password")}

    assert {line.split()[1] for line in lines} == {*COMMANDS, "admin", "default"}
    assert passwords == {*COMMANDS, "admin"}
    assert lines[0].startswith("user default off")


@pytest.mark.parametrize("writes", [False, True], ids=["reading", "writing"])
def test_exactly_what_the_table_allows_is_allowed(kept: Kept, writes: bool) -> None:
    tried = [
        (name, key, (*name.split(), key, *rest))
        for name, rest in (WRITING if writes else READING).items()
        for key in KEYS
    ]

    for user, link in kept.users.items():
        denied = link.denied(*(command for _name, _key, command in tried))
        wrong = [
            (name, key, "denied" if is_denied else "allowed")
            for (name, key, _command), is_denied in zip(tried, denied, strict=True)
            if is_denied == may(user, name, key, writes=writes)
        ]
        assert wrong == [], user


def test_nobody_but_the_operator_touches_the_server_itself(kept: Kept) -> None:
    for user, link in kept.users.items():
        denied = link.denied(*SERVER)
        assert [command for command, no in zip(SERVER, denied, strict=True) if not no] == [], user
    assert kept.site.redis.running


def test_a_script_reaches_no_further_than_its_user(kept: Kept) -> None:
    reach = "return redis.call('GET', 'er:site:token:abc')"
    flush = "return redis.call('FLUSHALL')"
    policy = kept.users["policy"]
    keys = StoreAttempts(kept.site.redis.port, "admin", _admins(kept))
    keys.ask(("SET", "er:site:token:abc", "secret"))

    for script in (reach, flush):
        assert policy.ask(("SCRIPT", "LOAD", script))[0].startswith(b"$40")
        digest = _sha(script)
        assert policy.denied(("EVALSHA", digest, "0")) == [False]  # it may run, and is stopped inside
        answer = policy.ask(("EVALSHA", digest, "0"))[0]
        assert answer.startswith(b"-")
        assert b"ACL" in answer or b"permission" in answer, answer
    assert keys.ask(("EXISTS", "er:site:token:abc")) == [b":1\r\n"]
    assert kept.users["recorder"].denied(("SCRIPT", "LOAD", reach), ("EVALSHA", _sha(reach), "0")) == [
        True,
        True,
    ]
    keys.close()


def test_a_stranger_and_a_wrong_password_are_not_let_in(kept: Kept) -> None:
    stranger = StoreAttempts(kept.site.redis.port)

    assert all(
        stranger.denied(("GET", "er:site:rules"), ("SET", "a", "b"), ("INFO",), ("CONFIG", "GET", "*"))
    )
    for user, password in (
        ("default", ""),
        ("policy", "wrong"),
        ("policy", ""),
        ("nobody", "x"),
        ("admin", "admin"),
    ):
        assert stranger.ask(("AUTH", user, password))[0].startswith(b"-WRONGPASS"), user
    stranger.close()


async def test_every_verb_of_a_service_works_with_its_own_rights_alone(kept: Kept) -> None:
    def shown(user: str) -> dict[str, object]:
        here = kept.site.folder / user
        tls = TlsFiles(ca=here / "ca.pem", certificate=here / "certificate.pem", key=here / "key.pem")
        return {"login": kept.site.login(user), "tls": tls, "deadline_s": 5.0}

    url = kept.site.redis_url
    async with Store.connect(url, **shown("policy")) as store:  # type: ignore[arg-type]
        epoch = await store.take_lead("site", "r9", "me", 0, 5.0)
        assert epoch is not None
        assert await store.renew_lead("site", "r9", "me", epoch, 5.0)
        await store.give_up_lead("site", "r9", "me", epoch)
        await store.save_rules("site", 3, b"{}")
        assert await store.load_rules("site") == (3, b"{}")
        await store.save_state("site", "r9", {"a": b"1"})
        assert await store.load_state("site", "r9") == {"a": b"1"}
        with pytest.raises(StoreRefused):
            await store.load_fingerprint("site", "llama")
        with pytest.raises(StoreRefused):
            await store.save_fingerprint("site", "llama", 1, b"x")
        with pytest.raises(StoreRefused):
            await store.take_lead("other", "r9", "me", 0, 5.0)
    async with Store.connect(url, **shown("forecaster")) as store:  # type: ignore[arg-type]
        await store.save_fingerprint("site", "llama", 1, b"x")
        assert await store.load_fingerprint("site", "llama") == (1, b"x")
        assert await store.load_fingerprints("site") == {"llama": (1, b"x")}
        assert await store.forget_fingerprint("site", "llama", 1)
        await store.save_accuracy("site", 5, {"r1 llm": b"x"})
        assert await store.load_accuracies("site") == {"r1 llm": (5, b"x")}
        assert await store.sweep_accuracies("site", 6, 10) == 1
        assert await store.load_rules("site") == (3, b"{}")
        with pytest.raises(StoreRefused):
            await store.save_rules("site", 4, b"{}")
        with pytest.raises(StoreRefused):
            await store.take_lead("site", "r9", "me", 0, 5.0)


def _admins(kept: Kept) -> str:
    return kept.site.login("admin").password_file.read_text().strip()


def _sha(script: str) -> str:
    import hashlib

    return hashlib.sha1(script.encode()).hexdigest()
