"""Pages and attachments that come into the tree together, with the events that tell of them: all, or none."""

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
    """What is built to be brought. targets: by names in the arrival, where each file or directory goes."""

    arrival: Arrival
    targets: dict[str, str] = field(default_factory=dict)

    def add(self, target: str, data: bytes) -> None:
        """A file that will be at *target*."""
        name = f"{len(self.targets)}"
        self.arrival.write(name, data)
        self.targets[name] = target

    def add_directory(self, target: str, files: Mapping[str, bytes]) -> None:
        """A directory that will be at *target* with its files in it, by their names: nobody ever sees it without."""
        name = f"{len(self.targets)}"
        self.arrival.directory(name)
        for file, data in files.items():
            self.arrival.write(f"{name}/{file}", data)
        self.targets[name] = target


@contextmanager
def building(session: Session, journal: Journal, directory: str) -> Iterator[Load]:
    """An empty load, for the length of a `with`; directory: where it goes, whose groups and ACLs it gets."""
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
    Let a load be in its place, inside `writing()`. told: the events of it; lines: or a file of them, as Plan's `told`.

    Raises Failed, EXISTS, if something is in one of the places by now; then nothing is.
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
