"""Import a foreign tree into the mirror without overwriting anything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mirrord.commands.core.failure import Failed
from mirrord.commands.core.session import Session
from mirrord.commands.pages.tree_import_preview import (
    NewFile,
    TreeSurvey,
    compare_file,
    read_foreign_file,
    unreadable_omission,
)
from mirrord.domain.entry import Digest, digest_of
from mirrord.domain.long_work import Omission, Progress, split_into_batches
from mirrord.errors import Busy, Damaged, Refused, reason_of
from mirrord.mirror.tree.tenant_tree import Tree
from mirrord.mirror.tree.tree_layout import printable
from mirrord.mirror.write.bulk_create import FileBatch, Obstacle, build_directory
from mirrord.mirror.write.tree_locks import lock_for

_BATCH_FILES, _BATCH_BYTES = 500, 64 << 20  # files placed together; other commands may write between batches


@dataclass(slots=True)
class ImportOutcome:
    """
    Outcome of an import. imported_count: imported files. same, differing, omissions: as in Survey, found since the
    survey.
    """

    imported_count: int = 0
    same: int = 0
    differing: list[Omission] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)


def import_tree(session: Session, source: Tree, survey: TreeSurvey, report: Progress) -> ImportOutcome:
    """
    Import the new files of a survey of *source*, durably; the daemon handles them like any save.

    Raises Failed if the disk is full or another command blocks; imported files stay, and a repetition continues.
    """
    carried = ImportOutcome()
    try:
        for batch in split_into_batches(survey.new, lambda file: file.size, size=_BATCH_BYTES, max_items=_BATCH_FILES):
            _carry_batch(session, source, batch, carried)
            report(carried.imported_count, len(survey.new))
        _make_folders(session, survey.folders, carried)
    except Failed as error:
        counts = f"{carried.imported_count} of {len(survey.new)} files are in the mirror"
        progress_text = f"{counts}; import again, and it goes on from there."
        raise Failed(error.code, error.kind, f"{error} {progress_text}", error.instruction) from error
    return carried


def _carry_batch(session: Session, source: Tree, batch: Sequence[NewFile], carried: ImportOutcome) -> None:
    targets = [file.target for file in batch]
    with (
        session.writing() as journal,
        lock_for(session.tree, targets),
        build_directory(session.tree, journal, targets[0]) as arrival,
    ):
        landing = FileBatch(session.tree, arrival.descriptor)
        digests = dict(_build_files(source, batch, landing, carried))
        landing.sync()
        hindered = landing.move_into_place()
        landing.sync()
        carried.imported_count += len(digests) - len(hindered)
    for path, hindrance in hindered.items():
        _note_hindrance(session, path, digests[path], hindrance, carried)


def _build_files(
    source: Tree, batch: Sequence[NewFile], landing: FileBatch, carried: ImportOutcome
) -> Iterator[tuple[str, Digest]]:
    for file in batch:
        try:
            data = read_foreign_file(source, file.source)
        except (OSError, Refused, Busy, Damaged) as error:
            carried.omissions.append(unreadable_omission(file.source, error))
        else:
            landing.build(file.target, data)
            yield file.target, digest_of(data)


def _note_hindrance(session: Session, path: str, digest: Digest, hindrance: Obstacle, carried: ImportOutcome) -> None:
    """Note a file that could not be placed, perhaps because an equal file exists by now."""
    if not isinstance(hindrance, FileExistsError):
        carried.omissions.append(Omission(path, f"{path!r} cannot be written: {reason_of(hindrance)}"))
    elif (omission := compare_file(session.tree, path, digest)) is None:
        carried.same += 1
    else:
        carried.differing.append(omission)


def _make_folders(session: Session, folders: Sequence[str], carried: ImportOutcome) -> None:
    if not folders:
        return
    with session.writing() as journal, build_directory(session.tree, journal, folders[0]) as arrival:
        landing = FileBatch(session.tree, arrival.descriptor)
        for path in folders:
            try:
                landing.make_directory(path)
            except (OSError, Refused) as error:
                sentence = f"The folder {printable(path)!r} cannot be made: {reason_of(error)}"
                carried.omissions.append(Omission(printable(path), sentence))
        landing.sync()
