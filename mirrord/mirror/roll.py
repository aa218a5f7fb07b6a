"""Pages with what is looked through in all of them at once."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from mirrord.mirror.card import Card
from mirrord.mirror.layout import directory_of

if TYPE_CHECKING:
    from mirrord.domain.query import Term

_BETWEEN = "\x1f"  # names: no phrase goes across


class Roll:
    """Pages by their paths, in this order; never changes, so that what it says of them is worked out once."""

    def __init__(self, cards: Mapping[str, Card]) -> None:
        self.cards = cards

    @cached_property
    def readable(self) -> Sequence[Card]:
        """Those whose file may be text."""
        return [card for card in self.cards.values() if card.is_text is not False]

    @cached_property
    def doubtful(self) -> Sequence[Card]:
        """Those whose file may be no text."""
        return [card for card in self.cards.values() if not card.is_text]

    @cached_property
    def titles(self) -> "Lines":
        """The titles of the readable ones."""
        return Lines(card.title for card in self.readable)

    @cached_property
    def names(self) -> "Lines":
        """All that the readable ones are called, tags too."""
        return Lines(map(_names, self.readable))


class Lines:
    """Texts in one: one search of all is quick, where ten thousand would be slow."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [text.replace("\n", " ") for text in texts]
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._joined = "\n".join(lines)

    def holding(self, term: "Term") -> set[int]:
        """The numbers of the texts that hold *term*, from 0."""
        return {bisect_right(self._starts, found.start()) - 1 for found in term.pattern.finditer(self._joined)}


def _names(card: Card) -> str:
    return _BETWEEN.join((card.title, directory_of(card.path, card.kind).rpartition("/")[2], *card.tags, *card.aliases))
