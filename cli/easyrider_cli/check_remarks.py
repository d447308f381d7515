"""What a rules document may say and probably does not mean: remarks, no faults."""

from collections.abc import Iterator

from easyrider.tree import Domain, Rules
from easyrider_policy.core.targets import ended, far_ahead
from easyrider_policy_api.core import selectors


def remarks(rules: Rules, now_s: float) -> list[str]:
    """Each as one sentence, of a document that can be kept; `now_s` is the time of day in Unix seconds."""
    return [*_larger_than_above(rules), *_modes_of_nothing(rules), *_mistyped_years(rules, now_s)]


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


def _above(domain: Domain) -> list[str]:
    if domain.feeds is not None:
        return [domain.feeds.A, domain.feeds.B]
    return [] if domain.parent is None else [domain.parent]
