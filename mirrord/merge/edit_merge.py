"""Merges two edits of one page or record: cleanly or not at all, never with conflict markers. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from merge3 import Merge3

from mirrord.domain.dialect import Dialect
from mirrord.domain.place import RecordFormat
from mirrord.errors import Damaged
from mirrord.markdown.bounded_diff import find_opcodes
from mirrord.markdown.frontmatter.page_properties import (
    REMOVED,
    Json,
    Removed,
    is_same_json,
    read_values,
    with_keys,
)
from mirrord.markdown.frontmatter.page_text import BOM, PageText, first_line_ending, split_lines, with_unix_endings
from mirrord.markdown.frontmatter.record_text import Data, canonical_json, read_record
from mirrord.merge.mixed_words import is_literal, words_in
from mirrord.research.segments.segment import is_only_moved

_ENDING = re.compile(r"\r\n|\n|\r")

Values = Mapping[str, Json]


class _Overlap(NamedTuple):
    """A passage of the base that both sides changed, and its place in each text."""

    base: slice
    file: slice
    row: slice


def merge(base: str, file: str, row: str, dialect: Dialect = Dialect.PLAIN) -> str | None:
    """
    The merge of *file* and *row*, both edits of *base*; None if they overlap.

    Front matter is merged by key (lists as sets), the body by lines and, within a paragraph, by words. dialect: of the
    program that reads the page, too; of its syntax no words are mixed.
    The file's line endings win. The result has everything that either side added, or there is no result.
    """
    if file in (row, base):
        return row
    if row == base:
        return file
    old, mine, theirs = PageText(base), PageText(file), PageText(row)
    head = merge_head(old.head, mine.head, theirs.head)
    body = _merge_body(old.body, mine.body, theirs.body, dialect)
    if head is None or body is None:
        return None
    parts = (theirs.bom if mine.bom == old.bom else mine.bom, head, body)
    result = PageText("".join(parts))
    return result.text if result.parts == parts else None


def _merge_trivially(base: str, file: str, row: str) -> str | None:
    """The merged part if at most one side changed it, apart from line endings; else None."""
    old, mine, theirs = with_unix_endings(base), with_unix_endings(file), with_unix_endings(row)
    if theirs in (mine, old):
        return file
    return _restore_endings(theirs, file, row) if mine == old else None


def _restore_endings(text: str, file: str, row: str) -> str:
    """*text* with the file's line endings; if the file mixes them, each line has the ending of its line in the file."""
    endings = set(_ENDING.findall(file) or _ENDING.findall(row))
    if len(endings) <= 1:
        return text.replace("\n", endings.pop()) if endings else text
    file_lines, text_lines = split_lines(file), split_lines(text)
    codes = find_opcodes([with_unix_endings(line) for line in file_lines], text_lines)
    matched_lines = {b + k: file_lines[a + k] for tag, a, end, b, _ in codes if tag == "equal" for k in range(end - a)}
    default = first_line_ending(file)
    return "".join(matched_lines.get(number, line.replace("\n", default)) for number, line in enumerate(text_lines))


def merge_head(base: str, file: str, row: str) -> str | None:
    """Merge front matter, with its fences, by key; None if both sides changed one key."""
    if (part := _merge_trivially(base, file, row)) is not None:
        return part
    line_merge = _merge_lines(base, file, row)
    try:
        merged = merge_values(*(read_values(PageText(head)) for head in (base, file, row)))
    except Damaged:
        both_readable = _is_readable(file) and _is_readable(row)
        return line_merge if line_merge is None or _is_readable(line_merge) or not both_readable else None
    if merged is None:
        return None
    for head in (line_merge, *_heads_with_values(file, row, merged)):
        if head is not None and _has_values(head, merged) and _has_comments(head, base, file, row):
            return _restore_endings(with_unix_endings(head), file, row)
    return None


def _is_readable(head: str) -> bool:
    return PageText(head).views.error is None


def _heads_with_values(file: str, row: str, merged: Values) -> Iterator[str]:
    """The head of each side with the values of both."""
    for head in map(PageText, (file, row)):
        try:
            removed: dict[str, Json | Removed] = {key: REMOVED for key in read_values(head) if key not in merged}
            yield with_keys(head, {**removed, **merged}).text
        except Damaged:
            continue


def _has_values(head: str, merged: Values) -> bool:
    page = PageText(head)
    return page.body == "" and page.views.error is None and is_same_json(page.views.frontmatter, dict(merged))


def _has_comments(head: str, base: str, file: str, row: str) -> bool:
    """Whether *head* has the comments that either side added; the values do not show them."""
    old, new = Counter(with_unix_endings(base).split("\n")), Counter(with_unix_endings(head).split("\n"))
    return all(
        "#" not in line for side in (file, row) for line in Counter(with_unix_endings(side).split("\n")) - old - new
    )


def merge_values(base: Values, file: Values, row: Values) -> dict[str, Json] | None:
    """The values of both sides, lists as sets; None if they changed one key differently."""
    result: dict[str, Json] = {}
    for key in dict.fromkeys([*file, *row, *base]):
        old, mine, theirs = (side.get(key, REMOVED) for side in (base, file, row))
        if is_same_json(mine, theirs) or is_same_json(theirs, old):
            value = mine
        elif is_same_json(mine, old):
            value = theirs
        elif isinstance(old, list) and isinstance(mine, list) and isinstance(theirs, list):
            value = _merge_lists(old, mine, theirs)
        else:
            return None
        if not isinstance(value, Removed):
            result[key] = value
    return result


