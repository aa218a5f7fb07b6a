"""Commands that list attachments and show what is in them: the text of documents, pictures, else type and size."""

import mimetypes
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from mirrord.commands.core.answer_budget import json_bytes, take_fitting
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.list_cursor import cursor_of, start_index
from mirrord.commands.core.page_paths import check_inside, find_directory_card, original_of
from mirrord.commands.core.session import Session
from mirrord.convert.file_kinds import HEAD_BYTES, PICTURES_DIRECTORY, Kind, kind_of
from mirrord.convert.text_encoding import is_text, text_of
from mirrord.domain.entry import MAX_FILE_BYTES, Digest, digest_of
from mirrord.domain.place import name_key
from mirrord.errors import Damaged, Unavailable
from mirrord.mirror.read.page_catalogue import Snapshot
from mirrord.mirror.tree.observed_work import report_work
from mirrord.mirror.tree.tree_layout import directory_of

MAX_PICTURE_BYTES = 3 << 20  # bytes of a picture that is shown: models take about 5 MB of base64
MAX_TEXT_CHARACTERS = 20_000  # characters of a text in one answer, unless the caller names a limit
_MAX_SHOWING_PAGES = 5  # pages by path for each listed attachment
_ITEM_BYTES = 60  # of a listed attachment's keys and numbers
_CACHED_TEXTS = 2  # converted documents that are kept to be read on
_PICTURE_TYPES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_UNKNOWN_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class ListedAttachment:
    """
    An attachment. media_type: by its name. size: in bytes.

    pages: the first pages that link to it, show it or were made from it. page_count: how many there are.
    """

    path: str
    media_type: str
    size: int
    pages: tuple[str, ...]
    page_count: int


@dataclass(frozen=True, slots=True)
class AttachmentList:
    """Attachments by path. next_cursor: None at the end. total: how many there are in all parts of the list."""

    attachments: list[ListedAttachment]
    next_cursor: str | None
    total: int


@dataclass(frozen=True, slots=True)
class AttachmentContent:
    """
    What is in an attachment. text: a part of its text; None: it has none. total_chars: of the whole text.

    next_offset: where the text goes on; None: at its end. picture: its bytes, if it can be shown. note: a sentence.
    """

    path: str
    media_type: str
    size: int
    text: str | None = None
    total_chars: int = 0
    next_offset: int | None = None
    picture: bytes | None = None
    note: str | None = None


def list_attachments(session: Session, path: str | None = None, cursor: str | None = None) -> AttachmentList:
    """
    List the attachments of the whole tree, or with *path* those below a page or folder and those that this page shows.

    cursor: from an answer to the same question, to continue it.
    """
    with translating_errors():
        snapshot = session.catalogue.snapshot()
        paths = sorted(_attachments_of(session, snapshot, path))
        question = f"attachments {path}"
        start = start_index(paths, cursor, question)
        listed, has_more = take_fitting(_describe_each(session, snapshot, paths[start:]), None, _size_of)
    next_cursor = cursor_of(question, listed[-1].path, start + len(listed)) if has_more else None
    return AttachmentList(listed, next_cursor, len(paths))


def read_attachment(
    session: Session, path: str, offset: int = 0, limit: int = MAX_TEXT_CHARACTERS
) -> AttachmentContent:
    """
    Show the text of a document or text file from *offset* on, up to *limit* characters, or the bytes of a picture.

    Other files have type and size only. Raises Failed: ATTACHMENT_NOT_FOUND, UNREADABLE, NO_CONVERTER.
    """
    with translating_errors():
        path, size = _find_attachment(session, path)
        content = AttachmentContent(path, _media_type(path), size)
        if size > MAX_FILE_BYTES:
            return replace(content, note="The file is too large to be read.")
        data = session.tree.read(path, MAX_FILE_BYTES)[0]
    kind = kind_of(BytesIO(data), path.rpartition("/")[2])
    has_letters = kind in (Kind.TEXT, Kind.MARKDOWN) or (kind is Kind.IMAGE and is_text(data[:HEAD_BYTES]))  # SVG
    if kind is Kind.IMAGE and not has_letters:
        return _picture_content(content, data)
    if not (kind.is_document or has_letters):
        return replace(content, note=_NOTES_OF_KINDS.get(kind, _NOTE_OF_OTHERS))
    text, note = _text_in(path, kind, data)
    part = text[offset : offset + limit]
    next_offset = offset + len(part) if offset + len(part) < len(text) else None
    return replace(content, text=part, total_chars=len(text), next_offset=next_offset, note=note)


def _attachments_of(session: Session, snapshot: Snapshot, path: str | None) -> set[str]:
    card = find_directory_card(session, snapshot, path)
    if card is None:
        return set(snapshot.attachments)
    directory = directory_of(card.path, card.kind)
    below = {attachment for attachment in snapshot.attachments if attachment.startswith(f"{directory}/")}
    targets = {target.path for target in session.linkage.outgoing(snapshot, card.path)} | {original_of(card)}
    return below | {target for target in targets if target is not None and target in snapshot.attachments}


