"""All pages of a tree with their titles and names joined for fast searches."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from mirrord.mirror.card import PageSummary
from mirrord.mirror.layout import directory_of

if TYPE_CHECKING:
    from mirrord.domain.query import Term

_NAME_SEPARATOR = "\x1f"  # no phrase of a search spans two names


class PageIndex:
    """Pages by path, in this order; immutable, so that derived values are computed once."""

    def __init__(self, cards: Mapping[str, PageSummary]) -> None:
        self.summaries = cards

    @cached_property
    def readable(self) -> Sequence[PageSummary]:
        """The cards of files that may be text."""
        return [card for card in self.summaries.values() if card.is_text is not False]

    @cached_property
    def maybe_binary(self) -> Sequence[PageSummary]:
        """The cards of files that may not be text."""
        return [card for card in self.summaries.values() if not card.is_text]

    @cached_property
    def titles(self) -> "JoinedTexts":
        """The titles of the readable pages."""
        return JoinedTexts(card.title for card in self.readable)

    @cached_property
    def names(self) -> "JoinedTexts":
        """All names of the readable pages, tags included."""
        return JoinedTexts(map(_join_names, self.readable))


class JoinedTexts:
    """Texts joined into one: one search is fast where ten thousand would be slow."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [text.replace("\n", " ") for text in texts]
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._joined = "\n".join(lines)

    def indexes_of(self, term: "Term") -> set[int]:
        """The indexes of the texts that contain *term*, from 0."""
        return {bisect_right(self._starts, match.start()) - 1 for match in term.pattern.finditer(self._joined)}


def _join_names(card: PageSummary) -> str:
    return _NAME_SEPARATOR.join(
        (card.title, directory_of(card.path, card.kind).rpartition("/")[2], *card.tags, *card.aliases)
    )
