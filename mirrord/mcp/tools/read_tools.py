"""Tools that show pages, and how sync stands."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.sync_status import MAX_WAIT_SECONDS, sync_status
from mirrord.mcp.tools import replies
from mirrord.mcp.tools.arguments import (
    ANY,
    COUNT,
    FLAG,
    TEXT,
    Arguments,
    Schema,
    array_schema,
    from_json,
    nullable,
    object_schema,
    result_schema,
)
from mirrord.mcp.tools.tool import Tool, Wire

if TYPE_CHECKING:
    from mirrord.commands.pages.page_commands import PageContent

PagePath = Annotated[str, Field(description=".md is optional.")]
MAX_ANSWER_CHARACTERS = 80_000  # characters in one answer: about the limit of clients

_PAGE: dict[str, Schema] = {
    "content": TEXT,
    "frontmatter": ANY,
    "path": TEXT,
    "pageId": TEXT,
    "digest": TEXT,
    "totalChars": COUNT,
    "nextOffset?": COUNT,
}

_FOLDER_NOTE = (
    "This is a folder without a page file. write_page at this path makes one; move_page and delete_page take it."
)


class Read(Arguments):
    """What read_page takes."""

    path: PagePath
    section: Annotated[str | None, Field(description="Only what stands under this heading.")] = None
    offset: Annotated[int, Field(ge=0, description="Characters to skip.")] = 0
    limit: Annotated[int | None, Field(ge=1, le=MAX_ANSWER_CHARACTERS, description="Characters at most.")] = None


class ReadSeveral(Arguments):
    """What read_pages takes."""

    paths: Annotated[tuple[str, ...], Field(min_length=1, max_length=50), BeforeValidator(from_json)]


def _read_page(session: Session, arguments: Read) -> Wire:
    from mirrord.commands.pages.page_commands import read_page

    return _page_answer(
        read_page(
            session, arguments.path, arguments.section, arguments.offset, arguments.limit or MAX_ANSWER_CHARACTERS
        )
    )


def _read_pages(session: Session, arguments: ReadSeveral) -> Wire:
    from mirrord.commands.pages.page_commands import read_pages

    outcomes, omitted = read_pages(session, arguments.paths, MAX_ANSWER_CHARACTERS)
    answers = zip(outcomes, arguments.paths, strict=False)  # omitted pages have no answer
    pages = [
        _failure_answer(outcome, path) if isinstance(outcome, Failed) else _page_answer(outcome)
        for outcome, path in answers
    ]
    return {"pages": pages, **({"omitted": omitted} if omitted else {})}


def _page_answer(page: "PageContent") -> Wire:
    answer: Wire = {
        "content": page.content,
        "frontmatter": page.frontmatter,
        "path": page.path,
        "pageId": page.page_id,
        "digest": page.digest,
        "totalChars": page.total_chars,
    }
    if page.folder is not None:
        return {**answer, "title": page.folder.title, "hasChildren": page.folder.has_children, "note": _FOLDER_NOTE}
    return answer if page.next_offset is None else {**answer, "nextOffset": page.next_offset}


def _failure_answer(failed: Failed, path: str) -> Wire:
    return {"path": path, **replies.facts_of_failure(failed)}


READ_PAGE = Tool(
    "read_page",
    "Read a page",
    "Returns a page's Markdown, front matter included, and the digest that writes are held against. Long pages "
    "come in parts: go on with offset = nextOffset, or ask for a section. "
    'Example: {"path": "Projects/Alpha.md", "section": "Timeline"}.',
    Read,
    result_schema(_PAGE),
    _read_page,
)
READ_PAGES = Tool(
    "read_pages",
    "Read several pages",
    "Reads up to 50 pages at once, in this order; one that cannot be read has error and instruction instead. What "
    "did not fit is named in omitted. "
    'Example: {"paths": ["Welcome.md", "Projects/Alpha.md"]}.',
    ReadSeveral,
    result_schema({"pages": array_schema({"type": "object"}), "omitted?": array_schema(TEXT)}),
    _read_pages,
)


class Ask(Arguments):
    """What sync_status takes."""

    path: Annotated[str | None, Field(description="A page, to learn whether its text is in the database.")] = None
    wait: Annotated[float | None, Field(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for that.")] = None


def _read_status(session: Session, arguments: Ask) -> Wire:
    status = sync_status(session, arguments.path, arguments.wait)
    answer: dict[str, Any] = {
        "daemon": status.daemon,
        "pending": status.pending,
        "conflicts": status.conflicts,
        "problems": [{"path": problem.path, "sentence": problem.sentence} for problem in status.problems],
        "halted": status.halted,
        "sentences": status.sentences,
    }
    if status.other_problems:
        answer["otherProblems"] = status.other_problems
    return (
        answer if status.path is None else {**answer, **_page_status(status.path, status.digest, synced=status.synced)}
    )


def _page_status(path: str, digest: str | None, *, synced: bool | None) -> Wire:
    return {"path": path, "digest": digest, "synced": synced}


SYNC_STATUS = Tool(
    "sync_status",
    "How sync stands",
    "Says whether the daemon runs, what waits, which pages hold conflicts or have problems; with a path, whether "
    "that page's text is in the database. Pages can be used while the daemon is down. "
    'Example: {"path": "Projects/Alpha.md", "wait": 5}.',
    Ask,
    result_schema(
        {
            "daemon": FLAG,
            "pending": nullable(COUNT),
            "conflicts": array_schema(TEXT),
            "problems": array_schema(object_schema(path=TEXT, sentence=TEXT)),
            "halted": FLAG,
            "sentences": array_schema(TEXT),
            "path?": TEXT,
            "digest?": TEXT,
            "synced?": FLAG,
        }
    ),
    _read_status,
    waits=True,
)
