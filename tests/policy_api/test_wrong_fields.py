"""Wrong fields are told in words for people: no pattern, no name of a class, and no word twice."""

import re

import pytest
from inner_house import Inner

WRONG = [
    ("POST", "/holds", {"id": "!", "reason": 5, "x": 1}),
    ("POST", "/holds", {"domains": ["nope"]}),
    ("POST", "/tokens", {"name": "..", "role": "x"}),
    ("POST", "/tokens", {"name": "a", "role": "admin", "tenant": "t"}),
    ("POST", "/targets", {"id": "a b", "domain": "x"}),
    ("POST", "/estimate", {"gpu_count": 0}),
    ("PUT", "/modes", [{"mode": "x"}]),
    ("GET", "/fingerprints/zz", None),
    ("GET", "/audit?limit=x", None),
]


@pytest.mark.parametrize(("method", "path", "body"), WRONG, ids=lambda part: str(part)[:30])
async def test_what_is_wrong_is_told_in_words(api: Inner, method: str, path: str, body: object) -> None:
    answer = await api.ask(method, path, **({} if body is None else {"json": body}))

    told = answer.json()
    said = [told["detail"], *(f"{row['field']} {row['fault']}" for row in told["fields"])]
    assert answer.status_code == 422
    for line in said:
        assert not re.search(r"\^|\[0-9|Asked|[Ii]nput should|required|1 faults", line), line
        assert not re.search(r"\b(\w+) \1\b", line), line


async def test_a_form_is_told_by_what_it_may_hold(api: Inner) -> None:
    told = (await api.ask("POST", "/holds", json={"id": "!", "x": 1})).json()

    assert told["detail"] == "id is to be 1 to 64 letters, digits, _ and -; x is no field here"
