"""Original files of sources: their bytes when handed over, and the Markdown that shows them."""

import hashlib
import mimetypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from urllib.parse import quote

from mirrord.commands.core import inputs
from mirrord.commands.core.failure import Failed, translating_errors
from mirrord.commands.core.session import Session
from mirrord.convert.file_kinds import PICTURES_DIRECTORY, Kind, kind_of
from mirrord.convert.text_encoding import text_of
from mirrord.domain.entry import Digest
from mirrord.domain.long_work import Progress
from mirrord.errors import Busy, Damaged, Unavailable
from mirrord.markdown.frontmatter.page_properties import Json, new_head, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.mirror.tree.kernel import stat_of
from mirrord.research.sources.source_listing import Holdings, Source

_PIECE_BYTES = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Original:
    """
    A file to import.

    place: its absolute path; None: unknown for a staged file. copy: a private file with its bytes; None: the file is
    too large for a copy. digest, sha256: of its bytes, the latter in hex.
    """

    name: str
    kind: Kind
    size: int
    digest: Digest
    sha256: str
    place: Path | None
    copy: Path | None


@contextmanager
def copy_original(session: Session, file_path: str, max_copied_bytes: int) -> Iterator[Original]:
    """
    Copy and hash the file at *file_path* within a `with` block. max_copied_bytes: largest size in bytes that is copied.

    Raises Failed as inputs.opened() does, and BUSY if the file is being written.
    """
    with (
        inputs.open_input(session, file_path) as (name, descriptor),
        TemporaryDirectory(prefix="mirrord-") as directory,
    ):
        before = stat_of(os.fstat(descriptor))
        copy = Path(directory) / "original" if before.size <= max_copied_bytes else None
        with translating_errors():
            digest, sha256 = _copy_and_hash(descriptor, copy)
            if stat_of(os.fstat(descriptor)) != before:
                raise Busy(f"{name!r} changed while it was read.")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            kind = kind_of(stream, name)
        yield Original(name, kind, before.size, digest, sha256, _place_of(session, file_path, descriptor), copy)


def _place_of(session: Session, file_path: str, descriptor: int) -> Path | None:
    """Path of the file; for a staged file its path at the time of the request, which was checked then."""
    if file_path not in session.staged:
        return inputs.path_of_descriptor(descriptor)
    place = session.staged[file_path].place
    return Path(place) if place is not None else None


def find_duplicates(session: Session, all_holdings: Holdings, sha256: str) -> list[Source]:
    """Sources imported from the same bytes."""
    try:
        hits = session.grep.matching_files(sha256).result().paths
    except Failed:
        return []
    return [
        source for source in all_holdings.sources if source.path in hits and _has_digest(session, source.path, sha256)
    ]


def _has_digest(session: Session, path: str, sha256: str) -> bool:
    content = session.catalogue.snapshot().read_text(path)
    return content is not None and content.text is not None and sha256 in PageText(content.text).head


def _copy_and_hash(descriptor: int, copy: Path | None) -> tuple[Digest, str]:
    blake2b, sha256 = hashlib.blake2b(digest_size=32), hashlib.sha256()
    offset = 0
    with Path(copy or os.devnull).open("wb") as target:
        while piece := os.pread(descriptor, _PIECE_BYTES, offset):
            blake2b.update(piece)
            sha256.update(piece)
            if copy is not None:
                target.write(piece)
            offset += len(piece)
    return Digest(blake2b.digest()), sha256.hexdigest()


IMPORT_CODE = "SOURCE_NOT_IMPORTED"
_ESCAPES = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "()<>[]| "})


@dataclass(frozen=True, slots=True)
class PageBody:
    """
    The page below its front matter; text: "" if the file has none.

    pictures: bytes by the names used in the text. warnings: sentences.
    """

    text: str
    pictures: dict[str, bytes]
    warnings: tuple[str, ...] = ()


def body_of(original: Original, progress: Progress) -> PageBody:
    """The body of a page made from *original*. Raises Failed if the file is unreadable."""
    name, kind = original.name, original.kind
    if kind in (Kind.TEXT, Kind.MARKDOWN):
        assert original.copy is not None
        return PageBody(_decode_text(name, original.copy.read_bytes()), {})
    if not kind.is_document:
        return PageBody("", {})
    from mirrord.convert import documents  # noqa: PLC0415  (slow to load; would delay every agent's server)

    assert original.copy is not None
    with TemporaryDirectory(prefix="mirrord-") as directory:
        try:
            converted = documents.convert_document(kind, original.copy, Path(directory), progress)
        except Damaged as error:
            raise unreadable_file(name, str(error)) from error
        except Unavailable as error:
            raise Failed(
                f"{IMPORT_CODE}/NO_CONVERTER", "unavailable", str(error), "Ask an operator to install them."
            ) from error
        pictures = {picture: file.read_bytes() for picture, file in converted.pictures.items()}
        empty = "The document has no text; it may be a scan." if not converted.text.strip() else None
        return PageBody(converted.text, pictures, tuple(filter(None, (_type_warning(name, kind), empty))))


def _type_warning(name: str, kind: Kind) -> str | None:
    """A warning if the type of a file differs from its name's ending."""
    ending = PurePath(name).suffix.lower()
    if ending in (f".{kind.value[1]}", "", ".htm", ".xhtml"):
        return None
    return f"{name!r} is {kind.name} despite its name, and was read as such."


def _decode_text(name: str, data: bytes) -> str:
    try:
        text = text_of(data)
    except UnicodeDecodeError:
        raise unreadable_file(name, "its letters are in no encoding that is known") from None
    if "\0" in text:
        raise unreadable_file(name, "it is not text: it holds NUL")
    return text


def unreadable_file(name: str, why: str) -> Failed:
    """Failure for an unreadable file; why: the end of a sentence."""
    sentence = f"{name!r} cannot be imported: {why}."
    return Failed(
        f"{IMPORT_CODE}/CONVERSION_FAILED",
        "invalid",
        sentence,
        "Mend the file, or import another; nothing was changed.",
    )


def render_page(body: PageBody, original: Original, keys: Mapping[str, Json], where: str, pictures: str) -> str:
    """
    Render the text of a page.

    keys: its front matter. where, pictures: links from the page to the original and to the pictures.
    """
    text = body.text.replace(f"]({PICTURES_DIRECTORY}/", f"]({quote(pictures).translate(_ESCAPES)}/")
    if not text.strip():
        text = f"{_embed_original(original, where)}\n"
    page = PageText(text)
    try:
        return with_keys(page, keys).text if page.head else new_head(keys) + text
    except Damaged:  # an unreadable front matter is plain text
        return new_head(keys) + text


def _embed_original(original: Original, where: str) -> str:
    """Markdown that embeds a file without text, or links to it."""
    target = quote(where, safe="/:%").translate(_ESCAPES) if "://" not in where else where
    label = "".join(f"\\{sign}" if sign in "\\[]" else sign for sign in original.name)
    if (mimetypes.guess_type(original.name)[0] or "").startswith("image/") and original.kind is Kind.IMAGE:
        return f"![{label}]({target})"
    is_medium = original.kind in (Kind.AUDIO, Kind.VIDEO)
    if is_medium and "://" not in where and not set(where) & set("[]|#"):
        return f"![[{where.removeprefix('./')}]]"
    return f"[{label}]({target})"
