"""Tools for folders of sources."""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import COUNT, TEXT, Underscored, array_schema, nullable, object_schema, result_schema
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.research.sources.folder_commands import FolderList, list_folders

_REFERENCE = WithJsonSchema({"type": ["integer", "string"]})  # the number as text, or the UUID, is accepted too

Id = Annotated[int | str, _REFERENCE]
Top = Annotated[int | str | None, WithJsonSchema({"type": ["integer", "string", "null"]})]


class List(Underscored):
    """What list_folders takes."""

    cursor: str | None = None


class Create(Underscored):
    """What create_folder takes."""

    name: str
    parent_id: Top = None


class Rename(Underscored):
    """What rename_folder takes."""

    folder_id: Id
    new_name: str


class Delete(Underscored):
    """What delete_folder takes."""

    folder_id: Id


class Move(Underscored):
    """What move_source_to_folder takes."""

    source_id: Id
    folder_id: Annotated[Top, Field(description="null or 0: none.")]


def _list_folders(session: Session, arguments: List) -> Wire:
    return _list_answer(list_folders(session, arguments.cursor))


def _list_answer(listing: FolderList) -> Wire:
    folders = [
        {"id": folder.id, "name": folder.name, "parent_id": folder.parent_id, "created_at": folder.created_at}
        for folder in listing.folders
    ]
    cursor = {"next_cursor": listing.next_cursor} if listing.next_cursor is not None else {}
    return {"folders": folders, "total_count": listing.total_count, **cursor}


_FOLDER = object_schema(id=COUNT, name=TEXT, parent_id=nullable(COUNT), created_at=nullable(TEXT))

LIST_FOLDERS = Tool(
    "list_folders",
    "List source folders",
    "Lists folders of sources, each before those in it. Example: {}.",
    List,
    result_schema({"folders": array_schema(_FOLDER), "total_count": COUNT, "next_cursor?": TEXT}),
    _list_folders,
)
CREATE_FOLDER = Tool(
    "create_folder",
    "Create a source folder",
    'Makes a folder for sources. Example: {"name": "Interviews"}.',
    Create,
    result_schema({"folder_id": COUNT, "name": TEXT, "parent_id": nullable(COUNT), "path?": TEXT}),
    writes=True,
    idempotent=False,
)
RENAME_FOLDER = Tool(
    "rename_folder",
    "Rename a source folder",
    'Renames a folder; links follow. Example: {"folder_id": 17, "new_name": "Talks"}.',
    Rename,
    result_schema({"folder_id": COUNT, "old_name": TEXT, "name": TEXT, "links_rewritten?": COUNT}),
    writes=True,
)
DELETE_FOLDER = Tool(
    "delete_folder",
    "Delete an empty source folder",
    'Deletes an empty folder. Example: {"folder_id": 17}.',
    Delete,
    result_schema({"folder_id": COUNT, "name": TEXT}),
    writes=True,
    destructive=True,
    idempotent=False,
)
MOVE_SOURCE_TO_FOLDER = Tool(
    "move_source_to_folder",
    "Move a source into a folder",
    'Moves a source with its attachments; links follow. Example: {"source_id": 4, "folder_id": 17}.',
    Move,
    result_schema({"source_id": COUNT, "old_folder_id": nullable(COUNT), "folder_id": nullable(COUNT), "path?": TEXT}),
    writes=True,
)
FOLDERS = (LIST_FOLDERS, CREATE_FOLDER, RENAME_FOLDER, DELETE_FOLDER, MOVE_SOURCE_TO_FOLDER)
