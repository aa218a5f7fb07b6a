"""
Kills and errors at every system call of an apply of a change set, whole or in part; then the next command.

The tree is as before or as afterwards; what is not applied can be applied again, and so can what a person left out.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirrord.commands.changes import draft_session
from mirrord.commands.changes.apply_command import apply_changes
from mirrord.commands.core.failure import Failed
from mirrord.domain.review import ReviewChoice
from tests.faults.injection import ERRORS, Gate, Point, Traced, traced
from tests.unit.commands.test_change_laws import pages, prepare, session_in

CHOICES = {  # what a person accepts of the draft that prepare() makes
    "whole": ReviewChoice(),
    "part": ReviewChoice(rejected=frozenset({"New/Page.md", "Archive/Old.md"})),
    "edited": ReviewChoice(
        texts={"Inbox.md": "# Inbox\n\nWritten by a person.\n"}, rejected=frozenset({"Archive/Alpha.md"})
    ),
}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """
    An apply without a fault. template: a directory with the tenant's tree before it; after: its pages afterwards.

    completed: its pages when the remainder, if there is one, is applied too.
    """

    name: str
    template: Path
    change_set: str
    before: dict[str, bytes]
    after: dict[str, bytes]
    completed: dict[str, bytes]
    trace: Traced

    def points(self) -> Iterator[Point]:
        """Every place where it can be killed, and every call that can fail for want of space."""
        for call, times in sorted(self.trace.counts().items()):
            for number in range(1, times + 1):
                yield Point(call, number)
                if call in ERRORS["ENOSPC"]:
                    yield Point(call, number, "ENOSPC")


def rehearse(directory: Path, name: str = "whole") -> Rehearsal:
    """Prepare a draft, and apply it in a copy, as the choice *name* wants."""
    template = directory / f"template-{name}"
    change_set = prepare(template / "acme")
    before = pages(template / "acme")
    root = _copied(template, directory / f"rehearsal-{name}")
    trace = traced(lambda gate: _apply(root, change_set, name, gate), directory / "trace")
    assert not trace.failed, trace.output
    after = pages(root)
    _apply_remainder(root, change_set)
    return Rehearsal(name, template, change_set, before, after, pages(root), trace)


def play(directory: Path, rehearsal: Rehearsal, point: Point) -> list[str]:
    """Apply with a fault at *point*; sentences about what does not hold after the next command."""
    root = _copied(rehearsal.template, directory / f"{rehearsal.name}-{point}".replace(" ", "-"))
    name, change_set = rehearsal.name, rehearsal.change_set
    trace = traced(lambda gate: _apply(root, change_set, name, gate), root.parent / "trace", point)
    sentences = [f"ENDED {trace.output.strip().splitlines()[-1]}"] if trace.failed else []
    with session_in(root, "mcp-next") as session:
        with session.writing():
            pass  # as the next command does
        if pages(root) not in (rehearsal.before, rehearsal.after):
            sentences.append(f"{point}: neither all nor nothing: {sorted(pages(root))}")
        elif pages(root) == rehearsal.before:
            apply_changes(session, change_set, choice=CHOICES[name])
    if pages(root) != rehearsal.after:
        sentences.append(f"{point}: it cannot be applied again")
    try:
        _apply_remainder(root, change_set)
    except Failed as failed:
        sentences.append(f"{point}: what was left out is gone: {failed}")
    if pages(root) != rehearsal.completed:
        sentences.append(f"{point}: what was left out cannot be applied: {sorted(pages(root))}")
    if not sentences:
        shutil.rmtree(root.parent)
    return sentences


def _copied(template: Path, directory: Path) -> Path:
    shutil.copytree(template, directory)
    return directory / "acme"


def _apply(root: Path, change_set: str, name: str, gate: Gate) -> None:
    with session_in(root, "mcp-dying") as session:
        gate()
        try:
            apply_changes(session, change_set, choice=CHOICES[name])
        except (Failed, OSError):  # a full disk is told, and nothing happened
            return


def _apply_remainder(root: Path, change_set: str) -> None:
    """Apply what the person left out, as the agent can."""
    with session_in(root, "mcp-remainder") as session:
        remainder = draft_session.find_draft(session, change_set).remainder
        if remainder is not None:
            apply_changes(session, remainder)
