"""Two texts side by side: changed lines, and the words within them. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT_LINES = 3  # equal lines around a change
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_LINES = 5000  # of a compared text; a longer one is shown as replaced
_MAX_WORDS = 400  # of a compared line
_MAX_WORD_PAIRS = 4_000_000  # compared in all lines; beyond that whole lines are shown as changed

_Opcode = tuple[str, int, int, int, int]  # of a SequenceMatcher: tag, start and end in each text


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line. changed: it is not in the other line."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a difference. mark: " ", "-" or "+". before, after: its number in each text; None: not in it."""

    mark: str
    before: int | None
    after: int | None
    pieces: tuple[Piece, ...]


def diff_hunks(before: str, after: str) -> list[list[Line]]:
    """The changes, each with CONTEXT lines around it; []: the texts are equal."""
    old, new, words = before.splitlines(), after.splitlines(), _Words()
    if len(old) > _MAX_LINES or len(new) > _MAX_LINES:
        return [list(_replaced_lines(old, new, 0, 0, words))]
    matcher = SequenceMatcher(None, old, new)
    return [
        [line for code in group for line in _lines_of(old, new, code, words)]
        for group in matcher.get_grouped_opcodes(CONTEXT_LINES)
    ]


def _lines_of(old: Sequence[str], new: Sequence[str], code: _Opcode, words: "_Words") -> Iterator[Line]:
    tag, old_start, old_end, new_start, new_end = code
    if tag == "equal":
        for number, text in enumerate(old[old_start:old_end]):
            yield Line(" ", old_start + number + 1, new_start + number + 1, (Piece(text, False),))
    else:
        yield from _replaced_lines(old[old_start:old_end], new[new_start:new_end], old_start, new_start, words)


def _replaced_lines(
    old: Sequence[str], new: Sequence[str], old_start: int, new_start: int, words: "_Words"
) -> Iterator[Line]:
    """Removed and added lines. Pairs of them are compared word by word."""
    paired = [words.compared(old_line, new_line) for old_line, new_line in zip(old, new, strict=False)]
    for number, text in enumerate(old):
        pieces = paired[number][0] if number < len(paired) else (Piece(text, True),)
        yield Line("-", old_start + number + 1, None, pieces)
    for number, text in enumerate(new):
        pieces = paired[number][1] if number < len(paired) else (Piece(text, True),)
        yield Line("+", None, new_start + number + 1, pieces)


@dataclass(slots=True)
class _Words:
    """Compares lines word by word within a limit: synchronization runs in the same process."""

    remaining_pairs: int = _MAX_WORD_PAIRS

    def compared(self, old: str, new: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
        """Both lines as pieces."""
        old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
        self.remaining_pairs -= len(old_words) * len(new_words)
        if self.remaining_pairs < 0 or max(len(old_words), len(new_words)) > _MAX_WORDS:
            return (Piece(old, True),), (Piece(new, True),)
        old_pieces, new_pieces = [], []
        for tag, old_start, old_end, new_start, new_end in SequenceMatcher(
            None, old_words, new_words, False
        ).get_opcodes():
            old_pieces.append(Piece("".join(old_words[old_start:old_end]), tag != "equal"))
            new_pieces.append(Piece("".join(new_words[new_start:new_end]), tag != "equal"))
        return tuple(piece for piece in old_pieces if piece.text), tuple(piece for piece in new_pieces if piece.text)
