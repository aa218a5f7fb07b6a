"""The command that imports a file as a source."""

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mirrord.commands.core.command_plan import Plan, command, opening_journal
from mirrord.commands.core.failure import invalid_argument, translating_errors
from mirrord.commands.core.page_paths import original_link
from mirrord.commands.core.session import Session
from mirrord.commands.pages import page_writes
from mirrord.commands.pages.page_batch import building_load, create_files
from mirrord.convert.file_kinds import Kind
from mirrord.domain.approval import Preview
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, EntryId, digest_of, new_id
from mirrord.domain.event import EventType
from mirrord.domain.long_work import Progress, ignore_progress, progress_of_part
from mirrord.errors import Stale
from mirrord.markdown.frontmatter.page_properties import Json
from mirrord.mirror.write import written_copies
from mirrord.mirror.write.journal import Journal
from mirrord.mirror.write.journal_labels import Label
from mirrord.research.sources import original_files, source_listing
from mirrord.research.sources.import_target import ImportTarget, ImportWish, choose_target
from mirrord.research.sources.original_files import (
    IMPORT_CODE,
    Original,
    PageBody,
    body_of,
    render_page,
    unreadable_file,
)
from mirrord.research.sources.source_kinds import CREATED, ORIGINAL, SHA256, SOURCE, SOURCE_TYPE, TYPE, number_of
from mirrord.research.sources.source_listing import (
    Reference,
)

