"""People and agents import files: each becomes a source, a page that can be read, beside the file it was made from."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePath

from mirrord.codec.frontmatter import Json
from mirrord.commands import attachments, names, originals, siblings, writing
from mirrord.commands.belongings import original_link
from mirrord.commands.bringing import bring, building
from mirrord.commands.failure import Failed, explained, invalid
from mirrord.commands.holdings import Folder, Holdings, Reference, Source, holdings, is_top, top
from mirrord.commands.originals import Original
from mirrord.commands.rendition import CODE, Body, body_of, page_of, unreadable
from mirrord.commands.session import Session
from mirrord.convert.kinds import Kind
from mirrord.domain.approval import Preview
from mirrord.domain.entry import Digest, EntryId, digest_of, new_id
from mirrord.domain.event import Type
from mirrord.domain.number import number_of
from mirrord.domain.place import clean, name_key, numbered
from mirrord.domain.progress import Progress, part_of, unobserved
from mirrord.domain.source import CREATED, ORIGINAL, SHA256, SOURCE, SOURCE_TYPE, TYPE
from mirrord.mirror import copies
from mirrord.mirror.card import LIMIT
from mirrord.mirror.journal import Journal
from mirrord.mirror.label import Label
from mirrord.mirror.layout import attachment_path, is_temporary, page_path

_TAKEN, _CONVERTED = 5, 95  # of a hundred parts of the work, when the file was read, when its text is there


@dataclass(frozen=True, slots=True)
class Imported:
    """
    A source that was made.

    path: of its page. original: the path of what it was made from, in the tree; None: it is only linked.
    duplicates: sources that were made from the same bytes before. warnings: sentences.
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
class _Place:
    """Where a source goes. directory: of its page."""

    name: str
    folder: Folder | None
    directory: str

    @property
    def page(self) -> str:
        return page_path(self.directory, self.name)

    @property
    def folder_id(self) -> int | None:
        return self.folder.number if self.folder is not None else None


def import_file(
    session: Session,
    path: str,
    copy: bool = True,
    folder_id: Reference = None,
    name: str | None = None,
    *,
    progress: Progress = unobserved,
) -> Imported:
    """
    Make a source of a file of this machine: of a text or document its text, of a recording or picture a page with it.

    path: below a directory of `attach_from`. copy: keep the file, unchanged, beside the page; else the page links to
    where it is. folder_id: where it goes; None, 0: in no folder. name: None: the file's, with a number if it is taken.
    """
    with originals.taken(session, path, LIMIT) as original:
        _check(original, path, copy=copy)
        _placed(session, original, folder_id, name)  # before the work, which may take a minute
        progress(_TAKEN, 100)
        with explained():
            body = body_of(original, part_of(progress, _TAKEN, _CONVERTED))
        progress(_CONVERTED, 100)
        with session.writing() as journal:
            found = holdings(session)
            place = _place(session, found, original, folder_id, name)
            same = originals.same_before(session, found, original.sha256)
            kept = _kept_at(session, place, original) if copy else None
            done = _brought(session, journal, place, original, body, kept, same)
        progress(100, 100)
        return done


def _brought(
    session: Session,
    journal: Journal,
    place: _Place,
    original: Original,
    body: Body,
    kept: str | None,
    same: Sequence[Source],
) -> Imported:
    """Page, original and pictures in their places."""
    entry, pictures = new_id(), _pictures(session, place)
    data = writing.encoded(_page(place, original, body, kept, entry, pictures))
    result = _result(place, original, kept, entry, digest_of(data), same, body.warnings)
    with building(session, journal, place.directory) as load:
        if kept is not None and session.tree.stat(kept) is None:
            assert original.copy is not None
            load.add(kept, original.copy.read_bytes())
        for picture, content in body.pictures.items():
            load.add(f"{pictures}/{picture}", content)
        load.add(place.page, data)
        with copies.kept(journal, Label(entry, None, digest_of(data)), data):
            bring(session, journal, load, [(Type.SOURCE_IMPORTED, _facts(result, original))])
    session.saw(place.page, digest_of(data))
    return result


def preview_import_file(
    session: Session, path: str, copy: bool = True, folder_id: Reference = None, name: str | None = None
) -> Preview:
    """What import_file would do; whether the document can be converted shows when it is."""
    with originals.taken(session, path, LIMIT) as original:
        _check(original, path, copy=copy)
        found = holdings(session)
        place = _place(session, found, original, folder_id, name)
        same = [one.name for one in originals.same_before(session, found, original.sha256)]
        facts = {
            "name": place.name,
            "path": place.page,
            "source_type": original.kind.source_type.value,
            "size": original.size,
            "sha256": original.sha256,
            "duplicates": same,
        }
        facts |= {} if copy else {"original": str(original.place)}
        kind = original.kind.name.lower()
        linked = "" if copy else f", with a link to {original.place}"
        again = f"; the same file was imported before as {', '.join(map(repr, same))}" if same else ""
        sentence = f"The {kind} file {original.name!r} ({original.size} bytes) would become the source {place.name!r} "
        return Preview(f"{sentence}{names.where(place.folder)}{linked}{again}.", facts)


