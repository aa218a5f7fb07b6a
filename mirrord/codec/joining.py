"""PURE: does Markdown added after a block continue it, as items of its list or rows of its table?"""

from dataclasses import dataclass
from itertools import pairwise

from markdown_it.token import Token

from mirrord.codec.dialect import parse_blocks

_LISTS = ("bullet_list_open", "ordered_list_open")
_TABLE = "table_open"


@dataclass(frozen=True, slots=True)
class _Block:
    """A top-level block. parts: the number of a list's items or a table's rows. is_tight: of a list."""

    kind: str
    parts: int
    is_tight: bool


def is_continued_by(base: str, new: str) -> bool:
    """Whether *new*, on the line directly after *base*, continues its last block and leaves a list tight."""
    before, added, both = _read_blocks(base), _read_blocks(new), _read_blocks(f"{base}\n{new}")
    if not before or len(before) != len(both) or len(added) != 1:
        return False
    last, joined = before[-1], both[-1]
    if last.kind in _LISTS:
        is_more = added[0].kind == joined.kind == last.kind and joined.parts == last.parts + added[0].parts
        return is_more and last.is_tight and joined.is_tight
    if last.kind == _TABLE:
        rows = new.splitlines()
        is_row = added[0].kind == "paragraph_open" and all("|" in row for row in rows)
        return is_row and joined.kind == _TABLE and joined.parts == last.parts + len(rows)
    return False


def _read_blocks(text: str) -> list[_Block]:
    tokens = parse_blocks(text)
    starts = [number for number, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    return [_read_block(tokens[start:end]) for start, end in pairwise([*starts, len(tokens)])]


def _read_block(tokens: list[Token]) -> _Block:
    kind = tokens[0].type
    part = "tr_open" if kind == _TABLE else "list_item_open"
    parts = sum(token.type == part and token.level <= 2 for token in tokens)
    own_paragraphs = [token for token in tokens if token.type == "paragraph_open" and token.level == 2]
    return _Block(kind, parts, is_tight=all(token.hidden for token in own_paragraphs))
