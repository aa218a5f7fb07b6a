"""How sync stands, as far as files tell: also where no daemon runs."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mirrord.commands.session import Session
from mirrord.domain.entry import Digest
from mirrord.mirror.heartbeat import Heartbeat

LONGEST = 30.0  # seconds to wait at most
_PAUSE = 0.01  # seconds between two looks
_MOST = 20  # conflicts and problems in one answer
_CONFLICT = re.compile(r" \(conflict \d{4}-\d\d-\d\d \d{6}Z [0-9a-f]{6}\)")


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps a file from being synced, or not wholly."""

    path: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Standing:
    """
    daemon: whether one runs and works on this tenant. pending: changes it knows of and has not carried over; None: no
    daemon. conflicts: pages that hold the other text of a conflict. halted: deletions wait for a person. sentences:
    why nothing is synced now.
    path, digest: of the page that was asked for, digest in hex; then problems are only its own. synced: whether
    Postgres has that digest. other_problems: how many there are of other files.
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


def sync_status(session: Session, path: str | None = None, wait_seconds: float | None = None) -> Standing:
    """
    Tell how sync stands; with *path*, whether the page as it is now is in Postgres.

    wait_seconds: wait so long for that, LONGEST at most, while a daemon runs; None: do not wait.
    """
    from mirrord.commands import writing  # noqa: PLC0415  (most ask without a page, and LONGEST is wanted by all)

    page = writing.find(session, path) if path is not None else None
    synced = _wait(session, page.path, page.digest, min(wait_seconds or 0.0, LONGEST)) if page is not None else None
    facts, alive = _facts(session)
    problems, others = _problems(facts, page.path if page is not None else None)
    return Standing(
        daemon=alive,
        pending=facts["pending"] if alive else None,
        conflicts=_conflicts(session),
        problems=problems,
        halted=bool(facts.get("halted")),
        sentences=_sentences(session, alive=alive),
        path=page.path if page is not None else None,
        digest=page.digest.hex() if page is not None else None,
        synced=synced,
        other_problems=others,
    )


def _wait(session: Session, path: str, digest: Digest, patience: float) -> bool:
    end = time.monotonic() + patience
    while not (synced := _is_synced(session, path, digest)):
        if time.monotonic() >= end or not _facts(session)[1]:
            break
        time.sleep(_PAUSE)
    return synced


def _is_synced(session: Session, path: str, digest: Digest) -> bool:
    agreed = session.catalogue.agreed.of([path]).get(path)
    return agreed is not None and agreed.digest == digest


def _facts(session: Session) -> tuple[Mapping[str, Any], bool]:
    """What the daemon says of this tenant, and whether it is alive."""
    heart = Heartbeat(session.tree.root.parent)
    tenants = (heart.read() or {}).get("tenants", {})
    mine = tenants.get(session.tenant_name)
    return mine or {}, mine is not None and heart.alive()


def _problems(facts: Mapping[str, Any], path: str | None) -> tuple[tuple[Problem, ...], int]:
    """Those of *path*, None: of all files; and how many of others."""
    every = [Problem(*one) for one in facts.get("problems", [])]
    own = [one for one in every if path in (None, one.path)]
    return tuple(own[:_MOST]), len(every) - len(own)


def _sentences(session: Session, *, alive: bool) -> tuple[str, ...]:
    """Only of this tenant, and without the place of the mirror on this machine."""
    if not alive:
        return ("No daemon is running on this tenant: pages can be read and written, and are synced when one does.",)
    said = (Heartbeat(session.tree.root.parent).read() or {}).get("degraded", [])
    own = f"{session.tenant_name}: "
    return tuple(one.removeprefix(own).replace(f"{session.tree.root}/", "") for one in said if one.startswith(own))


def _conflicts(session: Session) -> tuple[str, ...]:
    pages = session.catalogue.look().pages
    return tuple(islice((path for path in pages if _CONFLICT.search(path)), _MOST))
