"""Tools that move, delete and restore pages and add attachments."""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.mcp.tools.arguments import ANY, COUNT, FLAG, TEXT, Arguments, array_schema, result_schema
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.mcp.tools.write_tools import WRITE_PAGE, Digest

if TYPE_CHECKING:
    from mirrord.commands.pages.attachment_commands import AttachedFile
    from mirrord.commands.pages.delete_commands import DeletedPage
    from mirrord.commands.pages.move_commands import MovedPage
    from mirrord.commands.pages.restore_command import RestoredPage

MAX_LISTED = 50  # deleted or restored pages by name in one answer
_NOTIFIED_NOTE = " People are notified."


class Move(Arguments):
    """What move_page takes."""

    source_path: str
    destination_path: Annotated[str, Field(description="Its new path.")]
    rewrite_links: Annotated[bool, Field(description="Let links to them follow.")] = True
    expected_digest: Digest = None


class Delete(Arguments):
    """What delete_page takes."""

    path: str
    recursive: Annotated[bool, Field(description="Delete the pages below it too.")] = False
    expected_digest: Digest = None


class Restore(Arguments):
    """What restore_page takes."""

    trash_id: str | None = None
    path: Annotated[str | None, Field(description="Where to; default: where it was.")] = None
    version: Annotated[int | None, Field(ge=1, description="Of the page at path.")] = None

    def for_command(self) -> dict[str, Any]:
        """Without the version, which another command restores."""
        return {"trash_id": self.trash_id, "path": self.path}


class Attach(Arguments):
    """What add_attachment takes."""

    page_path: str
    file_path: Annotated[str | None, Field(description="On the server's machine.")] = None
    file_name: Annotated[str | None, Field(description="Default: its own.")] = None
    base64: Annotated[str | None, Field(description="Instead of filePath.")] = None


def _move_answer(moved: "MovedPage") -> Wire:
    answer = {"success": True, "pageId": moved.page_id, "newPath": moved.new_path, "digest": moved.digest}
    unchanged = {"linksLeft": moved.left} if moved.left else {}
    return {**answer, "linksRewritten": moved.links_rewritten, **unchanged}


def _delete_answer(deleted: "DeletedPage") -> Wire:
    below: dict[str, Any] = {}
    if deleted.below:
        below = {"below": dict(islice(deleted.below.items(), MAX_LISTED)), "pages": len(deleted.below) + 1}
    note = {"note": deleted.note} if deleted.note is not None else {}
    return {"deleted": True, "pageId": deleted.page_id, "trashId": deleted.trash_id, **below, **note}


def _restore_answer(restored: "RestoredPage") -> Wire:
    answer: dict[str, Any] = {"success": True, "pageId": restored.page_id, "path": restored.path}
    answer |= {"digest": restored.digest}
    answer |= {"below": list(restored.below[:MAX_LISTED]), "pages": len(restored.below) + 1} if restored.below else {}
    return answer | ({"warnings": list(restored.warnings)} if restored.warnings else {})


def _choose_restoring(session: Session, arguments: Restore) -> tuple[Tool[Any], Mapping[str, Any]] | None:
    """The earlier text of a page is written over the present one, which stays in the history."""
    if (arguments.version is None) == (arguments.trash_id is None) or (arguments.version and arguments.path is None):
        sentence = "restore_page takes a trashId, or the path and the version of a page."
        raise Failed(
            "INVALID_ARGUMENTS", "invalid", sentence, "Call list_trash for a trashId, page_history for versions."
        )
    if arguments.version is None or arguments.path is None:
        return None
    from mirrord.commands.pages.page_writes import read_page_file
    from mirrord.mcp.tools.history_tools import read_whole_version

    path, content = read_whole_version(session, arguments.path, arguments.version)
    page = read_page_file(session, path)
    session.memory.permit_replacement(page.path, page.digest)
    values = {"path": page.path, "content": content, "expected_digest": page.digest.hex()}
    return WRITE_PAGE, values


def _attach_answer(attached: "AttachedFile") -> Wire:
    return {
        "relativePath": attached.relative_path,
        "markdownSyntax": attached.markdown_syntax,
        "digest": attached.digest,
    }


MOVE_PAGE = Tool(
    "move_page",
    "Move or rename a page",
    "Moves a page with the pages and attachments below it; links in other pages follow. A page that gets its first "
    f"child becomes Folder/_index.md.{_NOTIFIED_NOTE} "
    'Example: {"sourcePath": "Projects/Alpha.md", "destinationPath": "Archive/Alpha.md"}.',
    Move,
    result_schema(
        {
            "success": FLAG,
            "pageId": TEXT,
            "newPath": TEXT,
            "digest": TEXT,
            "linksRewritten": COUNT,
            "linksLeft?": array_schema(TEXT),
        }
    ),
    wire=_move_answer,
    writes=True,
    idempotent=False,
)
DELETE_PAGE = Tool(
    "delete_page",
    "Delete a page",
    "Moves a page to the trash, where it stays for 30 days; restore_page brings it back by its trashId."
    f"{_NOTIFIED_NOTE} A page with pages below it needs recursive. "
    'Example: {"path": "Projects/Old.md"}.',
    Delete,
    result_schema({"deleted": FLAG, "pageId": TEXT, "trashId": TEXT, "below?": ANY, "pages?": COUNT}),
    wire=_delete_answer,
    writes=True,
    destructive=True,
    idempotent=False,
)
RESTORE_PAGE = Tool(
    "restore_page",
    "Restore a page",
    "Brings a page and all deleted with it back, to where it was or another path, or an earlier version."
    f"{_NOTIFIED_NOTE} "
    'Example: {"trashId": "0123456789abcdef"}.',
    Restore,
    result_schema(
        {
            "success": FLAG,
            "pageId": TEXT,
            "path": TEXT,
            "digest": TEXT,
            "below?": array_schema(TEXT),
            "pages?": COUNT,
            "warnings?": array_schema(TEXT),
            "created?": FLAG,
        }
    ),
    wire=_restore_answer,
    choose_command=_choose_restoring,
    writes=True,
    idempotent=False,
)
ADD_ATTACHMENT = Tool(
    "add_attachment",
    "Attach a file to a page",
    "Puts a file into the page's assets folder, never over another, and returns Markdown for the page. "
    "Only from directories the operator allows, or base64 (2 MB). "
    'Example: {"pagePath": "Projects/Alpha.md", "filePath": "/tmp/plan.png"}.',
    Attach,
    result_schema({"relativePath": TEXT, "markdownSyntax": TEXT, "digest": TEXT}),
    wire=_attach_answer,
    writes=True,
    idempotent=False,
)
