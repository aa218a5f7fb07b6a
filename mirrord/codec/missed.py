"""What is said where a page does not have what somebody asked of it."""

from collections.abc import Sequence

from mirrord.errors import UserError


class Missed(UserError):
    """
    The text does not have what an edit is about, or has it too often.

    found: how often; headings: those there are, where a heading was sought, else None.
    """

    def __init__(self, sentence: str, found: int, headings: Sequence[str] | None = None) -> None:
        super().__init__(sentence)
        self.found = found
        self.headings = headings
