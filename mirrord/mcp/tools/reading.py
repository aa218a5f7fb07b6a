"""Tools that show pages."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from mirrord.commands.failure import Failed
from mirrord.commands.session import Session
from mirrord.mcp import replies
from mirrord.mcp.arguments import Arguments, from_json
from mirrord.mcp.shapes import ANY, COUNT, TEXT, Schema, listed, result
from mirrord.mcp.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.pages import Shown

PagePath = Annotated[str, Field(description="Such as Projects/Alpha.md; .md is optional.")]
MOST = 80_000  # characters in one answer: about the limit of clients

_PAGE: dict[str, Schema] = {
    "content": TEXT,
    "frontmatter": ANY,
    "path": TEXT,
    "pageId": TEXT,
    "digest": TEXT,
    "totalChars": COUNT,
    "nextOffset?": COUNT,
}

_FOLDER = "This is a folder without a page file. write_page at this path makes one; move_page and delete_page take it."


class Read(Arguments):
    """What read_page takes."""

    path: PagePath
    section: Annotated[str | None, Field(description="Only what stands under this heading.")] = None
    offset: Annotated[int, Field(ge=0, description="Characters to skip.")] = 0
    limit: Annotated[int | None, Field(ge=1, le=MOST, description="Characters at most.")] = None


class ReadSeveral(Arguments):
    """What read_pages takes."""

    paths: Annotated[tuple[str, ...], Field(min_length=1, max_length=50), BeforeValidator(from_json)]


def _read(session: Session, given: Read) -> Wire:
    from mirrord.commands.pages import read_page

    return _shown(read_page(session, given.path, given.section, given.offset, given.limit or MOST))


def _read_several(session: Session, given: ReadSeveral) -> Wire:
    from mirrord.commands.pages import read_pages

    found, omitted = read_pages(session, given.paths, MOST)
    answers = zip(found, given.paths, strict=False)  # omitted pages have no answer
    pages = [_refused(one, path) if isinstance(one, Failed) else _shown(one) for one, path in answers]
    return {"pages": pages, **({"omitted": omitted} if omitted else {})}


def _shown(page: "Shown") -> Wire:
    shown: Wire = {
        "content": page.content,
        "frontmatter": page.frontmatter,
        "path": page.path,
        "pageId": page.page_id,
        "digest": page.digest,
        "totalChars": page.total_chars,
    }
    if page.folder is not None:
        return {**shown, "title": page.folder.title, "hasChildren": page.folder.has_children, "note": _FOLDER}
    return shown if page.next_offset is None else {**shown, "nextOffset": page.next_offset}


def _refused(failed: Failed, path: str) -> Wire:
    return {"path": path, **replies.told(failed)}


READ_PAGE = Tool(
    "read_page",
    "Read a page",
    "Returns a page's Markdown, front matter included, and the digest that writes are held against. Long pages "
    "come in parts: go on with offset = nextOffset, or ask for a section. "
    'Example: {"path": "Projects/Alpha.md", "section": "Timeline"}.',
    Read,
    result(_PAGE),
    _read,
)
READ_PAGES = Tool(
    "read_pages",
    "Read several pages",
    "Reads up to 50 pages at once, in this order; one that cannot be read has error and instruction instead. What "
    "did not fit is named in omitted. "
    'Example: {"paths": ["Welcome.md", "Projects/Alpha.md"]}.',
    ReadSeveral,
    result({"pages": listed({"type": "object"}), "omitted?": listed(TEXT)}),
    _read_several,
)
