"""What boxes of a wired site say of their boards' draw, handed to the intake as the bus does."""

import msgspec
from wired_box import REGION, at, mono_ns
from wired_site import Wired

from easyrider import subjects, wire
from easyrider.bus_port import Arrival
from easyrider.messages import NodeFrame
from easyrider_policy.intake import Intake

COUNTED = 1000
"""A counter below 128 is part of its mould: frames that count so low fit none."""


def site() -> Wired:
    """Both boxes have told of their boards, and counted their frames as far as counters of one width go."""
    wired = Wired()
    for box in wired.boxes.values():
        box.seq = COUNTED
        wired.desk.on_state(box.state(wired.now_s), at(subjects.state(REGION, box.name), wired.now_s))
    wired.picture.follow()
    return wired


def hear(intake: Intake, frame: NodeFrame, where: Arrival) -> None:
    """As the bus hands it over, but for the timer."""
    intake._waiting.append((where.subject.encode(), wire.encode(frame), where.mono_ns))


def repeating() -> tuple[Wired, Intake]:
    """Both boxes have said twice what they say."""
    wired = site()
    intake = Intake(wired.desk, lambda _: None)
    for _ in range(2):
        wired.clock.at_s += 0.1
        for name in "ab":
            say(wired, intake, name)
    wired.picture.gathering.take()
    return wired, intake


def say(
    wired: Wired, intake: Intake, name: str, draw_w: float = 600.0, limit_w: float = 700.0, **how: object
) -> None:
    """One node says this, and nobody else does; `late_s`: how long before now it was made; `how`: what is odd."""
    late_s, subject = float(how.pop("late_s", 0.0)), str(how.pop("on", name))  # type: ignore[arg-type]
    box = wired.boxes[name]
    box.draw_w, box.limit_w = [draw_w, draw_w], [limit_w, limit_w]
    frame = msgspec.structs.replace(box.frame(wired.now_s, mono_ns=mono_ns(wired.now_s - late_s)), **how)
    hear(intake, frame, at(subjects.frame(REGION, subject), wired.now_s))
    intake.take(wired.now_s)


def judged_alone(wired: Wired) -> list[str]:
    """Nodes whose frames the desk judges from now on, one name a frame."""
    judged: list[str] = []
    judge = wired.desk.on_frame

    def on_frame(frame: NodeFrame, where: Arrival) -> None:
        judged.append(frame.node)
        judge(frame, where)

    wired.desk.on_frame = on_frame  # type: ignore[method-assign]
    return judged
