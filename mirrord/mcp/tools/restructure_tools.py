"""Tools that change many pages at once: headings with the links to them."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mirrord.mcp.tools.arguments import COUNT, FLAG, TEXT, Arguments, array_schema, result_schema
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.restructure.heading_command import RenamedHeading

_MAX_LISTED = 50  # changed pages by name in one answer


class RenameHeading(Arguments):
    """What rename_heading takes."""

    path: str
    heading: Annotated[str, Field(description="As in read_page.")]
    to: str


def _heading_answer(renamed: "RenamedHeading") -> Wire:
    return {
        "success": True,
        "pageId": renamed.page_id,
        "path": renamed.path,
        "digest": renamed.digest,
        "heading": renamed.heading,
        "linksRewritten": renamed.links_rewritten,
        "pages": list(renamed.pages[:_MAX_LISTED]),
        "pagesCount": len(renamed.pages),
    }


RENAME_HEADING = Tool(
    "rename_heading",
    "Rename a heading",
    "Gives a heading another text; links to it in all pages follow. "
    'Example: {"path": "Projects/Alpha.md", "heading": "Plan", "to": "Timeline"}.',
    RenameHeading,
    result_schema(
        {
            "success": FLAG,
            "pageId": TEXT,
            "path": TEXT,
            "digest": TEXT,
            "heading": TEXT,
            "linksRewritten": COUNT,
            "pages": array_schema(TEXT),
            "pagesCount": COUNT,
        }
    ),
    wire=_heading_answer,
    writes=True,
)

RESTRUCTURE_TOOLS: tuple[Tool[Any], ...] = (RENAME_HEADING,)
