"""The error for a text or heading that a page does not have."""

from collections.abc import Sequence

from mirrord.errors import UserError


class EditTargetError(UserError):
    """
    The page does not have the target of an edit, or has it too often.

    occurrences: number of occurrences. headings: the page's headings if a heading was sought, else None.
    """

    def __init__(self, sentence: str, found: int, headings: Sequence[str] | None = None) -> None:
        super().__init__(sentence)
        self.occurrences = found
        self.headings = headings