_READ_PERCENT, _CONVERTED_PERCENT = 5, 95  # progress when the file is read, and when its text is converted


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """
    An imported source.

    path: of its page. original: path of the original file in the tree; None: it is only linked.
    duplicates: sources imported from the same bytes before. warnings: sentences.
    """

    source_id: int
    source_type: str
    name: str
    path: str
    page_id: str
    digest: str
    folder_id: int | None
    original: str | None
    duplicates: tuple[dict[str, object], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _NewSource:
    """A source that is being imported."""

    target: ImportTarget
    original: Original
    body: PageBody


@dataclass(frozen=True, slots=True)
class _FileImport(Plan[ImportedSource]):
    """
    The import of a file; its text is converted only when it is carried out, and conversion errors appear then.

    resources: the copy of *original*.
    """

    original: Original
    wish: ImportWish
    target: ImportTarget
    progress: Progress
    resources: ExitStack

    def preview(self, session: Session) -> Preview:
        original, place = self.original, self.target.place
        duplicates = [source.name for source in self.target.duplicates]
        facts = {
            "name": place.name,
            "path": place.page,
            "source_type": original.kind.source_type.value,
            "size": original.size,
            "sha256": original.sha256,
            "duplicates": duplicates,
        }
        facts |= {} if self.wish.is_copied else {"original": str(original.place)}
        kind = original.kind.name.lower()
        link_note = "" if self.wish.is_copied else f", with a link to {original.place}"
        duplicate_note = (
            f"; the same file was imported before as {', '.join(map(repr, duplicates))}" if duplicates else ""
        )
        sentence = f"The {kind} file {original.name!r} ({original.size} bytes) would become the source {place.name!r} "
        sentence += f"{source_listing.folder_phrase(place.folder)}{link_note}{duplicate_note}."
        return Preview(sentence, facts, (), self.target.bases(session))

    def carry_out(self, session: Session, journal: Journal) -> ImportedSource:
        original, progress = self.original, self.progress
        progress(_READ_PERCENT, 100)
        with translating_errors():
            body = body_of(original, progress_of_part(progress, _READ_PERCENT, _CONVERTED_PERCENT))
        progress(_CONVERTED_PERCENT, 100)
        with session.writing():
            if choose_target(session, original, self.wish) != self.target:  # the conversion may have taken a minute
                raise Stale(f"{original.name!r} would become another source by now.")
            imported = _bring_files(session, journal, _NewSource(self.target, original, body))
        progress(100, 100)
        return imported

    def close(self) -> None:
        self.resources.close()


@command("import_file", inputs=("path",), is_long=True, lock=opening_journal)
def import_file(
    session: Session,
    path: str,
    copy: bool = True,
    folder_id: Reference = None,
    name: str | None = None,
    *,
    progress: Progress = ignore_progress,
) -> Plan[ImportedSource]:
    """
    Import a file of this machine as a source: the text of a text or document, or a page with a recording or picture.

    path: below a directory of `attach_from`. copy: keep the file, unchanged, beside the page; else the page links to
    its path. folder_id: the target folder; None, 0: no folder. name: None: the file's, numbered if it is taken.
    """
    with ExitStack() as stack:
        original = stack.enter_context(original_files.copy_original(session, path, MAX_FILE_BYTES))
        _check_original(original, path, copy=copy)
        wish = ImportWish(copy, folder_id, name)
        target = choose_target(session, original, wish)
        return _FileImport(original, wish, target, progress, stack.pop_all())


def _bring_files(session: Session, journal: Journal, source: _NewSource) -> ImportedSource:
    """Write page, original and pictures to their places."""
    target, original, entry = source.target, source.original, new_id()
    place, copy_path = target.place, target.copy_path
    data = page_writes.encode_page(_render_page(source, entry))
    result = _result_of(source, entry, digest_of(data))
    with building_load(session, journal, place.directory) as load:
        if copy_path is not None and session.tree.stat(copy_path) is None:
            assert original.copy is not None
            load.add(copy_path, original.copy.read_bytes())
        for picture, content in source.body.pictures.items():
            load.add(f"{target.pictures}/{picture}", content)
        load.add(place.page, data)
        with written_copies.copy_during_write(journal, Label(entry, None, digest_of(data)), data):
            create_files(session, journal, load, [(EventType.SOURCE_IMPORTED, _facts_of(result, original))])
    session.note_shown(place.page, digest_of(data))
    return result


def _check_original(original: Original, path: str, *, copy: bool) -> None:
    """Raises Failed for a file that cannot become a source."""
    name, kind = original.name, original.kind
    needs_text = kind.is_document or kind in (Kind.TEXT, Kind.MARKDOWN)
    if original.copy is None and (copy or needs_text):
        sentence = f"{name!r} has {original.size} bytes; at most {MAX_FILE_BYTES} are copied into the tree."
        instruction = "Split it." if needs_text else "Import it with copy=false: then the page links to where it is."
        raise invalid_argument(f"{IMPORT_CODE}/TOO_LARGE", sentence, instruction)
    if original.size == 0:
        raise invalid_argument(f"{IMPORT_CODE}/EMPTY", f"{name!r} is empty.", "Choose another file.")
    if kind is Kind.LOCKED:
        raise unreadable_file(name, "it is protected by a password; save it without one")
    if kind is Kind.OLD:
        raise unreadable_file(name, "it is in a format of before 2007; save it as .docx or .odt")
    if not copy and original.place is None:
        raise invalid_argument(
            f"{IMPORT_CODE}/NOT_LINKED", f"{name!r} was staged and has no place to link to.", "Import it with copy."
        )


def _render_page(source: _NewSource, entry: EntryId) -> str:
    """Render the text of the page."""
    target, original = source.target, source.original
    place, copy_path = target.place, target.copy_path
    assert copy_path is not None or original.place is not None
    original_target = (
        original_link(place.page, copy_path) if copy_path is not None else Path(str(original.place)).as_uri()
    )
    keys: dict[str, Json] = {
        "id": str(entry),
        "title": place.name,
        TYPE: SOURCE,
        SOURCE_TYPE: original.kind.source_type.value,
        ORIGINAL: original_target,
        SHA256: original.sha256,
        CREATED: datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return render_page(source.body, original, keys, original_target, original_link(place.page, target.pictures))


def _result_of(source: _NewSource, entry: EntryId, digest: Digest) -> ImportedSource:
    target, warnings = source.target, source.body.warnings
    place = target.place
    if target.duplicates:
        names = ", ".join(repr(duplicate.name) for duplicate in target.duplicates)
        warnings = (*warnings, f"The same file was imported before, as {names}.")
    return ImportedSource(
        source_id=number_of(entry),
        source_type=source.original.kind.source_type.value,
        name=place.name,
        path=place.page,
        page_id=str(entry),
        digest=digest.hex(),
        folder_id=place.folder_id,
        original=target.copy_path,
        duplicates=tuple(
            {"source_id": duplicate.number, "name": duplicate.name, "path": duplicate.path}
            for duplicate in target.duplicates
        ),
        warnings=warnings,
    )


def _facts_of(result: ImportedSource, original: Original) -> dict[str, object]:
    fields = ("source_id", "source_type", "name", "path", "page_id", "digest", "folder_id", "original")
    return {**{key: getattr(result, key) for key in fields}, "sha256": original.sha256, "size": original.size}