def _check(original: Original, path: str, *, copy: bool) -> None:
    """Raises Failed for what cannot become a source."""
    name, kind = original.name, original.kind
    needs_text = kind.is_document or kind in (Kind.TEXT, Kind.MARKDOWN)
    if original.copy is None and (copy or needs_text):
        sentence = f"{name!r} has {original.size} bytes; at most {LIMIT} are copied into the tree."
        instruction = "Split it." if needs_text else "Import it with copy=false: then the page links to where it is."
        raise invalid(f"{CODE}/TOO_LARGE", sentence, instruction)
    if original.size == 0:
        raise invalid(f"{CODE}/EMPTY", f"{name!r} is empty.", "Choose another file.")
    if kind is Kind.LOCKED:
        raise unreadable(name, "it is protected by a password; save it without one")
    if kind is Kind.OLD:
        raise unreadable(name, "it is in a format of before 2007; save it as .docx or .odt")
    if not copy and original.place is None:
        raise invalid(f"{CODE}/NOT_LINKED", f"{name!r} was staged and has no place to link to.", "Import it with copy.")


def _placed(session: Session, original: Original, folder_id: Reference, name: str | None) -> _Place:
    return _place(session, holdings(session), original, folder_id, name)


def _place(session: Session, found: Holdings, original: Original, folder_id: Reference, name: str | None) -> _Place:
    folder = folder_of(found, folder_id, CODE)
    directory = folder.path if folder is not None else top(session)
    if name is None:
        chosen = free_name(session, found, directory, PurePath(original.name).stem or original.name)
    else:
        chosen = names.checked(name, CODE)
        for other in found.named(chosen):
            raise names.taken(chosen, CODE, other.folder)
        names.check_free(session, directory, chosen, CODE, folder)
    place = _Place(chosen, folder, directory)
    names.check_place(session, place.page, chosen, CODE)
    return place


def folder_of(found: Holdings, folder_id: Reference, code: str) -> Folder | None:
    """The folder somebody asks for; None: they want none. Raises Failed, `CODE/FOLDER_NOT_FOUND`."""
    folder = None if is_top(folder_id) else found.folder(folder_id)
    if folder is None and not is_top(folder_id):
        sentence = f"There is no folder with the id {folder_id}."
        raise Failed(f"{code}/FOLDER_NOT_FOUND", "not_found", sentence, "Use an id that list_folders shows.")
    return folder


def free_name(session: Session, found: Holdings, directory: str, wanted: str) -> str:
    """A name like *wanted* that no source has, nor anything else in *directory*, whatever its case."""
    used = siblings.taken(session.tree, directory) | {name_key(one.name) for one in found.sources}
    name = clean(unicodedata.normalize("NFC", wanted), "source")
    number, free = 1, name
    while name_key(free) in used:
        number += 1
        free = numbered(name, number)
    return free


def _kept_at(session: Session, place: _Place, original: Original) -> str:
    """Where the file goes, or is already, in the tree."""
    name = clean(original.name, "original")
    name = f"{name}.original" if is_temporary(name) else name
    return attachments.place(session, place.directory, name, original.digest)[0]


def _pictures(session: Session, place: _Place) -> str:
    """The directory of attachments that the page's pictures get."""
    numbers = (place.name if number == 1 else numbered(place.name, number) for number in count(1))
    paths = (attachment_path(place.directory, name) for name in numbers)
    return next(path for path in paths if session.tree.stat(path) is None)


def _page(place: _Place, original: Original, body: Body, kept: str | None, entry: EntryId, pictures: str) -> str:
    """The text of the page."""
    assert kept is not None or original.place is not None
    where = original_link(place.page, kept) if kept is not None else Path(str(original.place)).as_uri()
    keys: dict[str, Json] = {
        "id": str(entry),
        "title": place.name,
        TYPE: SOURCE,
        SOURCE_TYPE: original.kind.source_type.value,
        ORIGINAL: where,
        SHA256: original.sha256,
        CREATED: datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return page_of(body, original, keys, where, original_link(place.page, pictures))


def _result(
    place: _Place,
    original: Original,
    kept: str | None,
    entry: EntryId,
    digest: Digest,
    same: Sequence[Source],
    warnings: tuple[str, ...],
) -> Imported:
    duplicates = tuple({"source_id": one.number, "name": one.name, "path": one.path} for one in same)
    if same:
        listed = ", ".join(repr(one.name) for one in same)
        warnings = (*warnings, f"The same file was imported before, as {listed}.")
    return Imported(
        *(number_of(entry), original.kind.source_type.value, place.name, place.page, str(entry), digest.hex()),
        *(place.folder_id, kept, duplicates, warnings),
    )


def _facts(result: Imported, original: Original) -> dict[str, object]:
    shown = ("source_id", "source_type", "name", "path", "page_id", "digest", "folder_id", "original")
    return {**{key: getattr(result, key) for key in shown}, "sha256": original.sha256, "size": original.size}
