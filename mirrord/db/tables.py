"""Which table holds the rows of which kind of entry."""

from mirrord.domain.entry import Kind

TABLES = ("page", "attachment", "record")


def table_of(kind: Kind) -> str:
    """The table of entries of *kind*; folders are pages without a text."""
    return {Kind.ATTACHMENT: "attachment", Kind.RECORD: "record"}.get(kind, "page")
