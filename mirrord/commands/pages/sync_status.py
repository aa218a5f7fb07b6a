"""The state of sync as files tell it, also when no daemon runs."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mirrord.commands.core.session import Session
from mirrord.domain.approval import MIN_DELETIONS
from mirrord.domain.entry import Digest
from mirrord.mirror.heartbeat import Heartbeat
from mirrord.mirror.tree.tree_layout import PAUSE_FILE

MAX_WAIT_SECONDS = 30.0  # longest wait, in seconds
_POLL_SECONDS = 0.01  # seconds between two checks
HALTED = "Deletions or emptied pages await the decision of a person, who sees them with `mirrord halts`."
_MAX_LISTED = 20  # conflicts and problems in one answer
_CONFLICT = re.compile(r" \(conflict \d{4}-\d\d-\d\d \d{6}Z [0-9a-f]{6}\)")


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why a file is not, or not completely, synced."""

    path: str
    sentence: str


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """
    The status of synchronisation.

    daemon: a daemon works on this tenant. pending: changes it has not carried over yet; None without a daemon, and for
    tokens with patterns, to whom numbers and sentences about all files would tell what they may not see.
    conflicts: pages with the other text of a conflict. halted: deletions or emptied pages await a person.
    sentences: reasons why nothing is synced now.
    path, digest: of the requested page, digest in hex; then problems are only its own. synced: Postgres has that
    digest. other_problems: number of problems of other files.
    """

    daemon: bool
    pending: int | None
    conflicts: tuple[str, ...]
    problems: tuple[Problem, ...]
    halted: bool
    sentences: tuple[str, ...]
    path: str | None = None
    digest: str | None = None
    synced: bool | None = None
    other_problems: int = 0


def sync_status(session: Session, path: str | None = None, wait_seconds: float | None = None) -> SyncStatus:
    """
    Report the status of synchronisation; with *path*, also whether the current page is in Postgres.

    wait_seconds: longest wait for that, at most LONGEST, while a daemon runs; None: do not wait.
    """
    from mirrord.commands.pages import page_writes  # noqa: PLC0415  (rarely needed here, and slow to load for users of LONGEST)

    page = page_writes.find_page(session, path) if path is not None else None
    synced = (
        _wait_until_synced(session, page.path, page.digest, min(wait_seconds or 0.0, MAX_WAIT_SECONDS))
        if page is not None
        else None
    )
    facts, alive = _read_facts(session)
    is_whole = session.tree.whole is session.tree
    problems, others = _select_problems(session, facts, page.path if page is not None else None)
    return SyncStatus(
        daemon=alive,
        pending=facts["pending"] if alive and is_whole else None,
        conflicts=_find_conflicts(session),
        problems=problems,
        halted=bool(facts.get("halted")),
        sentences=(*_read_sentences(session, alive=alive), *([HALTED] if facts.get("halted") else [])),
        path=page.path if page is not None else None,
        digest=page.digest.hex() if page is not None else None,
        synced=synced,
        other_problems=others,
    )


def why_halted(session: Session) -> str | None:
    """Why nothing big should change now: a person paused sync, or losses await one; None: nothing stops it."""
    stat = session.tree.whole.stat(PAUSE_FILE)
    if stat is not None and stat.is_file:
        return f"Sync is paused by a person, with the file {PAUSE_FILE}."
    if _read_facts(session)[0].get("halted"):
        return HALTED
    return None


def note_on_deletions(session: Session, count: int) -> str | None:
    """What who deletes *count* pages should know: that this waits for a person, or may; None: nothing."""
    if session.draft is not None:
        return None
    if _read_facts(session)[0].get("halted"):
        return f"{HALTED} This deletion joins them, unless it is undone."
    if count > MIN_DELETIONS:
        return f"More than {MIN_DELETIONS} deletions at once may wait until a person confirms them: see sync_status."
    return None


def is_daemon_alive(session: Session) -> bool:
    """Whether a daemon works on this tenant."""
    return _read_facts(session)[1]


def _wait_until_synced(session: Session, path: str, digest: Digest, patience: float) -> bool:
    end = time.monotonic() + patience
    while not (synced := _is_synced(session, path, digest)):
        if time.monotonic() >= end or not _read_facts(session)[1]:
            break
        time.sleep(_POLL_SECONDS)
    return synced


def _is_synced(session: Session, path: str, digest: Digest) -> bool:
    agreed = session.catalogue.agreed.by_paths([path]).get(path)
    return agreed is not None and agreed.digest == digest


def _read_facts(session: Session) -> tuple[Mapping[str, Any], bool]:
    """The daemon's facts about this tenant, and whether it is alive."""
    heart = Heartbeat(session.tree.root.parent)
    tenants = (heart.read() or {}).get("tenants", {})
    own_facts = tenants.get(session.tenant_name)
    return own_facts or {}, own_facts is not None and heart.is_alive()


def _select_problems(session: Session, facts: Mapping[str, Any], path: str | None) -> tuple[tuple[Problem, ...], int]:
    """Problems of *path*, None: of all files; and the number of others."""
    listed = [Problem(*problem) for problem in facts.get("problems", [])]
    problems = listed if session.tree.whole is session.tree else [*map(_without_reason, _shown(session, listed))]
    of_path = [problem for problem in problems if path in (None, problem.path)]
    return tuple(of_path[:_MAX_LISTED]), len(problems) - len(of_path)


def _shown(session: Session, problems: Sequence[Problem]) -> list[Problem]:
    return [problem for problem in problems if session.tree.shows(problem.path)]


def _without_reason(problem: Problem) -> Problem:
    """A problem for who sees a part of the tree: reasons name other files."""
    return Problem(problem.path, "is not synced as it is; a person sees the reason with `mirrord status`")


def _read_sentences(session: Session, *, alive: bool) -> tuple[str, ...]:
    """Sentences about this tenant, without the path of the mirror on this machine; reasons tell of hidden files."""
    if not alive:
        return ("No daemon is running on this tenant: pages can be read and written, and are synced when one does.",)
    if session.tree.whole is not session.tree:
        return ()
    degraded = (Heartbeat(session.tree.root.parent).read() or {}).get("degraded", [])
    prefix = f"{session.tenant_name}: "
    return tuple(
        sentence.removeprefix(prefix).replace(f"{session.tree.root}/", "")
        for sentence in degraded
        if sentence.startswith(prefix)
    )


def _find_conflicts(session: Session) -> tuple[str, ...]:
    pages = session.catalogue.snapshot().pages
    return tuple(islice((path for path in pages if _CONFLICT.search(path)), _MAX_LISTED))