def _merge_lists(base: list[Json], file: list[Json], row: list[Json]) -> list[Json]:
    """The file's list without the items that the row removed, then the items that the row added."""
    remaining = [item for item in file if _contains(row, item) or not _contains(base, item)]
    return remaining + [item for item in row if not _contains(base, item) and not _contains(file, item)]


def _contains(items: Sequence[Json], item: Json) -> bool:
    return any(is_same_json(item, other) for other in items)


def _merge_body(base: str, file: str, row: str, dialect: Dialect) -> str | None:
    part = _merge_trivially(base, file, row)
    return part if part is not None else _merge_lines(base, file, row, dialect)


def _merge_lines(base: str, file: str, row: str, words_of: Dialect | None = None) -> str | None:
    """diff3 on lines; None on overlap. words_of: overlaps within a paragraph of that dialect are merged by words."""
    texts = [with_unix_endings(text).split("\n") for text in (base, file, row)]
    merged: list[str] = []
    rewritten: Counter[str] = Counter()  # lines whose words are in the result, but not in one line
    for piece in _diff3_regions(texts):
        if isinstance(piece, list):
            merged += piece
            continue
        words = _merge_words(texts, piece, words_of) if words_of is not None else None
        if words is None:
            return None
        merged += words
        rewritten.update(texts[1][piece.file] + texts[2][piece.row])
    if any(Counter(side) - Counter(texts[0]) - rewritten - Counter(merged) for side in texts[1:]):
        return None
    return _restore_endings("\n".join(merged), file, row)


def _diff3_regions(texts: Sequence[list[str]]) -> Iterator[list[str] | _Overlap]:
    """Common lines, or those of the only side that changed them; for an overlap its three places."""
    base, file, row = texts
    sources = {"unchanged": base, "b": row}
    for region in Merge3(base, file, row).merge_regions():
        if region[0] == "conflict":
            yield _Overlap(slice(*region[1:3]), slice(*region[3:5]), slice(*region[5:7]))
        else:
            yield sources.get(region[0], file)[region[1] : region[2]]


def _merge_words(texts: Sequence[list[str]], overlap: _Overlap, dialect: Dialect) -> list[str] | None:
    """Merge one paragraph in which the sides changed different words; None on overlap."""
    chunks = [text[span] for text, span in zip(texts, overlap, strict=True)]
    if not all(chunk and all(line.strip() for line in chunk) for chunk in chunks):
        return None
    if any(is_literal(text, span, dialect) for text, span in zip(texts, overlap, strict=True)):
        return None
    old, mine, theirs = tokens = [words_in("\n".join(chunk), dialect) for chunk in chunks]
    merged: list[str] = []
    for piece in _diff3_regions(tokens):
        if isinstance(piece, _Overlap):
            return None
        merged += piece
    if any(Counter(side) - Counter(old) - Counter(merged) for side in (mine, theirs)):
        return None
    return "".join(merged).split("\n")


def merge_record(form: RecordFormat, base: str | None, file: str, row: str) -> str | None:
    """
    The merge of *file* and *row*, both edits of *base* (None: not known); None if they overlap.

    If both sides have the same values the file's bytes stay. Lists are merged as sets. A segment that only followed
    the text on one side is taken from the other side: it will follow again.
    Raises Damaged if *file* cannot be read.
    """
    ours = read_record(form, file)
    ancestor, theirs = _read_or_none(form, base), _read_or_none(form, row)
    if theirs is None:
        return None
    if is_same_json(ours, theirs):
        return file
    if base is None or ancestor is None:
        return None
    if form is RecordFormat.JSON:
        ours, theirs = _without_moves(ancestor, ours, theirs), _without_moves(ancestor, theirs, ours)
    merged = merge_values(ancestor, ours, theirs)
    if merged is None:
        return None
    if form is RecordFormat.JSON:
        return next(
            (text for text in (file, row) if is_same_json(_read_or_none(form, text), merged)), canonical_json(merged)
        )
    return _merge_yaml(base, file, row, merged)


def _without_moves(base: Data, side: Data, other: Data) -> Data:
    """*side* without the moves of segments that *other* changed too: a segment that followed the text is no edit."""
    return {
        key: base[key] if other.get(key) != base.get(key) and is_only_moved(base.get(key), value) else value
        for key, value in side.items()
    }


def _read_or_none(form: RecordFormat, text: str | None) -> Data | None:
    try:
        return read_record(form, text) if text is not None else None
    except Damaged:
        return None


def _merge_yaml(base: str, file: str, row: str, values: Data) -> str | None:
    """Merge as front matter, which keeps the comments of both sides; None on overlap."""
    merged = merge_head(*map(_add_fences, (base, file, row)))
    if merged is None:
        return None
    text = _prefix_of(file) + PageText(merged).source
    return text if is_same_json(_read_or_none(RecordFormat.YAML, text), values) else None


def _add_fences(text: str) -> str:
    source, ending = text.removeprefix(_prefix_of(text)), first_line_ending(text)
    if source and source[-1] not in "\r\n":
        source += ending
    return f"---{ending}{source}---{ending}"


def _prefix_of(text: str) -> str:
    """The prefix before the first key: a byte order mark, and the `---` line of a YAML document."""
    mark = BOM if text.startswith(BOM) else ""
    first = next(iter(split_lines(text.removeprefix(mark))), "")
    return mark + (first if first.rstrip() == "---" else "")
