"""Whose tree is this? The start of a tree as a pure decision."""

from dataclasses import dataclass
from enum import Enum, auto

from mirrord.domain.entry import MirrorId, TenantId
from mirrord.mirror.tree_marker import Marker


class Start(Enum):
    """The ways a tree and its mirror row come together."""

    RESUME = auto()  # rule 1: the id matches
    MOVED = auto()  # rule 2: the same mirror at another path
    COPIED = auto()  # rule 2: the other path still carries it; a new mirror
    NEW = auto()  # rule 3: neither id nor mirror row
    RECLAIM = auto()  # rule 4: the id is lost, the tree is recognised
    HALT = auto()  # rules 2, 5: it cannot be decided


@dataclass(frozen=True, slots=True)
class KnownMirror:
    """A mirror row of this tenant."""

    mirror: MirrorId
    host: str | None
    root: str | None
    leased: bool  # a daemon holds its lease now


@dataclass(frozen=True, slots=True)
class Circumstances:
    """
    The facts that can be seen at start.

    host, root: of this tree. old_root_carries: whether the recorded root still has the same id; None: cannot be seen.
    recognised: share (0 to 1) of the recorded mirror's base paths that exist in this tree.
    """

    tenant: TenantId
    host: str
    root: str
    old_root_carries: bool | None = None
    recognised: float = 0.0


@dataclass(frozen=True, slots=True)
class StartDecision:
    """mirror: None: a new id is made. adopting: the first pass deletes nothing."""

    start: Start
    mirror: MirrorId | None
    adopting: bool
    sentence: str = ""


def decide_start(marker: Marker | None, mirrors: list[KnownMirror], circumstances: Circumstances) -> StartDecision:
    """How to start on this tree."""
    if marker is not None and marker.tenant_id == circumstances.tenant:
        return _decide_with_marker(marker, mirrors, circumstances)
    at_root = next((row for row in mirrors if (row.host, row.root) == (circumstances.host, circumstances.root)), None)
    if at_root is None and marker is None:
        return StartDecision(Start.NEW, None, adopting=True)
    if at_root is not None and circumstances.recognised >= 0.5:
        return StartDecision(Start.RECLAIM, at_root.mirror, adopting=True)
    if at_root is None:
        sentence = "This tree's .mirrord/id belongs to another tenant."
    else:
        sentence = "This tree has no .mirrord/id and is not the one that was mirrored here: an unmounted disk?"
    return StartDecision(Start.HALT, None, adopting=True, sentence=sentence)


def _decide_with_marker(marker: Marker, mirrors: list[KnownMirror], circumstances: Circumstances) -> StartDecision:
    row = next((row for row in mirrors if row.mirror == marker.mirror), None)
    if row is None:
        # The database does not know this mirror (restored from before it): nothing may be deleted.
        return StartDecision(Start.NEW, marker.mirror, adopting=True)
    if (row.host, row.root) == (circumstances.host, circumstances.root):
        return StartDecision(Start.RESUME, row.mirror, adopting=False)
    if circumstances.old_root_carries is False and not row.leased:
        return StartDecision(Start.MOVED, row.mirror, adopting=False)
    if circumstances.old_root_carries:
        return StartDecision(Start.COPIED, None, adopting=True)
    return StartDecision(
        Start.HALT,
        None,
        adopting=True,
        sentence=f"This tree was mirrored at {row.host}:{row.root}; whether it was copied or moved cannot be seen.",
    )
