"""Files get other paths, as one plan."""

from collections.abc import Mapping

from mirrord.commands.failure import modified
from mirrord.commands.session import Session
from mirrord.errors import Stale
from mirrord.mirror import relocation
from mirrord.mirror.journal import Journal
from mirrord.mirror.relocation import Plan, Rename


def relocate(session: Session, journal: Journal, moves: Mapping[str, str]) -> None:
    """Give files and directories other paths, in this order: all or none."""
    renames = []
    for source, target in moves.items():
        if (found := session.tree.stat(source)) is None:
            raise modified(source, None)
        renames.append(Rename(source, target, found.inode))
    try:
        relocation.carry_out(session.tree, journal, Plan(renames), lambda _: None)
    except Stale:
        raise modified(next(iter(moves)), None) from None
