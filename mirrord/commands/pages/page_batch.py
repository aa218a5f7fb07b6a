"""Create several pages and attachments together with their events, all or none."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mirrord.commands.core import command_events, page_paths
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.commands.pages import move_plan
from mirrord.domain.event import EventType
from mirrord.errors import Stale
from mirrord.mirror.write import batch_rename
from mirrord.mirror.write.bulk_create import BuildDirectory, build_directory
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.rename_plan import BatchPlan, Rename

EventFacts = tuple[EventType, Mapping[str, object]]


@dataclass(slots=True)
class Load:
    """Files built for creation. targets: path of each file or directory by its name in the arrival."""

    arrival: BuildDirectory
    targets: dict[str, str] = field(default_factory=dict)

    def add(self, target: str, data: bytes) -> None:
        """Add a file for *target*."""
        name = f"{len(self.targets)}"
        self.arrival.write(name, data)
        self.targets[name] = target

    def add_directory(self, target: str, files: Mapping[str, bytes]) -> None:
        """Add a directory for *target* with its files by name; it appears together with them."""
        name = f"{len(self.targets)}"
        self.arrival.make_directory(name)
        for file, data in files.items():
            self.arrival.write(f"{name}/{file}", data)
        self.targets[name] = target


@contextmanager
def building_load(session: Session, journal: Journal, directory: str) -> Iterator[Load]:
    """An empty load within a `with` block. directory: its target, from which groups and ACLs are taken."""
    with translating_errors(), build_directory(session.tree, journal, directory) as arrival:
        yield Load(arrival)


def create_files(
    session: Session,
    journal: Journal,
    load: Load,
    new_events: Sequence[EventFacts] = (),
    lines: tuple[str, str] | None = None,
) -> None:
    """
    Move a load into place, inside `writing()`. new_events: its events. lines: or a file of them, as Plan's `told`.

    Raises Failed, EXISTS, and creates nothing if one of the targets exists by now.
    """
    for target in load.targets.values():
        page_paths.check_not_ignored(session.tree, target)
        move_plan.promote_leaves(session, journal, target)
    load.arrival.sync_all()
    renames = [
        Rename(load.arrival.path_in_tree(name), target, load.arrival.inode_of(name))
        for name, target in load.targets.items()
    ]
    note = command_events.event_lines(session, new_events) if new_events else None
    try:
        batch_rename.carry_out_plan(
            session.tree, journal, BatchPlan(renames, appended_lines=note, staged_lines=lines), lambda _: None
        )
    except Stale as error:
        raise Failed("EXISTS", "conflict", str(error), "Look again, then retry.") from error
