"""What a rules document may say and probably does not mean: remarks, no faults."""

from collections.abc import Iterator

from easyrider.tree import Domain, PriorityClass, Rules
from easyrider_policy.core.targets import ended, far_ahead
from easyrider_policy_api.core import selectors


def remarks(rules: Rules, now_s: float) -> list[str]:
    """Each as one sentence, of a document that can be kept; `now_s` is the time of day in Unix seconds."""
    return [
        *_larger_than_above(rules),
        *_modes_of_nothing(rules),
        *_modes_that_differ(rules),
        *_unconfirmed(rules),
        *_mistyped_years(rules, now_s),
        *_targets_that_say_nothing(rules),
        *_no_normal_class(rules),
    ]


def _larger_than_above(rules: Rules) -> Iterator[str]:
    rating_w = {domain.id: domain.rating_w for domain in rules.domains}
    for domain in rules.domains:
        above = _above(domain)
        above_w = sum(rating_w[name] for name in above)
        if above and domain.rating_w > above_w:
            yield (
                f"domains[{domain.id}] is rated {domain.rating_w:g} W, above the {above_w:g} W of "
                f"{' and '.join(above)} above it: is that meant?"
            )


def _modes_of_nothing(rules: Rules) -> Iterator[str]:
    for index, rule in enumerate(rules.modes):
        for place, fault in selectors.unnamed(rule.selector, rules, f"modes[{index}].selector"):
            yield f"{place} {fault}; until they do, it matches nothing"


def _mistyped_years(rules: Rules, now_s: float) -> Iterator[str]:
    for target in ended(rules.targets, now_s):
        yield f"targets[{target.id}] ended at {target.ends} and says nothing any more; the API takes no such new one"
    for target in far_ahead(rules.targets, now_s):
        yield f"targets[{target.id}] begins at {target.begins}, in more than a year: is that meant?"


def _modes_that_differ(rules: Rules) -> Iterator[str]:
    """Two rules of one selector: the less active one counts, and one of them was not meant."""
    seen: dict[tuple[tuple[str, frozenset[str]], ...], int] = {}
    for index, rule in enumerate(rules.modes):
        key = tuple(sorted((name, frozenset(globs)) for name, globs in rule.selector.items()))
        first = seen.setdefault(key, index)
        if rules.modes[first].mode != rule.mode:
            yield (
                f"modes[{index}] says {rule.mode} of what modes[{first}] says {rules.modes[first].mode} of: the less "
                "active one counts"
            )


def _unconfirmed(rules: Rules) -> Iterator[str]:
    for domain in rules.domains:
        if domain.unconfirmed:
            yield (
                f"domains[{domain.id}].curve is the preset {domain.unconfirmed}, unverified: `enforce` below it will "
                "be refused until `confirmed_by` says who compared it with the device's data sheet"
            )


def _targets_that_say_nothing(rules: Rules) -> Iterator[str]:
    aim_w = {domain.id: domain.aim_w for domain in rules.domains}
    for target in rules.targets:
        if target.target_w >= aim_w[target.domain]:
            yield (
                f"targets[{target.id}] allows {target.target_w:g} W, not below the {aim_w[target.domain]:g} W that "
                f"{target.domain} aims at anyhow: it changes nothing"
            )


def _no_normal_class(rules: Rules) -> Iterator[str]:
    """Jobs that name no class are `normal`; one mistyped here is a class that nobody asks for."""
    if rules.priorities and "normal" not in rules.priorities:
        named = ", ".join(rules.priorities)
        yield (
            f"priorities names no class `normal` (it names {named}): jobs that name none of these take the defaults, "
            f"weight {PriorityClass().weight:g} and max_slowdown {PriorityClass().max_slowdown:g}"
        )


def _above(domain: Domain) -> list[str]:
    if domain.feeds is not None:
        return [domain.feeds.A, domain.feeds.B]
    return [] if domain.parent is None else [domain.parent]
