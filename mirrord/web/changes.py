"""Two texts beside each other for a person: lines, and in changed lines the words. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3  # equal lines around a change
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_LINES = 5000  # of a text that are compared; of longer ones the rest is shown as changed
_MOST_WORDS = 400  # of a line that are compared
_MOST_PAIRS = 4_000_000  # of words that are held against each other, in all lines; then lines are shown as changed


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line; changed: it is not in the other line."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a difference. mark: " ", "-" or "+". before, after: its number in either text; None: not there."""

    mark: str
    before: int | None
    after: int | None
    pieces: tuple[Piece, ...]


def hunks(before: str, after: str) -> list[list[Line]]:
    """What changed, each change with some lines around it; []: nothing did."""
    old, new, words = before.splitlines(), after.splitlines(), _Words()
    if len(old) > _MOST_LINES or len(new) > _MOST_LINES:
        return [list(_replaced(old, new, 0, 0, words))]
    matcher = SequenceMatcher(None, old, new)
    return [
        [line for code in group for line in _lines(old, new, *code, words)]
        for group in matcher.get_grouped_opcodes(CONTEXT)
    ]


def _lines(
    old: Sequence[str], new: Sequence[str], tag: str, start: int, end: int, begin: int, stop: int, words: "_Words"
) -> Iterator[Line]:
    if tag == "equal":
        for number, text in enumerate(old[start:end]):
            yield Line(" ", start + number + 1, begin + number + 1, (Piece(text, False),))
    else:
        yield from _replaced(old[start:end], new[begin:stop], start, begin, words)


def _replaced(old: Sequence[str], new: Sequence[str], start: int, begin: int, words: "_Words") -> Iterator[Line]:
    """Lines in pairs as far as there are pairs: those are shown word by word."""
    paired = [words.compared(one, other) for one, other in zip(old, new, strict=False)]
    for number, text in enumerate(old):
        pieces = paired[number][0] if number < len(paired) else (Piece(text, True),)
        yield Line("-", start + number + 1, None, pieces)
    for number, text in enumerate(new):
        pieces = paired[number][1] if number < len(paired) else (Piece(text, True),)
        yield Line("+", None, begin + number + 1, pieces)


@dataclass(slots=True)
class _Words:
    """Compares lines word by word, until that would take long: sync works in the same process."""

    left: int = _MOST_PAIRS

    def compared(self, old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """Both lines in pieces."""
        one, other = _WORDS.findall(old), _WORDS.findall(new)
        self.left -= len(one) * len(other)
        if self.left < 0 or max(len(one), len(other)) > _MOST_WORDS:
            return (Piece(old, True),), (Piece(new, True),)
        left, right = [], []
        for tag, start, end, begin, stop in SequenceMatcher(None, one, other, False).get_opcodes():
            left.append(Piece("".join(one[start:end]), tag != "equal"))
            right.append(Piece("".join(other[begin:stop]), tag != "equal"))
        return tuple(piece for piece in left if piece.text), tuple(piece for piece in right if piece.text)
