"""Which table holds the rows of which kind of entry, and what a text says of its row."""

from mirrord.domain.entry import Kind

TABLES = ("page", "attachment", "record")


def table_of(kind: Kind) -> str:
    """The table of entries of *kind*; folders are pages without a text."""
    return {Kind.ATTACHMENT: "attachment", Kind.RECORD: "record"}.get(kind, "page")


def said_position(said: str = "%(position)s", row: str = "page") -> str:
    """SQL: the position of a page whose text says *said* (NULL: nothing). A row keeps one that no text ever said."""
    return f"CASE WHEN {row}.frontmatter ? 'position' THEN {said} ELSE coalesce({said}, {row}.position) END"
