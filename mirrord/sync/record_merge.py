"""Merging two edits of one record by its top-level keys, pure. Clean or not at all."""

from mirrord.codec.frontmatter import inner, same, split
from mirrord.codec.records import Data, canonical, read
from mirrord.codec.text import BOM, lines, newline
from mirrord.domain.record import Form
from mirrord.domain.segment import is_moved
from mirrord.errors import Damaged
from mirrord.sync.merge import merge_head, merged_values


def merge_record(form: Form, base: str | None, file: str, row: str) -> str | None:
    """
    What *file* and *row* are together, both being edits of *base* (None: not known); None where they overlap.

    Sides that say the same are one, and the file's bytes stay. Lists are merged as sets. Where a segment only followed
    the text on one side, it is as the other has it: it will follow again.
    Raises Damaged where *file* cannot be read.
    """
    said = read(form, file)
    known, theirs = _readable(form, base), _readable(form, row)
    if theirs is None:
        return None
    if same(said, theirs):
        return file
    if base is None or known is None:
        return None
    if form is Form.JSON:
        said, theirs = _without_moves(known, said, theirs), _without_moves(known, theirs, said)
    wanted = merged_values(known, said, theirs)
    if wanted is None:
        return None
    if form is Form.JSON:
        return next((text for text in (file, row) if same(_readable(form, text), wanted)), canonical(wanted))
    return _merge_yaml(base, file, row, wanted)


def _without_moves(base: Data, side: Data, other: Data) -> Data:
    """*side* where it changed segments otherwise than *other*: there, that one followed the text does not count."""
    return {
        key: base[key] if other.get(key) != base.get(key) and is_moved(base.get(key), value) else value
        for key, value in side.items()
    }


def _readable(form: Form, text: str | None) -> Data | None:
    try:
        return read(form, text) if text is not None else None
    except Damaged:
        return None


def _merge_yaml(base: str, file: str, row: str, wanted: Data) -> str | None:
    """As front matter, which keeps the comments of both sides."""
    merged = merge_head(*map(_fenced, (base, file, row)))
    if merged is None:
        return None
    text = _start(file) + inner(split(merged).head)
    return text if same(_readable(Form.YAML, text), wanted) else None


def _fenced(text: str) -> str:
    source, ending = text.removeprefix(_start(text)), newline(text)
    if source and source[-1] not in "\r\n":
        source += ending
    return f"---{ending}{source}---{ending}"


def _start(text: str) -> str:
    """What may stand before the first key: a byte order mark, the line that begins a YAML document."""
    mark = BOM if text.startswith(BOM) else ""
    first = next(iter(lines(text.removeprefix(mark))), "")
    return mark + (first if first.rstrip() == "---" else "")
