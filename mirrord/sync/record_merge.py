"""Merge two edits of one record by its top-level keys. Pure; clean or not at all."""

from mirrord.codec.frontmatter import is_same_json, split_parts, yaml_of_head
from mirrord.codec.records import Data, canonical_json, read_record
from mirrord.codec.text import BOM, first_line_ending, split_lines
from mirrord.domain.record import RecordFormat
from mirrord.domain.segment import is_only_moved
from mirrord.errors import Damaged
from mirrord.sync.merge import merge_head, merge_values


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
    text = _prefix_of(file) + yaml_of_head(split_parts(merged).head)
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
