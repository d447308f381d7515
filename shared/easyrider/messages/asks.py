"""What the admin API asks a coordinator, and what the leader of that scope answers."""

from typing import Literal

from easyrider.messages.base import Count, Message, Name

Question = Literal[
    "state",
    "jobs",
    "rules",
    "free",
    "free_region",
    "explain_gpu",
    "explain_job",
    "explain_domain",
    "advice_offsets",
    "advice_fragmentation",
    "advice_cooling",
    "trust",
]
"""`state`: everything live, for people and dry runs. `jobs`: every job, or the one named. `rules`: look at the
store now and say whether its newest version was adopted. `free`: the operator releases what is booked for a node.
`free_region`: the operator answers for a region right below that will not return. `explain_...`: which limit binds the
one named, what it costs, and what would free it. `advice_offsets`: start offsets that keep the peaks of jobs apart.
`advice_fragmentation`: the largest job that could start in each branch, and how one that is too large could.
`advice_cooling`: nodes with boards that heat slows, and cooler ones that could take their work. `trust`:
how far each scope has come on its way from `observe` to `enforce`, and what the next mode asks for."""

REFUSED = "refused"
"""What the reason begins with where rules were looked at and cannot be kept, so that waiting is in vain."""


class Ask(Message, tag="ask", frozen=True):
    """One question; `name` is the id of a job, node, region, GPU or domain where the question is about one.

    Of `advice_fragmentation` it is a JSON document with the `gpus` and `peak_w` of a job to be started, or empty.
    """

    tree: Name
    region: Name
    what: Question
    name: str = ""
    who: str = ""  # the token's name, for the journal


class Answer(Message, tag="answer", frozen=True):
    """The leader's answer; others stay silent. `body` is a JSON document, empty where `ok` is false."""

    tree: Name
    region: Name
    ok: bool
    reason: str  # empty where ok; else what happened and what to do
    epoch: Count
    version: Count  # of the rules in force
    t_ns: int
    body: bytes = b""
