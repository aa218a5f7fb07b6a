"""Creation of several pages and attachments together with their events: all or nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mirrord.commands import events, paths, promotion
from mirrord.commands.failure import Failed, explained
from mirrord.commands.session import Session
from mirrord.domain.event import Type
from mirrord.errors import Stale
from mirrord.mirror import relocation
from mirrord.mirror.arrival import Arrival, arriving
from mirrord.mirror.journal import Journal
from mirrord.mirror.plan import Plan, Rename

Told = tuple[Type, Mapping[str, object]]


@dataclass(slots=True)
class Load:
    """Files built for creation. targets: path of each file or directory by its name in the arrival."""

    arrival: Arrival
    targets: dict[str, str] = field(default_factory=dict)

    def add(self, target: str, data: bytes) -> None:
        """Add a file for *target*."""
        name = f"{len(self.targets)}"
        self.arrival.write(name, data)
        self.targets[name] = target

    def add_directory(self, target: str, files: Mapping[str, bytes]) -> None:
        """Add a directory for *target* with its files by name; it appears together with them."""
        name = f"{len(self.targets)}"
        self.arrival.directory(name)
        for file, data in files.items():
            self.arrival.write(f"{name}/{file}", data)
        self.targets[name] = target


@contextmanager
def building(session: Session, journal: Journal, directory: str) -> Iterator[Load]:
    """An empty load within a `with` block. directory: its target, from which groups and ACLs are taken."""
    with explained(), arriving(session.tree, journal, directory) as arrival:
        yield Load(arrival)


def bring(
    session: Session,
    journal: Journal,
    load: Load,
    told: Sequence[Told] = (),
    lines: tuple[str, str] | None = None,
) -> None:
    """
    Move a load into place, inside `writing()`. told: its events. lines: or a file of them, as Plan's `told`.

    Raises Failed, EXISTS, and creates nothing if one of the targets exists by now.
    """
    for target in load.targets.values():
        paths.check_kept(session.tree, target)
        promotion.promote(session, journal, target)
    load.arrival.seal()
    renames = [
        Rename(load.arrival.within(name), target, load.arrival.inode(name)) for name, target in load.targets.items()
    ]
    note = events.lines(session, told) if told else None
    try:
        relocation.carry_out(session.tree, journal, Plan(renames, note=note, told=lines), lambda _: None)
    except Stale as error:
        raise Failed("EXISTS", "conflict", str(error), "Look again, then retry.") from error
