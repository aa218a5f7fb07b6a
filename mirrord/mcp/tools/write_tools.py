"""Tools that write, edit and create pages."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mirrord.mcp.tools.arguments import FLAG, TEXT, Arguments, from_json, result_schema
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.pages.edit_commands import EditedPage
    from mirrord.commands.pages.page_commands import WrittenPage

Digest = Annotated[str | None, Field(description="Digest it must have; default: as last read here.")]
BaseDigest = Annotated[
    str | None, Field(description="Digest of the text you changed; protects sub-agents. Default: last shown.")
]


class Write(Arguments):
    """What write_page takes."""

    path: str
    content: Annotated[str, Field(description="The whole new text, front matter included.")]
    expected_digest: BaseDigest = None


class Create(Arguments):
    """What create_page takes."""

    title: str
    parent_path: Annotated[str | None, Field(description="Page or folder to make it under; default: the root.")] = None
    content: Annotated[str, Field(description="Its Markdown.")] = ""
    icon: Annotated[str | None, Field(description="An emoji.")] = None
    unless_exists: bool = False


class FrontMatter(Arguments):
    """Keys to set and to remove."""

    set: dict[str, Any] = Field(default_factory=dict)
    remove: tuple[str, ...] = ()


class Change(Arguments):
    """One edit: find and replace; or heading, action and text; or append; or frontMatter."""

    find: Annotated[str | None, Field(description="Exact text, as the page has it.")] = None
    replace: str | None = None
    count: Annotated[int | None, Field(description="How often find occurs; default 1.")] = None
    heading: Annotated[str | None, Field(description="Title of a heading, without #.")] = None
    action: Literal["replace", "append", "prepend", "insert_before", "insert_after"] | None = None
    text: str | None = None
    append: Annotated[str | None, Field(description="Markdown for the page's end.")] = None
    front_matter: FrontMatter | None = None


class Edit(Arguments):
    """What edit_page takes."""

    path: str
    edits: Annotated[tuple[Change, ...], Field(min_length=1, max_length=100), BeforeValidator(from_json)]
    expected_digest: Digest = None
    dry_run: Annotated[bool, Field(description="Only show the diff.")] = False

    def for_command(self) -> dict[str, Any]:
        """Arguments without unset keys: the keys of an edit tell its kind."""
        edits = [change.model_dump(mode="json", exclude_none=True, exclude_unset=True) for change in self.edits]
        return {**self.model_dump(mode="json", exclude={"edits"}), "edits": edits}


def _write_answer(written: "WrittenPage") -> Wire:
    return {
        "success": True,
        "pageId": written.page_id,
        "path": written.path,
        "digest": written.digest,
        "created": written.created,
    }


def _create_answer(created: "WrittenPage") -> Wire:
    answer: Wire = {"pageId": created.page_id, "path": created.path, "digest": created.digest}
    return answer if created.created else {**answer, "created": False}


def _edit_answer(edited: "EditedPage") -> Wire:
    return {
        "success": True,
        "pageId": edited.page_id,
        "path": edited.path,
        "digest": edited.digest,
        "diff": edited.diff,
        "written": edited.written,
    }


WRITE_PAGE = Tool(
    "write_page",
    "Write a page",
    "Replaces a page's whole text, or makes the page. Text you have not read is never replaced. For "
    "small changes use edit_page. "
    'Example: {"path": "Projects/Alpha.md", "content": "---\\ntitle: Alpha\\n---\\n\\n# Alpha\\n"}.',
    Write,
    result_schema({"success": FLAG, "pageId": TEXT, "path": TEXT, "digest": TEXT, "created": FLAG}),
    wire=_write_answer,
    writes=True,
    destructive=True,
)
EDIT_PAGE = Tool(
    "edit_page",
    "Edit parts of a page",
    "Makes several edits to a page, all or none, and returns the diff. find must occur exactly count times; a "
    "heading must exist; frontMatter sets and removes keys. "
    'Example: {"path": "Projects/Alpha.md", "edits": [{"find": "draft", "replace": "final"}, '
    '{"heading": "Timeline", "action": "append", "text": "- May"}]}.',
    Edit,
    result_schema({"success": FLAG, "pageId": TEXT, "path": TEXT, "digest": TEXT, "diff": TEXT, "written": FLAG}),
    wire=_edit_answer,
    writes=True,
    destructive=True,
    idempotent=False,
)
CREATE_PAGE = Tool(
    "create_page",
    "Create a page",
    "Makes a new page from a title, never over another: a taken name becomes Title (2). Its id and title are put "
    "into the front matter. "
    'Example: {"title": "Beta", "parentPath": "Projects", "content": "# Beta\\n"}.',
    Create,
    result_schema({"pageId": TEXT, "path": TEXT, "digest": TEXT, "created?": FLAG}),
    wire=_create_answer,
    writes=True,
    idempotent=False,
)
