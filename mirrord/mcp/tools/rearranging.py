"""Tools that move, delete and restore pages, and add attachments."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from mirrord.mcp.arguments import Arguments
from mirrord.mcp.shapes import ANY, COUNT, FLAG, TEXT, listed, result
from mirrord.mcp.tool import Tool, Wire
from mirrord.mcp.tools.reading import PagePath
from mirrord.mcp.tools.writing import Digest

if TYPE_CHECKING:
    from mirrord.commands.attachments import Attached
    from mirrord.commands.moves import Moved
    from mirrord.commands.removal import Deleted, Restored

_TOLD = " People are notified."


class Move(Arguments):
    """What move_page takes."""

    source_path: PagePath
    destination_path: Annotated[str, Field(description="Its new path, such as Archive/Alpha.md.")]
    rewrite_links: Annotated[bool, Field(description="Let links to them follow.")] = True
    expected_digest: Digest = None


class Delete(Arguments):
    """What delete_page takes."""

    path: PagePath
    recursive: Annotated[bool, Field(description="Delete the pages below it too.")] = False
    expected_digest: Digest = None


class Restore(Arguments):
    """What restore_page takes."""

    trash_id: Annotated[str, Field(description="As delete_page returned it.")]
    path: Annotated[str | None, Field(description="Where to; default: where it was.")] = None


class Attach(Arguments):
    """What add_attachment takes."""

    page_path: PagePath
    file_path: Annotated[str, Field(description="Absolute path of a file on the server's machine.")]
    file_name: Annotated[str | None, Field(description="Its name in the tree; default: its own.")] = None


def _moved(done: "Moved") -> Wire:
    answer = {"success": True, "pageId": done.page_id, "newPath": done.new_path, "digest": done.digest}
    left = {"linksLeft": done.left} if done.left else {}
    return {**answer, "linksRewritten": done.links_rewritten, **left}


def _deleted(done: "Deleted") -> Wire:
    below = {"below": done.below} if done.below else {}
    return {"deleted": True, "pageId": done.page_id, "trashId": done.trash_id, **below}


def _restored(done: "Restored") -> Wire:
    warnings = {"warnings": list(done.warnings)} if done.warnings else {}
    return {"success": True, "pageId": done.page_id, "path": done.path, "digest": done.digest, **warnings}


def _attached(done: "Attached") -> Wire:
    return {"relativePath": done.relative_path, "markdownSyntax": done.markdown_syntax, "digest": done.digest}


MOVE_PAGE = Tool(
    "move_page",
    "Move or rename a page",
    "Moves a page with the pages and attachments below it; links in other pages follow. A page that gets its first "
    f"child becomes Folder/_index.md.{_TOLD} "
    'Example: {"sourcePath": "Projects/Alpha.md", "destinationPath": "Archive/Alpha.md"}.',
    Move,
    result(
        {
            "success": FLAG,
            "pageId": TEXT,
            "newPath": TEXT,
            "digest": TEXT,
            "linksRewritten": COUNT,
            "linksLeft?": listed(TEXT),
        }
    ),
    wire=_moved,
    writes=True,
    idempotent=False,
)
DELETE_PAGE = Tool(
    "delete_page",
    "Delete a page",
    f"Moves a page to the trash, where it stays for 30 days; restore_page brings it back by its trashId.{_TOLD} A page "
    "with pages below it needs recursive. "
    'Example: {"path": "Projects/Old.md"}.',
    Delete,
    result({"deleted": FLAG, "pageId": TEXT, "trashId": TEXT, "below?": ANY}),
    wire=_deleted,
    writes=True,
    destructive=True,
    idempotent=False,
)
RESTORE_PAGE = Tool(
    "restore_page",
    "Restore a deleted page",
    f"Brings a page back from the trash, to where it was or another path.{_TOLD} Never over another page. "
    'Example: {"trashId": "0123456789abcdef"}.',
    Restore,
    result({"success": FLAG, "pageId": TEXT, "path": TEXT, "digest": TEXT, "warnings?": listed(TEXT)}),
    wire=_restored,
    writes=True,
    idempotent=False,
)
ADD_ATTACHMENT = Tool(
    "add_attachment",
    "Attach a file to a page",
    "Copies a file (50 MB at most) into the page's assets folder, never over another, and returns the Markdown "
    "for the page. Only from directories the operator allows. "
    'Example: {"pagePath": "Projects/Alpha.md", "filePath": "/tmp/plan.png"}.',
    Attach,
    result({"relativePath": TEXT, "markdownSyntax": TEXT, "digest": TEXT}),
    wire=_attached,
    writes=True,
    idempotent=False,
)
