"""The table of each kind of entry, and SQL for positions."""

from mirrord.domain.entry import Kind

TABLES = ("page", "attachment", "record")


def table_of(kind: Kind) -> str:
    """The table of entries of *kind*; folders are pages without a text."""
    return {Kind.ATTACHMENT: "attachment", Kind.RECORD: "record"}.get(kind, "page")


def position_sql(text_position: str = "%(position)s", row: str = "page") -> str:
    """
    SQL: a page's position, given *text_position* in its text (NULL: none). A position that no text ever set is kept.
    """
    row_position = f"coalesce({text_position}, {row}.position)"
    return f"CASE WHEN {row}.frontmatter ? 'position' THEN {text_position} ELSE {row_position} END"
