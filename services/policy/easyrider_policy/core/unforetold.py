"""What a release comes to cannot be said: whoever asks is told why, and nothing is taken for allowed."""

from easyrider.errors import EasyRiderError


class Unforetold(EasyRiderError):
    """Something that it rests on is unknown. `why`: what, and what to do about it; nothing was changed."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)
