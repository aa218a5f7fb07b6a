"""The tool that reports the state of the sync."""

from typing import Annotated, Any

from pydantic import Field

from mirrord.commands.session import Session
from mirrord.commands.standing import LONGEST, sync_status
from mirrord.mcp.arguments import Arguments
from mirrord.mcp.shapes import COUNT, FLAG, TEXT, listed, nullable, record, result
from mirrord.mcp.tool import Tool, Wire


class Ask(Arguments):
    """What sync_status takes."""

    path: Annotated[str | None, Field(description="A page, to learn whether its text is in the database.")] = None
    wait: Annotated[float | None, Field(ge=0, le=LONGEST, description="Seconds to wait for that.")] = None


def _status(session: Session, given: Ask) -> Wire:
    found = sync_status(session, given.path, given.wait)
    answer: dict[str, Any] = {
        "daemon": found.daemon,
        "pending": found.pending,
        "conflicts": found.conflicts,
        "problems": [{"path": one.path, "sentence": one.sentence} for one in found.problems],
        "halted": found.halted,
        "sentences": found.sentences,
    }
    if found.other_problems:
        answer["otherProblems"] = found.other_problems
    return answer if found.path is None else {**answer, **_page(found.path, found.digest, synced=found.synced)}


def _page(path: str, digest: str | None, *, synced: bool | None) -> Wire:
    return {"path": path, "digest": digest, "synced": synced}


SYNC_STATUS = Tool(
    "sync_status",
    "How sync stands",
    "Says whether the daemon runs, what waits, which pages hold conflicts or have problems; with a path, whether "
    "that page's text is in the database. Pages can be used while the daemon is down. "
    'Example: {"path": "Projects/Alpha.md", "wait": 5}.',
    Ask,
    result(
        {
            "daemon": FLAG,
            "pending": nullable(COUNT),
            "conflicts": listed(TEXT),
            "problems": listed(record(path=TEXT, sentence=TEXT)),
            "halted": FLAG,
            "sentences": listed(TEXT),
            "path?": TEXT,
            "digest?": TEXT,
            "synced?": FLAG,
        }
    ),
    _status,
    waits=True,
)
