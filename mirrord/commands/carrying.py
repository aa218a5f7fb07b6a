"""Import of a foreign tree into the mirror: only missing files, never over existing ones."""

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

_BATCH_FILES, _BATCH_BYTES = 500, 64 << 20  # files placed together; other commands may write between batches


@dataclass(slots=True)
class Carried:
    """Outcome of an import. landed: imported files. same, differing, left: as in Survey, found since the survey."""

    landed: int = 0
    same: int = 0
    differing: list[Omission] = field(default_factory=list)
    left: list[Omission] = field(default_factory=list)


def carry(session: Session, source: Tree, found: Survey, report: Progress) -> Carried:
    """
    Import the new files of a survey of *source*, durably; the daemon handles them like any save.

    Raises Failed if the disk is full or another command blocks; imported files stay, and a repetition continues.
    """
    carried = Carried()
    try:
        for batch in batches(found.new, lambda file: file.size, size=_BATCH_BYTES, most=_BATCH_FILES):
            _carry_batch(session, source, batch, carried)
            report(carried.landed, len(found.new))
        _make_folders(session, found.folders, carried)
    except Failed as error:
        progress_text = (
            f"{carried.landed} of {len(found.new)} files are in the mirror; import again, and it goes on from there."
        )
        raise Failed(error.code, error.kind, f"{error} {progress_text}", error.instruction) from error
    return carried


def _carry_batch(session: Session, source: Tree, batch: Sequence[Coming], carried: Carried) -> None:
    targets = [file.target for file in batch]
    with (
        session.writing() as journal,
        lock_for(session.tree, targets),
        arriving(session.tree, journal, targets[0]) as arrival,
    ):
        landing = Landing(session.tree, arrival.descriptor)
        digests = dict(_build_files(source, batch, landing, carried))
        landing.seal()
        hindered = landing.land()
        landing.seal()
        carried.landed += len(digests) - len(hindered)
    for path, hindrance in hindered.items():
        _note_hindrance(session, path, digests[path], hindrance, carried)


def _build_files(
    source: Tree, batch: Sequence[Coming], landing: Landing, carried: Carried
) -> Iterator[tuple[str, Digest]]:
    for file in batch:
        try:
            data = read(source, file.source)
        except (OSError, Refused, Busy, Damaged) as error:
            carried.left.append(why_left(file.source, error))
        else:
            landing.write(file.target, data)
            yield file.target, digest_of(data)


def _note_hindrance(session: Session, path: str, digest: Digest, hindrance: Hindrance, carried: Carried) -> None:
    """Note a file that could not be placed, perhaps because an equal file exists by now."""
    if not isinstance(hindrance, FileExistsError):
        carried.left.append(Omission(path, f"{path!r} cannot be written: {reason_of(hindrance)}"))
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
