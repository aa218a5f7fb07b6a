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

MAX_ANSWER_CHARACTERS = 80_000  # characters in one answer: about the limit of clients

_PAGE: dict[str, Schema] = {
    "content?": TEXT,
    "frontmatter?": ANY,
    "outline?": array_schema(ANY),
    "path": TEXT,
    "pageId": TEXT,
    "digest?": TEXT,
    "version?": COUNT,
    "totalChars": COUNT,
    "totalLines?": COUNT,
    "nextOffset?": COUNT,
}
MAX_HEADINGS = 200  # in an outline

_FOLDER_NOTE = (
    "This is a folder without a page file. write_page at this path makes one; move_page and delete_page take it."
)


class Read(Arguments):
    """What read_page takes."""

    path: Annotated[str, Field(description=".md is optional.")]
    section: Annotated[str | None, Field(description="A heading, or A > B.")] = None
    outline: Annotated[bool, Field(description="Only the headings.")] = False
    lines: Annotated[str | None, Field(description='As "10-40".')] = None
    version: Annotated[int | None, Field(ge=1, description="An earlier one.")] = None
    offset: Annotated[int, Field(ge=0, description="Characters to skip.")] = 0
    limit: Annotated[int | None, Field(ge=1, le=MAX_ANSWER_CHARACTERS, description="Characters at most.")] = None


class ReadSeveral(Arguments):
    """What read_pages takes."""

    paths: Annotated[tuple[str, ...], Field(min_length=1, max_length=50), BeforeValidator(from_json)]


def _read_page(session: Session, arguments: Read) -> Wire:
    from mirrord.commands.pages.page_commands import PagePart, read_page

    _check_part(arguments)
    if arguments.outline:
        return _outline_answer(session, arguments.path)
    if arguments.version is not None:
        return _read_version(session, arguments)
    limit = arguments.limit or MAX_ANSWER_CHARACTERS
    part = PagePart(arguments.section, arguments.lines, arguments.offset, limit)
    return _page_answer(read_page(session, arguments.path, part))


def _check_part(arguments: Read) -> None:
    parts = [name for name in ("section", "outline", "lines", "version") if getattr(arguments, name)]
    if len(parts) > 1:
        sentence = f"read_page shows one part: {' and '.join(parts)} do not go together."
        raise Failed("INVALID_ARGUMENTS", "invalid", sentence, f"Call read_page with {parts[0]} alone.")


def _outline_answer(session: Session, path: str) -> Wire:
    from mirrord.commands.pages.page_parts import outline_page

    outline = outline_page(session, path)
    headings = [
        {"level": heading.level, "title": heading.title, "line": heading.line, "chars": heading.characters}
        for heading in outline.headings[:MAX_HEADINGS]
    ]
    cut = len(outline.headings) > MAX_HEADINGS
    return {
        "outline": headings,
        **({"note": f"The first {MAX_HEADINGS} of {len(outline.headings)} headings."} if cut else {}),
        "path": outline.path,
        "pageId": outline.page_id,
        "digest": outline.digest,
        "totalChars": outline.total_chars,
        "totalLines": outline.total_lines,
    }


def _read_version(session: Session, arguments: Read) -> Wire:
    """An earlier text, which the daemon knows; it does not count as shown, so nothing is written over by it."""
    from mirrord.mcp.tools.history_tools import ask_history

    limit = arguments.limit or MAX_ANSWER_CHARACTERS
    place = {"path": arguments.path, "version": arguments.version, "offset": arguments.offset, "limit": limit}
    result = ask_history(session, "read_version", place)
    return {key: value for key, value in result.items() if value is not None}


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
    "come in parts: go on with offset = nextOffset, or ask for the outline and a section. "
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
    wait: Annotated[float | None, Field(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait.")] = None


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
