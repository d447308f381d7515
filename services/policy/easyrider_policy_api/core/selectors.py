"""A selector as it comes over HTTP: names, or patterns, by key."""

from collections.abc import Iterable, Mapping

from easyrider.tree import SELECTOR_KEYS, Rules

MOST = 256
_GLOB = frozenset("*?[")


def faults(selector: Mapping[str, Iterable[str]], place: str) -> list[tuple[str, str]]:
    """Field and fault of everything that no selector may say."""
    found = []
    for key, values in selector.items():
        names = list(values)
        if key not in SELECTOR_KEYS:
            found.append((f"{place}.{key}", f"is no key here ({', '.join(SELECTOR_KEYS)})"))
        elif not names:
            found.append((f"{place}.{key}", "names nothing: leave the key out, or name something"))
        elif len(names) > MOST:
            found.append((f"{place}.{key}", f"names more than {MOST}"))
        elif any(not name or len(name) > MOST or not name.isprintable() for name in names):
            found.append(
                (f"{place}.{key}", f"holds a name that is empty, not printable, or longer than {MOST}")
            )
    return found


def unnamed(selector: Mapping[str, Iterable[str]], rules: Rules, place: str) -> list[tuple[str, str]]:
    """Field and fault of whole names that these rules do not know; patterns and names of jobs may come later."""
    known = {
        "node": {node.id for node in rules.nodes},
        "rack": {domain.id for domain in rules.domains},
        "class": set(rules.classes),
    }
    found = []
    for key, values in selector.items():
        lost = [name for name in values if key in known and not _GLOB & set(name) and name not in known[key]]
        if lost:
            found.append((f"{place}.{key}", f"names what these rules do not know: {_some(lost)}"))
    return found


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
