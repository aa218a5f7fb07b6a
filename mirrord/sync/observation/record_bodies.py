"""The text of a record as its row holds it."""

from mirrord.db.content.record_rows import RecordRow, RecordText
from mirrord.domain.place import RecordFormat, record_sort_of
from mirrord.errors import Damaged
from mirrord.markdown.frontmatter.record_text import read_record, write_record
from mirrord.research.collections.collection_rules import GROUP_KINDS
from mirrord.research.collections.collection_yaml import read_group


def record_text(name: str, text: str) -> RecordText:
    """The body of the record called *name*; a text that cannot be read is kept, without data."""
    try:
        return RecordText(text, read_record(record_sort_of(name).form, text))
    except Damaged:
        return RecordText(text, None)


def render_record(name: str, row: RecordRow) -> RecordText:
    """The body after an app wrote data or text: the other one is derived. Raises Damaged if that is not possible."""
    if row.data is None and row.text is not None:
        return RecordText(row.text, read_record(record_sort_of(name).form, row.text))
    data = read_record(RecordFormat.JSON, row.data) if row.data is not None else {}
    return RecordText(write_record(record_sort_of(name).form, row.text, data), data)


def fault_in(name: str, text: str) -> str | None:
    """Why the text of the record called *name* cannot be read or understood; None: it can."""
    sort, key = record_sort_of(name), name.partition("/")[2]
    try:
        read_record(sort.form, text)
        if (kind := GROUP_KINDS.get(sort.kind)) is not None:
            read_group(kind, key, text)
    except Damaged as error:
        return str(error)
    return None
