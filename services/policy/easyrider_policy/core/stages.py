"""How far each scope has come: what was seen of it in its present mode, selector by selector, and what took it back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Final, Literal

from easyrider.tree import MODES, SELECTOR_KEYS, Mode, ModeRule

NONE: Final = "(no rule)"
"""The scope of boards that no rule names: they are in `observe`."""
TakenBack = Literal["slowdown", "forecast"]


@dataclass(slots=True, kw_only=True)
class Stage:
    """What was seen of one scope while it was in one mode. Seconds of jobs count each job."""

    watched_s: float = 0.0  # its boards were read and planned for
    trusted_s: float = 0.0  # of these, forecasts were trusted
    job_s: float = 0.0
    foretold: float = 0.0  # slowdown by its curve under that limit, times these seconds
    capped_s: float = 0.0  # of these, the limit would have slowed the job
    false_s: float = 0.0  # of these, no domain above was near its target
    peaks: int = 0  # excesses of domains above its jobs
    missed: int = 0  # of these, the limits would not have kept
    leads: int = 0  # of these, a cap was binding before
    lead_s: float = 0.0  # sum over these
    compared_s: float = 0.0  # seconds of jobs whose slowdown is known
    happened: float = 0.0  # slowdown times these seconds
    error: float = 0.0  # distance between both, times these seconds

    def add(self, **more: float) -> None:
        """So much more of these figures. One that is not known is left out: it would take all of them with it."""
        for name, amount in more.items():
            if isfinite(amount):
                setattr(self, name, getattr(self, name) + amount)


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A scope that was taken back to `mode`, by its cause, until its gate is met again or passed over."""

    scope: str
    mode: Mode
    cause: TakenBack
    detail: str
    version: int  # of the rules it happened under


@dataclass(slots=True, kw_only=True)
class Scope:
    """One selector: the mode that it is in, and what was seen in each since it was last below it."""

    mode: Mode
    stages: dict[Mode, Stage] = field(default_factory=dict)

    def now(self) -> Stage:
        """Of the present mode."""
        return self.stages.setdefault(self.mode, Stage())

    def moved(self, mode: Mode) -> None:
        """A mode is begun anew; one that was left downwards counts for nothing any more."""
        if mode == self.mode:
            return
        first = min(MODES.index(mode), MODES.index(self.mode) + 1)
        self.stages = {name: stage for name, stage in self.stages.items() if MODES.index(name) < first}
        self.mode = mode


@dataclass(slots=True, kw_only=True)
class Book:
    """Every scope of one coordinator: what is kept over a restart."""

    scopes: dict[str, Scope] = field(default_factory=dict)
    returned: dict[str, Returned] = field(default_factory=dict)

    def follow(self, modes: Mapping[str, Mode]) -> None:
        """These scopes have these modes now; others are gone, with all that was seen of them."""
        self.scopes = {name: scope for name, scope in self.scopes.items() if name in modes}
        self.returned = {name: one for name, one in self.returned.items() if name in modes}
        for name, mode in modes.items():
            self.scopes.setdefault(name, Scope(mode=mode)).moved(mode)

    def modes(self, rules: Sequence[ModeRule]) -> dict[str, Mode]:
        """The mode of each scope by these rules, less what was taken back."""
        told = {scope_of(rule.selector): rule.mode for rule in rules} | {NONE: MODES[0]}
        return {name: self.lowered(name, mode) for name, mode in told.items()}

    def lowered(self, name: str, mode: Mode) -> Mode:
        """The mode of one scope, less what was taken back."""
        back = self.returned.get(name)
        return mode if back is None else least(mode, back.mode)

    def effective(self, rules: Sequence[ModeRule]) -> tuple[ModeRule, ...]:
        """The same rules, less what was taken back."""
        found = ((rule, self.lowered(scope_of(rule.selector), rule.mode)) for rule in rules)
        return tuple(rule if mode == rule.mode else replace(rule, mode=mode) for rule, mode in found)

    def take_back(self, back: Returned) -> bool:
        """Whether that is news: it is in force from now on."""
        if back.scope in self.returned:
            return False
        self.returned[back.scope] = back
        return True


def scope_of(selector: Mapping[str, Sequence[str]]) -> str:
    """A selector in one spelling: values are alternatives, so their order says nothing."""
    told = (f"{key}={','.join(sorted(set(selector[key])))}" for key in SELECTOR_KEYS if key in selector)
    return " ".join(told) or "(all)"


def scopes_of(rules: Iterable[ModeRule]) -> list[str]:
    """One a rule, and last the one of boards that none names: row -1."""
    return [*(scope_of(rule.selector) for rule in rules), NONE]


def least(one: Mode, other: Mode) -> Mode:
    """The less active of two modes."""
    return MODES[min(MODES.index(one), MODES.index(other))]
