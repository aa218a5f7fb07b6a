"""Merging two edits of one page: SYNC 1.7, pure. Clean or not at all: never a conflict marker."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from merge3 import Merge3

from mirrord.codec.frontmatter import REMOVED, Json, Parts, Removed, same, split, values, with_keys
from mirrord.codec.segments import regions
from mirrord.codec.text import lines, newline, unix
from mirrord.errors import Damaged

_ENDING = re.compile(r"\r\n|\n|\r")
_TOKEN = re.compile(r"\s+|\S+")
_LITERAL = frozenset(
    ["fence", "code_block", "table_open", "html_block", "math_block", "comment", "definition", "opaque"]
)

Values = Mapping[str, Json]


class _Clash(NamedTuple):
    """Where both sides changed the base."""

    base: slice
    file: slice
    row: slice


def merge(base: str, file: str, row: str) -> str | None:
    """
    What *file* and *row* are together, both being edits of *base*; None where they overlap.

    Front matter is merged by key (lists as sets), the body by lines and, within a paragraph, by words.
    The file's line endings win. Whatever either side added is in the result, or there is none.
    """
    if file in (row, base):
        return row
    if row == base:
        return file
    old, mine, theirs = split(base), split(file), split(row)
    head = merge_head(old.head, mine.head, theirs.head)
    body = _body(old.body, mine.body, theirs.body)
    if head is None or body is None:
        return None
    parts = Parts(theirs.bom if mine.bom == old.bom else mine.bom, head, body)
    result = parts.bom + parts.head + parts.body
    return result if split(result) == parts else None


def _unchanged(base: str, file: str, row: str) -> str | None:
    """The part when at most one side changed it, line endings aside."""
    old, mine, theirs = unix(base), unix(file), unix(row)
    if theirs in (mine, old):
        return file
    return _with_endings(theirs, file, row) if mine == old else None


def _with_endings(text: str, file: str, row: str) -> str:
    """*text* with the file's line endings; where it mixes them, each line with the one it has there."""
    endings = set(_ENDING.findall(file) or _ENDING.findall(row))
    if len(endings) <= 1:
        return text.replace("\n", endings.pop()) if endings else text
    had, has = lines(file), lines(text)
    matcher = SequenceMatcher(None, [unix(line) for line in had], has, autojunk=False)
    kept = {b + k: had[a + k] for a, b, size in matcher.get_matching_blocks() for k in range(size)}
    default = newline(file)
    return "".join(kept.get(number, line.replace("\n", default)) for number, line in enumerate(has))


def merge_head(base: str, file: str, row: str) -> str | None:
    """Front matter, with its fences, by key; None where both sides changed one key."""
    if (part := _unchanged(base, file, row)) is not None:
        return part
    woven = _lines(base, file, row)
    try:
        wanted = merged_values(values(base), values(file), values(row))
    except Damaged:
        sound = _parses(file) and _parses(row)
        return woven if woven is None or _parses(woven) or not sound else None
    if wanted is None:
        return None
    for head in (woven, *_by_keys(file, row, wanted)):
        if head is not None and _says(head, wanted) and _has_comments(head, base, file, row):
            return _with_endings(unix(head), file, row)
    return None


def _parses(head: str) -> bool:
    try:
        values(head)
    except Damaged:
        return False
    return True


def _by_keys(file: str, row: str, wanted: Values) -> Iterator[str]:
    """The head of each side with the values of both."""
    for head in (file, row):
        try:
            gone: dict[str, Json | Removed] = {key: REMOVED for key in values(head) if key not in wanted}
            yield with_keys(head, {**gone, **wanted})
        except Damaged:
            continue


def _says(head: str, wanted: Values) -> bool:
    return split(head).body == "" and _parses(head) and same(values(head), dict(wanted))


