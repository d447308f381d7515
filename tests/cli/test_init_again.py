"""`easyrider init` on what is there: certificates renewed, nodes added, regions told apart; keys in use stay."""

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from init_rules import RULES, everything, site_with_rules, write_rules
from installed_site import settings, write_site

from easyrider import certificates, store_acl
from easyrider.nats_config import public_nkey
from easyrider_cli.init_material import AuthorityEnded
from easyrider_cli.init_site import BadSite


@pytest.fixture
def with_rules(tmp_path: Path) -> Path:
    return site_with_rules(tmp_path)


def test_rotation_renews_every_certificate_and_keeps_everything_else(with_rules: Path) -> None:
    before = everything(with_rules)

    write_site(with_rules, rotate=True, nodes=None)

    after = everything(with_rules)
    changed = {name for name in after if after[name] != before.get(name)}
    assert set(after) == set(before)
    wanted = {
        name for name in before if name.endswith(("certificate.pem", "key.pem", "server.pem", "server.key"))
    }
    assert changed == wanted
    assert not [name for name in changed if name.startswith("authority")]


def test_rotation_takes_no_nodes_and_no_expired_authority(
    with_rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(with_rules)

    with pytest.raises(BadSite, match="--add"):
        write_site(with_rules, rotate=True, nodes="n9")
    monkeypatch.setattr(certificates, "today", lambda: datetime.now(UTC) + timedelta(days=4000))
    with pytest.raises(AuthorityEnded):
        write_site(with_rules, rotate=True, nodes=None)

    assert everything(with_rules) == before


def keys_of(folder: Path, user: str) -> list[str]:
    """The public keys by which the bus knows a user."""
    return re.findall(rf"nkey: (\w+)  # {user}$", (folder / "nats" / "nats.conf").read_text(), re.M)


def passwords_of(folder: Path, user: str) -> list[str]:
    """The hashes of the passwords by which the store knows a user."""
    (line,) = re.findall(rf"^user {user} on (.*)$", (folder / "redis" / "users.acl").read_text(), re.M)
    return re.findall(r"#(\w+)", line)


def test_keys_are_renewed_and_the_former_ones_open_until_they_are_retired(with_rules: Path) -> None:
    before = everything(with_rules)
    users = sorted(name.partition("/")[0] for name in before if name.endswith(".nk"))
    known = {user: keys_of(with_rules, user) for user in users}
    opened = {user: passwords_of(with_rules, user) for user in ("policy", "api", "admin")}

    write_site(with_rules, rotate_seeds=True, nodes=None)

    between = everything(with_rules)
    changed = {name for name in between if between[name] != before.get(name)}
    assert changed == {
        "former.json", "nats/nats.conf", "redis/users.acl",
        *(name for name in before if name.endswith((".nk", "store.password"))),
    }  # fmt: skip
    for user in users:
        new, former = keys_of(with_rules, user)
        assert new == public_nkey(with_rules / user / f"{user}.nk")
        assert [former] == known[user]
    for user, (was,) in opened.items():
        secret = (with_rules / user / "store.password").read_text().strip()
        assert passwords_of(with_rules, user) == [hashlib.sha256(secret.encode()).hexdigest(), was]

    with pytest.raises(BadSite, match="being renewed already"):
        write_site(with_rules, rotate_seeds=True, nodes=None)
    write_site(with_rules, add=True, nodes=None)  # what is brought in line meanwhile shuts nobody out
    assert all(len(keys_of(with_rules, user)) == 2 for user in users)

    write_site(with_rules, retire_seeds=True, nodes=None)

    for user in users:
        assert keys_of(with_rules, user) == [public_nkey(with_rules / user / f"{user}.nk")]
    assert all(len(passwords_of(with_rules, user)) == 1 for user in opened)
    assert not (with_rules / "former.json").exists()
    with pytest.raises(BadSite, match="no former keys"):
        write_site(with_rules, retire_seeds=True, nodes=None)


def test_a_region_with_a_bus_of_its_own_moves_over_with_its_link(tmp_path: Path) -> None:
    rules = json.loads(json.dumps(RULES))
    rules["domains"].append(
        {"id": "hall", "kind": "pdu", "parent": "pdu", "rating_w": 20000, "unmanaged_max_w": 0,
         "curve": rules["domains"][0]["curve"]}
    )  # fmt: skip
    rules["nodes"][1]["domain"] = "hall"
    rules["regions"] = [
        {"id": "top"},
        {"id": "east", "parent": "top", "domain": "hall", "guaranteed_w": 9000},
    ]
    told = {
        "nodes": None,
        "rules_file": write_rules(tmp_path, rules),
        "tree": None,
        "buses": ["east=bus.east"],
    }
    folder = write_site(tmp_path / "site", **told)
    seed, (linked,) = (folder / "nats-east" / "link-east.nk"), keys_of(folder, "link-east")

    write_site(folder, rotate_seeds=True, nodes=None)

    assert keys_of(folder, "link-east") == [public_nkey(seed), linked]
    assert seed.read_text().strip() in (folder / "nats-east" / "link.conf").read_text()
    east = (folder / "nats-east" / "nats.conf").read_text()
    assert len(re.findall(r"# actuator-a2$", east, re.M)) == 2


def test_keys_that_were_being_renewed_when_the_machine_stopped_shut_nobody_out(
    with_rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = keys_of(with_rules, "policy")

    def stopped(*_: object) -> None:
        raise OSError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(store_acl, "renew_password", stopped)
        with pytest.raises(OSError, match="stopped"):
            write_site(with_rules, rotate_seeds=True, nodes=None)
    write_site(with_rules, add=True, nodes=None)

    assert keys_of(with_rules, "policy")[1:] == known
    assert len(passwords_of(with_rules, "policy")) == 2


def test_one_thing_is_renewed_at_a_time(with_rules: Path) -> None:
    before = everything(with_rules)

    with pytest.raises(BadSite, match="one at a time"):
        write_site(with_rules, rotate=True, rotate_seeds=True, nodes=None)

    assert everything(with_rules) == before


def test_a_node_more_gets_its_keys_and_those_of_the_others_stay(with_rules: Path) -> None:
    more = json.loads(json.dumps(RULES))
    more["nodes"].append({"id": "a3", "domain": "pdu", "class": "h", "fallback_w_per_gpu": 220})
    more["nodes"][0]["fallback_w_per_gpu"] = 260
    rules_file = write_rules(with_rules.parent, more)
    before = everything(with_rules)

    write_site(with_rules, add=True, nodes=None, rules_file=rules_file)

    after = everything(with_rules)
    kept = {
        n for n in before if n.endswith((".nk", ".password", ".pem", ".key", ".token", "first-token.json"))
    }
    assert {n for n in kept if before[n] != after[n]} == set()
    assert {
        "telemetry-a3/telemetry-a3.nk",
        "actuator-a3/certificate.pem",
        "guardian-a3/guardian-a3.env",
    } <= set(after)
    assert b"telemetry-a3" in after["nats/nats.conf"]
    assert b"FALLBACK_W=260" in after["guardian-a1/guardian-a1.env"]


def test_a_node_that_is_no_longer_named_keeps_its_place_on_the_bus_until_its_removal_is_said(
    tmp_path: Path,
) -> None:
    folder = write_site(tmp_path / "site", nodes="n1,n2")
    before = everything(folder)

    with pytest.raises(BadSite, match=r"n2 .*--remove-nodes") as caught:
        write_site(folder, add=True, nodes="n1")

    assert "n1 " not in str(caught.value)
    assert everything(folder) == before
    write_site(folder, add=True, remove_nodes=True, nodes="n1,n3")
    users = (folder / "nats" / "nats.conf").read_text()
    assert "telemetry-n2" not in users
    assert "telemetry-n1" in users
    assert "telemetry-n3" in users


def test_removal_of_nodes_is_said_with_what_they_are_removed_from(tmp_path: Path) -> None:
    with pytest.raises(BadSite, match="--add"):
        write_site(tmp_path / "site", remove_nodes=True)

    assert list(tmp_path.iterdir()) == []


def test_each_region_has_a_coordinator_of_its_own_which_touches_its_own_keys_alone(tmp_path: Path) -> None:
    several = json.loads(json.dumps(RULES))
    site_domain = json.loads(json.dumps(several["domains"][0])) | {
        "id": "site",
        "kind": "site",
        "rating_w": 90000,
    }
    several["domains"] = [site_domain, several["domains"][0] | {"parent": "site"}]
    several["regions"] = [
        {"id": "top"},
        {"id": "row1", "parent": "top", "domain": "pdu", "guaranteed_w": 9000},
    ]
    rules_file = write_rules(tmp_path, several)

    folder = write_site(tmp_path / "site", nodes=None, rules_file=rules_file, tree=None)

    acl = (folder / "redis" / "users.acl").read_text().splitlines()
    [row] = [line for line in acl if line.startswith("user policy-row1 ")]
    assert "~er:hall:leader:row1 " in row
    assert ":top" not in row
    assert settings(folder / "policy-top" / "policy-top.env")["EASYRIDER_POLICY_REGION"] == "top"
    assert settings(folder / "actuator-a1" / "actuator-a1.env")["EASYRIDER_ACTUATOR_REGION"] == "row1"
