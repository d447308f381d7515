"""Who may say, hear and touch what, as tables for people: written into docs/security.md from the grants themselves."""

import re
import sys
from pathlib import Path

from easyrider import permissions, store_acl
from easyrider.permissions import ROLES, Place, User

_REGION, _NODE, _TREE = "REGION", "NODE", "TREE"
_MARKS = re.compile(r"<!-- (bus|store) -->\n.*?<!-- end -->", re.DOTALL)


def bus_table() -> str:
    """A row a role: what it publishes and what it subscribes to, beside its own inbox."""
    rows = ["| user | publishes | subscribes |", "|---|---|---|"]
    for role in ROLES:
        allowed = permissions.grants(User(role, role, "", Place(_REGION, _NODE)))
        inbox = f"_INBOX_{role}.>"
        cells = (_cell(allowed.publish, inbox), _cell(allowed.subscribe, inbox))
        rows.append(f"| {role} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows)


def store_table() -> str:
    """A row a role: keys and commands."""
    rows = ["| user | writes and reads | only reads | commands |", "|---|---|---|---|"]
    for role in store_acl.STORE_ROLES:
        allowed = store_acl.grants(role, _TREE)
        own = [command for command in allowed.commands if command not in store_acl.CONNECTS]
        rows.append(f"| {role} | {_cell(allowed.writes)} | {_cell(allowed.reads)} | {_cell(own)} |")
    rows.append(f"| {store_acl.ADMIN} | everything | | everything |")
    return "\n".join(rows)


def written_into(page: str) -> str:
    """The page with both tables between their marks."""
    tables = {"bus": bus_table, "store": store_table}
    return _MARKS.sub(lambda mark: f"<!-- {mark[1]} -->\n{tables[mark[1]]()}\n<!-- end -->", page)


def _cell(words: tuple[str, ...] | list[str], but: str = "") -> str:
    named = [re.sub(r"\b(REGION|NODE|TREE)\b", lambda m: f"<{m[1].lower()}>", w) for w in words if w != but]
    return " ".join(f"`{word.replace('|', ' ')}`" for word in named) or "-"


def main(arguments: list[str]) -> int:
    """Write them into the page."""
    page = Path(arguments[0]) if arguments else Path("docs/security.md")
    page.write_text(written_into(page.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
