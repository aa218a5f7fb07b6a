"""The tool that reports the state of sync."""

from typing import Annotated, Any

from pydantic import Field

from mirrord.commands.core.session import Session
from mirrord.commands.pages.sync_status import MAX_WAIT_SECONDS, sync_status
from mirrord.mcp.tools.arguments import (
    COUNT,
    FLAG,
    TEXT,
    Arguments,
    array_schema,
    nullable,
    object_schema,
    result_schema,
)
from mirrord.mcp.tools.tool import Tool, Wire


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
