"""Questions of the admin API, answered by the leader of the scope alone; who does not lead stays silent."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from easyrider import log, metrics
from easyrider.messages import Answer, Ask
from easyrider.messages.asks import REFUSED
from easyrider_policy.advice_answers import AdviceAnswers
from easyrider_policy.answers import Answers
from easyrider_policy.coordinator import Coordinator
from easyrider_policy.core.freeing import why_not
from easyrider_policy.dark_regions import DarkRegions
from easyrider_policy.explain_answers import ExplainAnswers
from easyrider_policy.room import LARGEST_BODY
from easyrider_policy.rulebook import Rulebook
from easyrider_policy.trust_answers import trust

_LOG = log.get("policy")
_ASKED = metrics.counter("policy_asked_total", "questions answered, by kind and outcome", ["what", "ok"])
LOOK_WITHIN_S = 1.0
"""What was adopted is in what nodes are told by the next look; an answer waits no longer for it."""
Note = Callable[[dict[str, object]], None]


class AskDesk:
    """One answer a question. `now_s` is monotonic, `t_ns` Unix; `note` journals a line."""

    def __init__(
        self,
        coordinator: Coordinator,
        rulebook: Rulebook,
        note: Note,
        now_s: Callable[[], float],
        t_ns: Callable[[], int],
        dark: DarkRegions,
    ) -> None:
        self._coordinator, self._rulebook, self._note = coordinator, rulebook, note
        self._dark = dark
        self._now_s, self._t_ns = now_s, t_ns
        self._answers = Answers(coordinator, now_s, t_ns)
        self._explained = ExplainAnswers(coordinator, now_s)
        self._advice = AdviceAnswers(coordinator, now_s)
        self._kinds: dict[str, Callable[[Ask], Awaitable[bytes | str]]] = {
            "state": self._state,
            "jobs": self._jobs,
            "rules": self._rules,
            "free": self._free,
            "free_region": self._free_region,
            "explain_gpu": self._explain,
            "explain_job": self._explain,
            "explain_domain": self._explain,
            "advice_offsets": self._offsets,
            "advice_fragmentation": self._fragmentation,
            "advice_cooling": self._cooling,
            "trust": self._trust,
        }

    async def answer(self, ask: Ask) -> Answer | None:
        """The answer; None where another leads, or the question is about another tree or scope."""
        picture = self._coordinator.picture
        if (ask.tree, ask.region) != (picture.rules.id, picture.region) or not self._leads():
            return None
        said = await self._kinds[ask.what](ask)
        if not self._leads():
            return None  # meanwhile: what was found may not be what is in force
        if isinstance(said, bytes) and len(said) > LARGEST_BODY:
            said = f"the answer has {len(said)} bytes, more than a message may: ask for one node or one job"
        ok = isinstance(said, bytes)
        _ASKED.labels(ask.what, str(ok).lower()).inc()
        return Answer(
            tree=picture.rules.id,
            region=picture.region,
            ok=ok,
            reason="" if isinstance(said, bytes) else said,
            epoch=max(0, picture.safety.lead.epoch),
            version=picture.rules.version,
            t_ns=self._t_ns(),
            body=said if isinstance(said, bytes) else b"",
        )

    def _leads(self) -> bool:
        return self._coordinator.picture.safety.may_publish(self._now_s())

    async def _state(self, ask: Ask) -> bytes | str:
        if ask.name and ask.name not in self._coordinator.picture.fleet.node_index:
            return f"{ask.name!r} is no node of these rules"
        return await self._answers.state(ask.name)

    async def _jobs(self, ask: Ask) -> bytes | str:
        return await self._answers.jobs(ask.name) or self._elsewhere(
            f"no job {ask.name!r} runs here, as far as the nodes have told"
        )

    async def _explain(self, ask: Ask) -> bytes | str:
        kind = ask.what.removeprefix("explain_")
        return self._explained.of(kind, ask.name) or self._elsewhere(f"no {kind} {ask.name!r} is known here")

    def _elsewhere(self, why: str) -> str:
        """The same, with the regions below, whose nodes and jobs this scope does not know."""
        regions = ", ".join(one.id for one in self._coordinator.picture.regions.borrowers)
        return f"{why}; regions {regions} have nodes and jobs of their own: ask them" if regions else why

    async def _offsets(self, _ask: Ask) -> bytes | str:
        return await self._advice.offsets()

    async def _cooling(self, _ask: Ask) -> bytes | str:
        return self._advice.cooling()

    async def _fragmentation(self, ask: Ask) -> bytes | str:
        return await self._advice.fragmentation(ask.name)

    async def _trust(self, _ask: Ask) -> bytes | str:
        return trust(self._coordinator.picture)

    async def _rules(self, _ask: Ask) -> bytes | str:
        judged = await self._rulebook.asked()
        if judged.faults:
            return f"{REFUSED}, version {judged.version} stays in force: " + "; ".join(judged.faults)
        if judged.silent:
            stays = f"version {judged.version} stays in force"
            return f"the store could not be read or agreed with, {stays}: {judged.silent}"
        if judged.adopted:
            await self._looked_again()
        told = {"version": judged.version, "adopted": judged.adopted, "sha256": judged.sha256}
        return msgspec.json.encode(told)

    async def _free(self, ask: Ask) -> bytes | str:
        safety, now_s = self._coordinator.picture.safety, self._now_s()
        if (why := why_not(safety, ask.name, now_s)) is not None:
            return why
        node = safety.fleet.node_index[ask.name]
        counted_w = float(safety.ledger.counted_w(now_s)[safety.fleet.gpus_of(node)].sum())
        safety.operator_released(node)
        self._note({"what": "node_freed", "node": ask.name, "counted_w": round(counted_w, 1), "who": ask.who})
        _LOG.warning(
            "an operator answers for a node that is dark: it counts nothing until it is heard",
            node=ask.name,
            counted_w=round(counted_w, 1),
            who=ask.who,
        )
        self._coordinator.urge("freed")
        return msgspec.json.encode({"node": ask.name, "freed_w": round(counted_w, 1)})

    async def _free_region(self, ask: Ask) -> bytes | str:
        freed = await self._dark.release(ask.name, ask.who)
        if isinstance(freed, str):
            return freed
        self._coordinator.urge("freed")
        return msgspec.json.encode({"region": ask.name, "freed_w": round(freed, 1)})

    async def _looked_again(self) -> None:
        before = self._coordinator.looked
        for _ in range(round(LOOK_WITHIN_S / 0.01)):
            if self._coordinator.looked is not before:
                return
            await asyncio.sleep(0.01)
