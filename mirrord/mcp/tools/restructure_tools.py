"""Tools that change many pages at once: edits, merges, splits, headings with the links to them."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from mirrord.mcp.tools.arguments import ANY, COUNT, FLAG, TEXT, Arguments, array_schema, from_json, result_schema
from mirrord.mcp.tools.query_tools import Where
from mirrord.mcp.tools.tool import Tool, Wire
from mirrord.mcp.tools.write_tools import Change

if TYPE_CHECKING:
    from mirrord.commands.restructure.edit_command import EditedPages
    from mirrord.commands.restructure.heading_command import RenamedHeading
    from mirrord.commands.restructure.merge_command import MergedPages
    from mirrord.commands.restructure.split_command import SplitPage

_MAX_LISTED = 50  # changed pages by name in one answer
_NO_PLACE_NOTE = "In none of these pages is a place for the edits: find is exact, with its case and spaces."
_NO_PAGE_NOTE = "No page fits. find_pages takes the same filters and shows which do; query is words, tags go into tag."
_PAGE_FACTS = {"success": FLAG, "pageId": TEXT, "path": TEXT, "digest": TEXT}


_OBJECTS = WithJsonSchema({"type": "array", "items": {"type": "object"}})  # described by edit_page
_FILTERS = ("path", "tag", "where", "modified_after", "modified_before")


class BulkChange(Change):
    """One edit of many pages: one of edit_page; or tag and replace; or task and done."""

    word: bool | None = None
    tag: str | None = None
    task: str | None = None
    is_done: Annotated[bool | None, Field(alias="done")] = None


class EditPages(Arguments):
    """What edit_pages takes."""

    edits: Annotated[tuple[BulkChange, ...], Field(min_length=1, max_length=20), BeforeValidator(from_json), _OBJECTS]
    paths: Annotated[tuple[str, ...], BeforeValidator(from_json)] = ()
    query: str | None = None
    path: str | None = None
    tag: str | None = None
    where: Where = None
    modified_after: str | None = None
    modified_before: str | None = None
    dry_run: bool = False

    def for_command(self) -> dict[str, Any]:
        """Edits without unset keys, and the filters that are given by themselves."""
        values = self.model_dump(mode="json", exclude={"edits"})
        edits = [change.model_dump(mode="json", exclude_none=True, exclude_unset=True) for change in self.edits]
        filters = {name: value for name in _FILTERS if (value := values.pop(name)) is not None}
        return {**values, "edits": edits, "page_filter": filters}


class MergePages(Arguments):
    """What merge_pages takes."""

    paths: Annotated[tuple[str, ...], BeforeValidator(from_json)]
    into: str


class Split(Arguments):
    """What split_page takes."""

    path: str
    heading: str | None = None
    level: int | None = None
    parent_path: str | None = None


class RenameHeading(Arguments):
    """What rename_heading takes."""

    path: str
    heading: str
    to: str


def _edit_answer(edited: "EditedPages") -> Wire:
    answer = {
        "success": True,
        "pages": dict(list(edited.pages.items())[:_MAX_LISTED]),
        "pagesCount": len(edited.pages),
        "places": edited.places,
        "leftOut": edited.left_out,
        "diff": edited.diff,
        "written": edited.written,
    }
    if not edited.places and not edited.skipped:
        answer["note"] = _NO_PLACE_NOTE if edited.left_out else _NO_PAGE_NOTE
    return {**answer, "skipped": edited.skipped} if edited.skipped else answer


def _page_facts(changed: "MergedPages | SplitPage | RenamedHeading") -> Wire:
    """What _PAGE_FACTS describes."""
    return {"success": True, "pageId": changed.page_id, "path": changed.path, "digest": changed.digest}


def _merge_answer(merged: "MergedPages") -> Wire:
    answer = {
        **_page_facts(merged),
        "trashIds": merged.merged,
        "moved": dict(list(merged.moved.items())[:_MAX_LISTED]),
        "movedCount": len(merged.moved),
        "linksRewritten": merged.links_rewritten,
    }
    return {**answer, "warnings": list(merged.warnings)} if merged.warnings else answer


def _split_answer(split: "SplitPage") -> Wire:
    return {
        **_page_facts(split),
        "pages": dict(list(split.pages.items())[:_MAX_LISTED]),
        "pagesCount": len(split.pages),
        "linksRewritten": split.links_rewritten,
    }


def _heading_answer(renamed: "RenamedHeading") -> Wire:
    return {
        **_page_facts(renamed),
        "heading": renamed.heading,
        "linksRewritten": renamed.links_rewritten,
        "pages": list(renamed.pages[:_MAX_LISTED]),
        "pagesCount": len(renamed.pages),
    }


EDIT_PAGES = Tool(
    "edit_pages",
    "Edit pages",
    "Makes edits of edit_page wherever they occur in pages by paths, filters of find_pages or words (query). find "
    "spares targets of links; word: whole words. {tag, replace} renames a tag, {task, done} ticks tasks. "
    'Example: {"path": "Projects", "edits": [{"tag": "draft", "replace": "final"}]}.',
    EditPages,
    result_schema(
        {
            "success": FLAG,
            "pages": ANY,
            "pagesCount": COUNT,
            "places": COUNT,
            "leftOut": COUNT,
            "diff": TEXT,
            "written": FLAG,
            "skipped?": ANY,
        }
    ),
    wire=_edit_answer,
    writes=True,
    destructive=True,
    idempotent=False,
)
MERGE_PAGES = Tool(
    "merge_pages",
    "Merge pages",
    "Appends pages to another, each below a heading, with tags, children and attachments; links follow, the pages go "
    "to the trash. "
    'Example: {"paths": ["A.md", "B.md"], "into": "Projects/Alpha.md"}.',
    MergePages,
    result_schema(
        {
            **_PAGE_FACTS,
            "trashIds": ANY,
            "moved": ANY,
            "movedCount": COUNT,
            "linksRewritten": COUNT,
            "warnings?": array_schema(TEXT),
        }
    ),
    wire=_merge_answer,
    writes=True,
    destructive=True,
    idempotent=False,
)
SPLIT_PAGE = Tool(
    "split_page",
    "Split a page",
    "Makes the section of a heading, or all of a level, pages, by default beside this one; links follow. "
    'Example: {"path": "Alpha.md", "level": 2, "parentPath": "Projects"}.',
    Split,
    result_schema(
        {
            **_PAGE_FACTS,
            "pages": ANY,
            "pagesCount": COUNT,
            "linksRewritten": COUNT,
        }
    ),
    wire=_split_answer,
    writes=True,
    idempotent=False,
)
RENAME_HEADING = Tool(
    "rename_heading",
    "Rename a heading",
    "Gives a heading another text; links to it in all pages follow. "
    'Example: {"path": "Alpha.md", "heading": "Plan", "to": "Timeline"}.',
    RenameHeading,
    result_schema(
        {
            **_PAGE_FACTS,
            "heading": TEXT,
            "linksRewritten": COUNT,
            "pages": array_schema(TEXT),
            "pagesCount": COUNT,
        }
    ),
    wire=_heading_answer,
    writes=True,
)

RESTRUCTURE_TOOLS: tuple[Tool[Any], ...] = (EDIT_PAGES, MERGE_PAGES, SPLIT_PAGE, RENAME_HEADING)
