"""A person brings a tree from anywhere into the mirror: files that it lacks, never over what is there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mirrord.commands.failure import Failed
from mirrord.commands.incoming import Coming, Survey, compared, read, why_left
from mirrord.commands.session import Session
from mirrord.domain.batches import batches
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.omission import Omission
from mirrord.domain.progress import Progress
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.mirror.arrival import arriving
from mirrord.mirror.landing import Hindrance, Landing
from mirrord.mirror.layout import printable
from mirrord.mirror.lock import lock_for
from mirrord.mirror.tree import Tree

_BATCH, _BATCH_BYTES = 500, 64 << 20  # files that land together; between two batches others may write


@dataclass(slots=True)
class Carried:
    """landed: files that are in the mirror now; same, differing, left: what a survey did not see yet, as there."""

    landed: int = 0
    same: int = 0
    differing: list[Omission] = field(default_factory=list)
    left: list[Omission] = field(default_factory=list)


def carry(session: Session, source: Tree, found: Survey, report: Progress) -> Carried:
    """
    Bring what a survey of *source* found new. It is durable afterwards; the daemon takes it in like any save.

    Raises Failed where the disk is full or another command does not end; what landed stays, and the next goes on.
    """
    carried = Carried()
    try:
        for batch in batches(found.new, lambda one: one.size, size=_BATCH_BYTES, most=_BATCH):
            _carry_batch(session, source, batch, carried)
            report(carried.landed, len(found.new))
        _make_folders(session, found.folders, carried)
    except Failed as error:
        here = f"{carried.landed} of {len(found.new)} files are in the mirror; import again, and it goes on from there."
        raise Failed(error.code, error.kind, f"{error} {here}", error.instruction) from error
    return carried


def _carry_batch(session: Session, source: Tree, batch: Sequence[Coming], carried: Carried) -> None:
    targets = [one.target for one in batch]
    with (
        session.writing() as journal,
        lock_for(session.tree, targets),
        arriving(session.tree, journal, targets[0]) as arrival,
    ):
        landing = Landing(session.tree, arrival.descriptor)
        digests = dict(_build(source, batch, landing, carried))
        landing.seal()
        hindered = landing.land()
        landing.seal()
        carried.landed += len(digests) - len(hindered)
    for path, why in hindered.items():
        _tell(session, path, digests[path], why, carried)


def _build(source: Tree, batch: Sequence[Coming], landing: Landing, carried: Carried) -> Iterator[tuple[str, Digest]]:
    for one in batch:
        try:
            data = read(source, one.source)
        except (OSError, Refused, Busy, Damaged) as error:
            carried.left.append(why_left(one.source, error))
        else:
            landing.write(one.target, data)
            yield one.target, digest_of(data)


def _tell(session: Session, path: str, digest: Digest, why: Hindrance, carried: Carried) -> None:
    """Something hindered a file; maybe the same one is there by now."""
    if not isinstance(why, FileExistsError):
        carried.left.append(Omission(path, f"{path!r} cannot be written: {reason_of(why)}"))
    elif (omission := compared(session.tree, path, digest)) is None:
        carried.same += 1
    else:
        carried.differing.append(omission)


def _make_folders(session: Session, folders: Sequence[str], carried: Carried) -> None:
    if not folders:
        return
    with session.writing() as journal, arriving(session.tree, journal, folders[0]) as arrival:
        landing = Landing(session.tree, arrival.descriptor)
        for path in folders:
            try:
                landing.make_directory(path)
            except (OSError, Refused) as error:
                sentence = f"The folder {printable(path)!r} cannot be made: {reason_of(error)}"
                carried.left.append(Omission(printable(path), sentence))
        landing.seal()
