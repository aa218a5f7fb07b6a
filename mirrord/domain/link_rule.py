"""Which renames and moves links follow: the rule of an operator, and who moved."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mirrord.domain.entry import FILE_ACTOR
from mirrord.errors import UserError

Mover = Mapping[str, Any]  # the author of a version, as page_revision.actor has it


class LinkRule(StrEnum):
    """
    Which renames and moves links follow.

    TOOLS: those made through rows, because tools that move files rewrite links themselves.
    """

    ALWAYS = "always"
    TOOLS = "tools"
    NEVER = "never"

    def follows(self, mover: Mover | None) -> bool:
        """Whether links follow what *mover* moved; None: not known, but no file, for those have an author."""
        return self is LinkRule.ALWAYS or (self is LinkRule.TOOLS and not is_file_author(mover))


def is_file_author(author: Mover | None) -> bool:
    """Whether a version of *author* came from a file."""
    if author is None:
        return False
    is_unknown = (author.get("kind"), author.get("name")) == (FILE_ACTOR.kind, FILE_ACTOR.name)
    return is_unknown or author.get("channel") == "file"


def parse_link_rule(text: str) -> LinkRule:
    """The rule from `links.rewrite` of mirrord.toml. Raises UserError."""
    try:
        return LinkRule(text)
    except ValueError:
        raise UserError(f"links.rewrite is {text!r}; there are {', '.join(LinkRule)}.") from None
