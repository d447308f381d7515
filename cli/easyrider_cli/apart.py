"""Options of which one would be passed over beside the other: said together they are refused."""

from easyrider.errors import EasyRiderError


class NotTogether(EasyRiderError):
    """Two options name two ways; nothing was done."""

    def __init__(self, one: str, other: str) -> None:
        self.one, self.other = one, other
        super().__init__(f"{one} and {other} go two ways: name one of them; nothing was done")


class Without(EasyRiderError):
    """An option says nothing without another; nothing was done."""

    def __init__(self, one: str, other: str) -> None:
        self.one, self.other = one, other
        super().__init__(f"{one} says nothing without {other}; nothing was done")


def apart(one: tuple[str, object], **others: object) -> None:
    """Nothing where at most one way was named: `others` by their options, dashes as `_`. Raises `NotTogether`.

    What is None, empty or False was not said.
    """
    name, said = one
    for other, value in others.items():
        if _said(said) and _said(value):
            raise NotTogether(name, f"--{other.strip('_').replace('_', '-')}")


def beside(one: tuple[str, object], other: tuple[str, object]) -> None:
    """Nothing where `one` was not said, or `other` was too. Raises `Without`."""
    if _said(one[1]) and not _said(other[1]):
        raise Without(one[0], other[0])


def _said(value: object) -> bool:
    return value is not None and value is not False and value not in ("", [], ())
