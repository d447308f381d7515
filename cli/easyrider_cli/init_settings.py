"""The settings of every service as lines of its own env file, for compose, systemd and a shell alike."""

from pathlib import PurePosixPath

from easyrider.store_acl import STORE_ROLES
from easyrider_cli.init_site import GUARDIAN, Site, SiteUser

PREFIXES = {
    "telemetry": "EASYRIDER_TELEMETRY_",
    "actuator": "EASYRIDER_ACTUATOR_",
    GUARDIAN: "EASYRIDER_GUARDIAN_",
    "policy": "EASYRIDER_POLICY_",
    "forecaster": "EASYRIDER_FORECASTER_",
    "infra-bridge": "EASYRIDER_INFRA_BRIDGE_",
    "api": "EASYRIDER_POLICY_API_",
    "recorder": "EASYRIDER_RECORDER_",
}
"""What the settings of each service begin with that has some."""
SOCKET = "/run/easyrider/guardian.sock"
RULES, METERS, PASSWORD, FIRST_TOKEN = "rules.yaml", "meters.yaml", "store.password", "first-token.json"


def lines(site: Site, user: SiteUser, *, has_rules: bool) -> str | None:
    """The env file of one service; None for a user who is no service of ours with settings."""
    prefix = PREFIXES.get(user.role)
    if prefix is None:
        return None
    here = PurePosixPath(site.at) / user.name
    values: dict[str, object] = {"region": user.region, "tree": site.tree}
    if user.node is not None:
        values["node"] = user.node
    values |= _own(site, user, here, has_rules)
    if user.role != GUARDIAN:
        values |= bus(site, user)
    if user.role in STORE_ROLES:
        values |= store(site, user.name)
    told = [f"{prefix}{name.upper()}={value}" for name, value in values.items()]
    return "\n".join([f"# written by easyrider init for {user.name}; no secret stands here", *told]) + "\n"


def bus(site: Site, user: SiteUser) -> dict[str, object]:
    """How a user reaches the bus."""
    here = PurePosixPath(site.at) / user.name
    shown = {"certificate_file": here / "certificate.pem", "key_file": here / "key.pem"}
    return {
        "nats_url": f"tls://{in_address(site.bus_host(user.region))}:{site.nats_port}",
        "seed_file": here / f"{user.name}.nk",
        "ca_file": here / "ca.pem",
        **(shown if site.client_certificates else {}),
    }


def store(site: Site, name: str) -> dict[str, object]:
    """How a user reaches the store."""
    return {
        "redis_url": f"rediss://{in_address(site.redis_host)}:{site.redis_port}/0",
        "redis_user": name,
        "redis_password_file": PurePosixPath(site.at) / name / PASSWORD,
    }


def _own(site: Site, user: SiteUser, here: PurePosixPath, has_rules: bool) -> dict[str, object]:
    rules: dict[str, object] = {"tree_file": here / RULES} if has_rules else {}
    match user.role:
        case "policy":
            return {"state_dir": f"{site.data}/{user.name}", **rules}
        case "forecaster":
            return rules
        case "infra-bridge":
            return {"meters_file": here / METERS}
        case "api":
            return {
                "address": f"{in_address(site.listen)}:{site.api_port}",
                "server_certificate_file": here / "server.pem",
                "server_key_file": here / "server.key",
                "bootstrap_file": here / FIRST_TOKEN,
                "state_dir": f"{site.data}/policy-api",
            }
        case "recorder":
            return {"folder": f"{site.data}/recorder"}
        case "actuator":
            return {"socket_path": SOCKET}
        case "guardian":
            return _guardian(site, user)
        case _:
            return {}


def _guardian(site: Site, user: SiteUser) -> dict[str, object]:
    """What the rules say too is taken from them: two places that must be equal are one place."""
    fallback_w = site.fallback_w.get(user.node or "")
    return {
        "state_dir": "/var/lib/easyrider-guardian",
        "socket_path": SOCKET,
        "peer_uid": site.peer_uid,
        "dead_man_s": f"{site.dead_man_s:g}",
        "second_stage_s": f"{site.second_stage_s:g}",
        **({} if fallback_w is None else {"fallback_w": f"{fallback_w:g}"}),
    }


def in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host