def _has_comments(head: str, base: str, file: str, row: str) -> bool:
    """Whether *head* has the comments either side added: values say nothing of them."""
    old, new = Counter(unix(base).split("\n")), Counter(unix(head).split("\n"))
    return all("#" not in line for side in (file, row) for line in Counter(unix(side).split("\n")) - old - new)


def merged_values(base: Values, file: Values, row: Values) -> dict[str, Json] | None:
    """The values of both sides, lists as sets; None where they changed one key differently."""
    result: dict[str, Json] = {}
    for key in dict.fromkeys([*file, *row, *base]):
        old, mine, theirs = (each.get(key, REMOVED) for each in (base, file, row))
        if same(mine, theirs) or same(theirs, old):
            value = mine
        elif same(mine, old):
            value = theirs
        elif isinstance(old, list) and isinstance(mine, list) and isinstance(theirs, list):
            value = _as_sets(old, mine, theirs)
        else:
            return None
        if not isinstance(value, Removed):
            result[key] = value
    return result


def _as_sets(base: list[Json], file: list[Json], row: list[Json]) -> list[Json]:
    """The file's list without what the row took out, then what the row added."""
    kept = [item for item in file if _has(row, item) or not _has(base, item)]
    return kept + [item for item in row if not _has(base, item) and not _has(file, item)]


def _has(items: Sequence[Json], item: Json) -> bool:
    return any(same(item, other) for other in items)


def _body(base: str, file: str, row: str) -> str | None:
    part = _unchanged(base, file, row)
    return part if part is not None else _lines(base, file, row, by_words=True)


def _lines(base: str, file: str, row: str, *, by_words: bool = False) -> str | None:
    """diff3 on lines; None on overlap. *by_words*: overlaps within a paragraph are tried by words."""
    texts = [unix(text).split("\n") for text in (base, file, row)]
    merged: list[str] = []
    rewritten: Counter[str] = Counter()  # lines that are in the result word by word only
    for piece in _diff3(texts):
        if isinstance(piece, list):
            merged += piece
            continue
        words = _words(texts, piece) if by_words else None
        if words is None:
            return None
        merged += words
        rewritten.update(texts[1][piece.file] + texts[2][piece.row])
    if any(Counter(side) - Counter(texts[0]) - rewritten - Counter(merged) for side in texts[1:]):
        return None
    return _with_endings("\n".join(merged), file, row)


def _diff3(texts: Sequence[list[str]]) -> Iterator[list[str] | _Clash]:
    """What is common, or as the one side that changed it has it; where both did, the three places."""
    base, file, row = texts
    sources = {"unchanged": base, "b": row}
    for region in Merge3(base, file, row).merge_regions():
        if region[0] == "conflict":
            yield _Clash(slice(*region[1:3]), slice(*region[3:5]), slice(*region[5:7]))
        else:
            yield sources.get(region[0], file)[region[1] : region[2]]


def _words(texts: Sequence[list[str]], clash: _Clash) -> list[str] | None:
    """The lines of one paragraph in which the sides changed different words."""
    chunks = [text[span] for text, span in zip(texts, clash, strict=True)]
    if not all(chunk and all(line.strip() for line in chunk) for chunk in chunks):
        return None
    if any(_is_literal(text, span) for text, span in zip(texts, clash, strict=True)):
        return None
    old, mine, theirs = tokens = [_TOKEN.findall("\n".join(chunk)) for chunk in chunks]
    merged: list[str] = []
    for piece in _diff3(tokens):
        if isinstance(piece, _Clash):
            return None
        merged += piece
    if any(Counter(side) - Counter(old) - Counter(merged) for side in (mine, theirs)):
        return None
    return "".join(merged).split("\n")


def _is_literal(text: list[str], span: slice) -> bool:
    """Whether any line of *span* is in a block in which single words must not be mixed."""
    body = "\n".join(text)
    for region in regions(body):
        if region.kind in _LITERAL:
            first = body.count("\n", 0, region.start)
            last = body.count("\n", 0, region.end)
            if first < span.stop and span.start < max(last, first + 1):
                return True
    return False
