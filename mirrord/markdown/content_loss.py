"""The setting for tables of apps that Markdown lacks."""

from enum import Enum

from mirrord.errors import UserError


class ContentLoss(Enum):
    """
    What becomes of a table with blocks in its cells, or cells that span others.

    DEGRADE: a table of Markdown with line breaks. REFUSE: a problem, and the file stays. JSON: a fence with the table.
    """

    DEGRADE = "degrade"
    REFUSE = "refuse"
    JSON = "json"


def parse_content_loss(written: str) -> ContentLoss:
    """
    The rule that a setting names.

    Raises:
        UserError: it names none.
    """
    try:
        return ContentLoss(written)
    except ValueError:
        names = ", ".join(f'"{rule.value}"' for rule in ContentLoss)
        raise UserError(f"`markdown.content_loss` is one of {names}, not {written!r}.") from None