def _describe_each(session: Session, snapshot: Snapshot, paths: list[str]) -> Iterator[ListedAttachment]:
    originals: dict[str, list[str]] = {}
    for page, card in snapshot.summaries_by_path.items():
        if (original := original_of(card)) is not None:
            originals.setdefault(original, []).append(page)
    for path in paths:
        pages = sorted({*session.linkage.incoming(snapshot, path), *originals.get(path, ())})
        size = snapshot.attachments[path].size
        yield ListedAttachment(path, _media_type(path), size, tuple(pages[:_MAX_SHOWING_PAGES]), len(pages))


def _size_of(attachment: ListedAttachment) -> int:
    return _ITEM_BYTES + json_bytes(attachment.path, attachment.media_type, attachment.pages)


def _media_type(path: str) -> str:
    return mimetypes.guess_type(path.rpartition("/")[2])[0] or _UNKNOWN_TYPE


def _find_attachment(session: Session, path: str) -> tuple[str, int]:
    """The attachment at *path* as the tree spells it, and its size. Raises Failed, ATTACHMENT_NOT_FOUND."""
    check_inside(path)
    attachments = session.catalogue.snapshot().attachments
    path = path.removeprefix("./")
    spellings = [path] if path in attachments else [key for key in attachments if name_key(key) == name_key(path)]
    if len(spellings) != 1:
        raise _attachment_not_found(path, list(attachments))
    return spellings[0], attachments[spellings[0]].size


def _attachment_not_found(path: str, attachments: list[str]) -> Failed:
    name = path.rpartition("/")[2]
    nearest = [other for other in attachments if other.rpartition("/")[2] == name] or get_close_matches(
        path, attachments, 3
    )
    suggestion = f"Did you mean {' or '.join(nearest[:3])}? " if nearest else ""
    if path.endswith(".md"):
        suggestion = "Pages are read by read_page. "
    return Failed(
        "ATTACHMENT_NOT_FOUND",
        "not_found",
        f"There is no attachment at path: {path}",
        f"{suggestion}Call list_attachments for the paths, which begin at the tenant's root.",
        {"nearest": nearest[:3]},
    )


def _picture_content(content: AttachmentContent, data: bytes) -> AttachmentContent:
    media_type = next((name for magic, name in _PICTURE_TYPES if data.startswith(magic)), None)
    if media_type is None:
        note = "Pictures of this type cannot be shown; PNG, JPEG, GIF and WebP can."
        return replace(content, note=note)
    if (size := content.size) > MAX_PICTURE_BYTES:
        note = f"The picture is not shown: it has {size} bytes, and at most {MAX_PICTURE_BYTES} are shown."
        return replace(content, media_type=media_type, note=note)
    return replace(content, media_type=media_type, picture=data)


_NOTES_OF_KINDS = {
    Kind.AUDIO: "This is a recording of sound; only its type and size can be told.",
    Kind.VIDEO: "This is a film; only its type and size can be told.",
    Kind.LOCKED: "This document is protected by a password, so its text cannot be read.",
    Kind.OLD: "This document has a format of before 2007 that is not read; as docx or PDF it would be.",
}
_NOTE_OF_OTHERS = "This is no text, document or picture; only its type and size can be told."


def _text_in(path: str, kind: Kind, data: bytes) -> tuple[str, str | None]:
    """The text of a file, and a sentence about what is missing in it."""
    try:
        return _converted_texts.text_of(kind, data) if kind.is_document else (text_of(data), None)
    except UnicodeDecodeError:
        raise _unreadable(path, "its letters are in no encoding that is known") from None
    except Damaged as error:
        raise _unreadable(path, str(error)) from error
    except Unavailable as error:
        raise Failed("NO_CONVERTER", "unavailable", str(error), "Ask an operator to install them.") from error


def _unreadable(path: str, why: str) -> Failed:
    return Failed("UNREADABLE", "invalid", f"{path} cannot be read: {why}.", "Tell the person, who may mend the file.")


class _ConvertedTexts:
    """The last converted documents: who reads one in parts does not wait for the conversion again."""

    def __init__(self) -> None:
        self._texts: OrderedDict[Digest, tuple[str, str | None]] = OrderedDict()
        self._guard = threading.Lock()

    def text_of(self, kind: Kind, data: bytes) -> tuple[str, str | None]:
        """The text of a document, and a sentence about what is missing in it. Raises Damaged, Unavailable."""
        digest = digest_of(data)
        with self._guard:
            cached = self._texts.get(digest)
        converted = cached or _convert(kind, data)
        with self._guard:
            self._texts[digest] = converted
            self._texts.move_to_end(digest)
            while len(self._texts) > _CACHED_TEXTS:
                self._texts.popitem(last=False)
        return converted


_converted_texts = _ConvertedTexts()


def _convert(kind: Kind, data: bytes) -> tuple[str, str | None]:
    from mirrord.convert import documents  # noqa: PLC0415  (slow to load; would delay every agent's server)

    with TemporaryDirectory(prefix="mirrord-") as directory:
        source, place = Path(directory) / "original", Path(directory) / "place"
        source.write_bytes(data)
        place.mkdir()
        converted = documents.convert_document(kind, source, place, report_work)
    text = converted.text.replace(f"]({PICTURES_DIRECTORY}/", "](")
    if not text.strip():
        return text, "The document has no text; it may be a scan."
    count = len(converted.pictures)
    return text, f"Pictures in the document are named, not shown: {count}." if count else None
