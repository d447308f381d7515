"""A selector as it comes over HTTP: names, or patterns, by key."""

from collections.abc import Iterable, Mapping

from easyrider.tree import SELECTOR_KEYS

MOST = 256


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
