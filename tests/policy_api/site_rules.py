"""A small site's rules, and what a coordinator of it would answer."""

import copy
import json
from typing import Any

from easyrider.messages import Answer, Ask
from easyrider.messages.asks import REFUSED
from easyrider.tree import Rules
from easyrider.tree_reader import digest, dump, read_document

TREE, REGION = "site", "r1"
DOCUMENT: dict[str, Any] = {
    "tree": {"id": TREE, "version": 1},
    "domains": [
        {"id": "feed", "kind": "feed", "rating_w": 20000.0},
        {"id": "pdu", "kind": "pdu", "parent": "feed", "rating_w": 9000.0, "target_share": 0.9},
    ],
    "classes": {
        "box": {
            "overhead_w": 200.0,
            "overhead_slope": 1.2,
            "gpu_min_w": 200,
            "gpu_max_w": 700,
            "gpu_count": 4,
        }
    },
    "nodes": [
        {"id": "n1", "domain": "pdu", "class": "box", "fallback_w_per_gpu": 250},
        {"id": "n2", "domain": "pdu", "class": "box", "fallback_w_per_gpu": 250},
    ],
    "modes": [{"selector": {"rack": ["pdu"]}, "mode": "enforce", "reason": "proved", "since": ""}],
}
SAVED_JOBS = [
    {
        "job": f"job-{name}",
        "tenant": f"team-{name}",
        "queue": "batch",
        "priority_class": "",
        "mode": "enforce",
        "gpus": [f"GPU-{node}-{k}" for k in range(4)],
        "gpu_count": 4,
        "limit_w": 520.0,
        "demand_w": 650.0,
        "slowdown": 0.08,
        "reason": "target:pdu",
        "stalled": False,
        "waiting_w": 0.0,
    }
    for name, node in (("a", "n1"), ("b", "n2"))
]
STATE: dict[str, Any] = {
    "domains": [
        {
            "domain": "feed",
            "hard_limit_w": 20000.0,
            "target_w": 16000.0,
            "unmanaged_w": 0.0,
            "observed_w": 6000.0,
        },
        {
            "domain": "pdu",
            "hard_limit_w": 9000.0,
            "target_w": 8100.0,
            "unmanaged_w": 0.0,
            "observed_w": 6000.0,
        },
    ],
    "boards": [
        {
            "uuid": f"GPU-{node}-{k}",
            "node": node,
            "min_w": 200.0,
            "max_w": 700.0,
            "settable": True,
            "limit_w": 520.0,
        }
        for node in ("n1", "n2")
        for k in range(4)
    ],
    "jobs": SAVED_JOBS,
}
_WAY = {"act": "raise_target", "place": "pdu", "by_w": 640.0, "says": "the target of this domain"}
_BINDS = {"domain": "pdu", "limit": "target", "price": 0.001, "rise_w": 640.0}
_COST = {
    "slowdown": 0.08,
    "lost_boards": 0.32,
    "taken_board_w": 520.0,
    "taken_wall_w": 624.0,
    "speed_per_board_w": 0.0006,
}
_JOBS = {job["job"]: {**job, "binds": [_BINDS], "cost": _COST, "frees": [_WAY]} for job in SAVED_JOBS}


def _board(uuid: str, job: str | None) -> dict[str, Any]:
    return {
        "gpu": uuid,
        "node": uuid.split("-")[1],
        "domains": ["pdu", "feed"],
        "mode": "enforce",
        "reason": "target:pdu" if job else "idle",
        "waiting_for": "",
        "frees": [_WAY] if job else [],
        "job": None if job is None else _JOBS[job],
    }


EXPLAINED: dict[tuple[str, str], dict[str, Any]] = {
    **{("explain_job", name): job for name, job in _JOBS.items()},
    ("explain_gpu", "GPU-n1-0"): _board("GPU-n1-0", "job-a"),
    ("explain_gpu", "GPU-n2-0"): _board("GPU-n2-0", "job-b"),
    ("explain_gpu", "GPU-n2-9"): _board("GPU-n2-9", None),
    ("explain_domain", "pdu"): {"domain": "pdu", "target_w": 8100.0, "binds": _BINDS, "frees": [_WAY]},
}

