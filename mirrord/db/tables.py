"""The table of each kind of entry, and SQL for positions."""

from mirrord.domain.entry import Kind

TABLES = ("page", "attachment", "record")


def table_of(kind: Kind) -> str:
    """The table of entries of *kind*; folders are pages without a text."""
    return {Kind.ATTACHMENT: "attachment", Kind.RECORD: "record"}.get(kind, "page")


def said_position(said: str = "%(position)s", row: str = "page") -> str:
    """SQL: a page's position, given *said* in its text (NULL: none). A position that no text ever set is kept."""
    return f"CASE WHEN {row}.frontmatter ? 'position' THEN {said} ELSE coalesce({said}, {row}.position) END"
