"""Kills and errors at every system call of an apply of a change set; then the next command, and the tree is whole."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.core.failure import Failed
from tests.faults.injection import ERRORS, Gate, Point, Traced, traced
from tests.unit.commands.test_change_laws import pages, prepare, session_in


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An apply without a fault. template: a directory with the tenant's tree before it; after: its pages afterwards."""

    template: Path
    change_set: str
    before: dict[str, bytes]
    after: dict[str, bytes]
    trace: Traced

    def points(self) -> Iterator[Point]:
        """Every place where it can be killed, and every call that can fail for want of space."""
        for call, times in sorted(self.trace.counts().items()):
            for number in range(1, times + 1):
                yield Point(call, number)
                if call in ERRORS["ENOSPC"]:
                    yield Point(call, number, "ENOSPC")


def rehearse(directory: Path) -> Rehearsal:
    """Prepare a draft, and apply it in a copy."""
    template = directory / "template"
    change_set = prepare(template / "acme")
    before = pages(template / "acme")
    root = _copied(template, directory / "rehearsal")
    trace = traced(lambda gate: _apply(root, change_set, gate), directory / "trace")
    assert not trace.failed, trace.said
    return Rehearsal(template, change_set, before, pages(root), trace)


def play(directory: Path, rehearsal: Rehearsal, point: Point) -> list[str]:
    """Apply with a fault at *point*; sentences about what does not hold after the next command."""
    root = _copied(rehearsal.template, directory / str(point).replace(" ", "-"))
    trace = traced(lambda gate: _apply(root, rehearsal.change_set, gate), root.parent / "trace", point)
    found = [f"ENDED {trace.said.strip().splitlines()[-1]}"] if trace.failed else []
    with session_in(root, "mcp-next") as session:
        with session.writing():
            pass  # as the next command does
        if pages(root) not in (rehearsal.before, rehearsal.after):
            found.append(f"{point}: neither all nor nothing: {sorted(pages(root))}")
        elif pages(root) == rehearsal.before:
            apply_changes(session, rehearsal.change_set)
    if pages(root) != rehearsal.after:
        found.append(f"{point}: it cannot be applied again")
    if not found:
        shutil.rmtree(root.parent)
    return found


def _copied(template: Path, directory: Path) -> Path:
    shutil.copytree(template, directory)
    return directory / "acme"


def _apply(root: Path, change_set: str, gate: Gate) -> None:
    with session_in(root, "mcp-dying") as session:
        gate()
        try:
            apply_changes(session, change_set)
        except (Failed, OSError):  # a full disk is told, and nothing happened
            return
