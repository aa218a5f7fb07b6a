"""What the text of a record says, as its row holds it."""

from collections.abc import Callable, Mapping

from mirrord.codec.collections import category_of, collection_of
from mirrord.codec.records import read, written
from mirrord.db.records import RecordText, Written
from mirrord.domain.record import Form, sort_of
from mirrord.errors import Damaged

_MEANINGS: Mapping[str, Callable[[str, str], object]] = {"category": category_of, "collection": collection_of}


def record_text(name: str, text: str) -> RecordText:
    """The body of the row of the record whose place has *name*; text that cannot be read is kept as it is."""
    try:
        return RecordText(text, read(sort_of(name).form, text))
    except Damaged:
        return RecordText(text, None)


def rendered_record(name: str, row: Written) -> RecordText:
    """The text that says what an app wrote, or what the text says that it wrote. Raises Damaged where there is none."""
    if row.data is None and row.text is not None:
        return RecordText(row.text, read(sort_of(name).form, row.text))
    data = read(Form.JSON, row.data) if row.data is not None else {}
    return RecordText(written(sort_of(name).form, row.text, data), data)


def fault_in(name: str, text: str) -> str | None:
    """Why the text of that record cannot be read, or says what no tool understands; None: it is whole."""
    sort, key = sort_of(name), name.partition("/")[2]
    try:
        read(sort.form, text)
        if (meaning := _MEANINGS.get(sort.kind)) is not None:
            meaning(key, text)
    except Damaged as error:
        return str(error)
    return None
