"""Merge two edits of one record by its top-level keys. Pure; clean or not at all."""

from mirrord.codec.frontmatter import inner, same, split
from mirrord.codec.records import Data, canonical, read
from mirrord.codec.text import BOM, lines, newline
from mirrord.domain.record import Form
from mirrord.domain.segment import is_moved
from mirrord.errors import Damaged
from mirrord.sync.merge import merge_head, merged_values


def merge_record(form: Form, base: str | None, file: str, row: str) -> str | None:
    """
    The merge of *file* and *row*, both edits of *base* (None: not known); None if they overlap.

    If both sides have the same values the file's bytes stay. Lists are merged as sets. A segment that only followed
    the text on one side is taken from the other side: it will follow again.
    Raises Damaged if *file* cannot be read.
    """
    ours = read(form, file)
    ancestor, theirs = _read_or_none(form, base), _read_or_none(form, row)
    if theirs is None:
        return None
    if same(ours, theirs):
        return file
    if base is None or ancestor is None:
        return None
    if form is Form.JSON:
        ours, theirs = _without_moves(ancestor, ours, theirs), _without_moves(ancestor, theirs, ours)
    merged = merged_values(ancestor, ours, theirs)
    if merged is None:
        return None
    if form is Form.JSON:
        return next((text for text in (file, row) if same(_read_or_none(form, text), merged)), canonical(merged))
    return _merge_yaml(base, file, row, merged)


def _without_moves(base: Data, side: Data, other: Data) -> Data:
    """*side* without the moves of segments that *other* changed too: a segment that followed the text is no edit."""
    return {
        key: base[key] if other.get(key) != base.get(key) and is_moved(base.get(key), value) else value
        for key, value in side.items()
    }


def _read_or_none(form: Form, text: str | None) -> Data | None:
    try:
        return read(form, text) if text is not None else None
    except Damaged:
        return None


def _merge_yaml(base: str, file: str, row: str, values: Data) -> str | None:
    """Merge as front matter, which keeps the comments of both sides; None on overlap."""
    merged = merge_head(*map(_add_fences, (base, file, row)))
    if merged is None:
        return None
    text = _prefix_of(file) + inner(split(merged).head)
    return text if same(_read_or_none(Form.YAML, text), values) else None


def _add_fences(text: str) -> str:
    source, ending = text.removeprefix(_prefix_of(text)), newline(text)
    if source and source[-1] not in "\r\n":
        source += ending
    return f"---{ending}{source}---{ending}"


def _prefix_of(text: str) -> str:
    """The prefix before the first key: a byte order mark, and the `---` line of a YAML document."""
    mark = BOM if text.startswith(BOM) else ""
    first = next(iter(lines(text.removeprefix(mark))), "")
    return mark + (first if first.rstrip() == "---" else "")
