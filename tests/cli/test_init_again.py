"""`easyrider init` on what is there: certificates renewed, nodes added, regions told apart; keys in use stay."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from init_rules import RULES, everything, site_with_rules, write_rules
from installed_site import settings, write_site

from easyrider import certificates
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