_OFFSETS = [
    {"job": "job-a", "period_s": 6.0, "offset_s": 0.0, "checkpoint_s": 3.0},
    {"job": "job-b", "period_s": 6.0, "offset_s": 3.0, "checkpoint_s": 6.0},
]
_GROUP = {
    "jobs": _OFFSETS,
    "peak_w": 1000.0,
    "peak_with_offsets_w": 600.0,
    "avoided_w": 400.0,
    "worst_w": 1000.0,
    "holds_s": None,
    "says": "",
}
ADVICE: dict[str, dict[str, Any]] = {
    "trust": {
        "region": "local",
        "version": 1,
        "gates": {"shadow_days": 7.0},
        "scopes": [
            {
                "scope": "rack=pdu",
                "selector": {"rack": ["pdu"]},
                "declared": "shadow",
                "mode": "shadow",
                "gpus": 16,
                "taken_back": None,
                "next": "pilot",
                "met": False,
                "checks": [
                    {"name": "shadow_days", "seen": 3.0, "wanted": 7.0, "met": False},
                    {"name": "false_cap_ratio", "seen": None, "wanted": 0.05, "met": True},
                ],
                "stages": {
                    "shadow": {
                        "days": 3.0,
                        "trusted_ratio": None,
                        "job_hours": 140.0,
                        "capped_job_hours": 0.0,
                        "false_cap_ratio": None,
                        "peaks": 2,
                        "missed_peaks": 0,
                        "lead_s": 12.0,
                        "foretold_slowdown": 0.02,
                        "compared_job_hours": 0.0,
                        "happened_slowdown": None,
                        "slowdown_error": None,
                    }
                },
            }
        ],
    },
    "advice_offsets": {
        "domains": [
            {
                "domain": "pdu",
                "binds": True,
                "used_share": 0.99,
                "avoided_w": 400.0,
                "groups": [_GROUP],
                "left_out": [],
                "left_out_count": 0,
                "says": "",
            }
        ],
        "says": "",
    },
    "advice_cooling": {
        "nodes": [{"node": "a", "boards": 2, "hottest_c": 88.0, "to": ["b"]}],
        "left_out": 0,
        "says": "",
    },
    "advice_fragmentation": {
        "peak_w": 700.0,
        "largest": 2,
        "in_sum": 3,
        "index": 1 / 3,
        "branches": [{"branch": "pdu", "idle": 4, "gpus": 2, "binds": "target:pdu"}],
        "left_out": 0,
        "plan": [],
        "says": "",
    },
}


def document(**other: Any) -> dict[str, Any]:
    """The rules with sections replaced."""
    return copy.deepcopy(DOCUMENT) | other


class Leader:
    """Answers as the leader of a scope does; adopts whatever rules it is shown, unless told to refuse."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.refuses = ""
        self.version = 0
        self.keeps: Rules | None = None  # what it puts in the store's place, once
        self.asked: list[Ask] = []

    async def answer(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        body: Any = {}
        if ask.what == "rules":
            found = await self.store.load_rules(TREE)
            if self.refuses:
                return self._say(
                    ask, ok=False, reason=f"{REFUSED}, version {self.version} stays: {self.refuses}"
                )
            if self.keeps is not None:
                found, self.keeps = (self.keeps.version, dump(self.keeps)), None
                await self.store.save_rules(TREE, *found)
            if found is not None:
                self.version = found[0]
                body = {"sha256": digest(dump(read_document(json.loads(found[1]), "the store")))}
        elif ask.what == "free":
            if ask.name == "n2":
                return self._say(ask, ok=False, reason="n2 is here and speaks: nothing is booked for it.")
        elif ask.what == "state" and ask.name:
            if ask.name not in ("n1", "n2"):
                return self._say(ask, ok=False, reason=f"{ask.name!r} is no node of these rules")
            body = STATE | {"boards": [row for row in STATE["boards"] if row["node"] == ask.name]}
        elif ask.what.startswith("explain_"):
            body = EXPLAINED.get((ask.what, ask.name))
            if body is None:
                return self._say(ask, ok=False, reason=f"{ask.name!r} is not known here")
        elif ask.what in ADVICE:
            body = ADVICE[ask.what]
        else:
            body = STATE if ask.what == "state" else {"jobs": SAVED_JOBS}
        return self._say(ask, body=json.dumps(body).encode())

    def _say(self, ask: Ask, *, ok: bool = True, reason: str = "", body: bytes = b"") -> Answer:
        return Answer(
            tree=TREE,
            region=ask.region,
            ok=ok,
            reason=reason,
            epoch=3,
            version=self.version,
            t_ns=1,
            body=body,
        )
