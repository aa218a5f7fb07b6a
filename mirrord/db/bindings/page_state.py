"""The page of a row of an app as its row in Postgres is: what a binding decides by."""

from dataclasses import dataclass

from mirrord.domain.entry import EntryId


@dataclass(frozen=True, slots=True)
class PageState:
    """
    The page of a row.

    name, text: None: mirrord has not set them yet; a folder has no text. author: the kind of the author of this
    version. creator: the name of the author of the first version; None: it has none, or that version is gone. is_ahead:
    an app wrote views of this version, and its text is not rendered yet. author_name: None: the author has none.
    """

    entry: EntryId
    version: int
    is_deleted: bool
    parent: EntryId | None
    name: str | None
    text: str | None
    author: str | None = None
    creator: str | None = None
    is_ahead: bool = False
    author_name: str | None = None
