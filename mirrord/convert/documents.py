"""Convert a document, once its archive is found harmless, to Markdown with its pictures as files, by pandoc."""

import importlib.util
import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO
from urllib.parse import unquote

from mirrord.convert import text_encoding
from mirrord.convert.converter_process import LOCKED, run_confined
from mirrord.convert.file_kinds import PICTURES_DIRECTORY, Kind
from mirrord.domain.long_work import Progress, ignore_progress
from mirrord.errors import Damaged, Unavailable
from mirrord.markdown.frontmatter.page_text import with_unix_endings
from mirrord.markdown.read.reader import read_document
from mirrord.markdown.write.render import splice_document

MAX_FILES = 20_000
MAX_UNPACKED_BYTES = 400 << 20  # unpacked, in total
MAX_RATIO = 200  # of all bytes unpacked to packed; XML shrinks by 20 to 60
_SMALL_BYTES = 20 << 20  # unpacked; never a bomb, at any ratio
_ENCRYPTED_FLAG = 0x1


def check_archive(stream: BinaryIO) -> None:
    """Raise Damaged, with a sentence, for an archive that must not be opened."""
    stream.seek(0)
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            manifest = _read_manifest(archive)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
        raise Damaged("it is damaged or was not transferred completely") from None
    if any(member.flag_bits & _ENCRYPTED_FLAG for member in members) or b"manifest:encryption-data" in manifest:
        raise Damaged("it is protected by a password; save it without one")
    unpacked, packed = sum(member.file_size for member in members), sum(member.compress_size for member in members)
    if len(members) > MAX_FILES or unpacked > MAX_UNPACKED_BYTES or unpacked > max(_SMALL_BYTES, MAX_RATIO * packed):
        raise Damaged("it would unpack to far more than a document holds")


def _read_manifest(archive: zipfile.ZipFile) -> bytes:
    """The manifest of an OpenDocument, which lists encrypted files."""
    try:
        with archive.open("META-INF/manifest.xml") as stream:
            return stream.read(1 << 20)
    except (KeyError, RuntimeError, zipfile.BadZipFile):
        return b""


_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_NUMBERED_HEADING = re.compile(rb"(?:\\ilvl\d+)?(\\outlinelevel\d)([^{}]*)(?:\{\\listtext[^{}]*\})?\\ls\d+")


def prepare_rtf(data: bytes) -> bytes:
    """
    *data* in ASCII, with headings that are no list items.

    Writer makes every heading an item of a numbered list too; the converter would keep that and split lists.
    """
    ascii_only = _BEYOND_ASCII.sub(lambda match: b"\\'%02x" % match[0][0], data)
    return _NUMBERED_HEADING.sub(rb"\1\2", ascii_only)


_FILTER = str(Path(__file__).with_name("plain.lua"))
_MEDIA_DIRECTORY = "media"
_INSTALL = "pip install 'mirrord[documents]'"
_TARGET = "gfm+footnotes+tex_math_dollars-tex_math_gfm-raw_html-smart-alerts-autolink_bare_uris-emoji"
_MAX_CHARACTERS = 10 << 20  # characters of a page
_MAX_FORMATTED_CHARACTERS = (
    250_000  # characters up to which a page is formatted again, which takes up to 20 seconds per MB
)
_PICTURE = re.compile(r"\]\(((?:media/|picture-)[^()\s]+)\)")


@dataclass(frozen=True, slots=True)
class ConvertedDocument:
    """
    text: Markdown with pictures as `PICTURES/NAME`. pictures: their files by NAME.
    """

    text: str
    pictures: Mapping[str, Path]


def convert_document(kind: Kind, source: Path, place: Path, progress: Progress = ignore_progress) -> ConvertedDocument:
    """
    Convert the document *source* to Markdown.

    place: an empty directory to work in, which has the pictures afterwards.
    Raises Damaged, with the end of a sentence, if that fails; Unavailable if the converters are not installed.
    """
    prepared = _PREPARATIONS[kind](source, place, progress)
    result = place / "result.md"
    arguments = ["--sandbox", f"--extract-media={_MEDIA_DIRECTORY}", f"--lua-filter={_FILTER}", "--wrap=none"]
    formats = [f"--from={_FORMATS[kind]}", f"--to={_TARGET}", f"--output={result.name}"]
    if run_confined([pandoc_path(), *arguments, *formats, "--", prepared.name], place) != 0 or not result.exists():
        raise Damaged("it is damaged, or is not what its name says")
    return _to_converted(result.read_text(encoding="utf-8"), place)


def pandoc_path() -> str:
    """The path of the converter, without an import of its package."""
    spec = importlib.util.find_spec("pypandoc")
    program = Path(spec.origin).parent / "files" / "pandoc" if spec and spec.origin else None
    if program is None or not program.is_file():
        raise Unavailable(f"The packages that convert documents are missing: {_INSTALL}.")
    return str(program)


def _link_unchecked(source: Path, place: Path, _: Progress) -> Path:
    return _link_document(source, place)


def _link_archive(source: Path, place: Path, _: Progress) -> Path:
    with source.open("rb") as stream:
        check_archive(stream)
    return _link_document(source, place)


def _link_document(source: Path, place: Path) -> Path:
    """Link the document under a name that cannot look like an option."""
    target = place / "document"
    target.symlink_to(source)
    return target


def _rewriter(change: Callable[[bytes], bytes]) -> Callable[[Path, Path, Progress], Path]:
    def write(source: Path, place: Path, _: Progress) -> Path:
        target = place / "document"
        try:
            target.write_bytes(change(source.read_bytes()))
        except UnicodeDecodeError:
            raise Damaged("its letters are in no encoding that is known") from None
        return target

    return write


def _convert_pdf(source: Path, place: Path, progress: Progress) -> Path:
    if importlib.util.find_spec("pdfplumber") is None:
        raise Unavailable(f"The packages that read PDF are missing: {_INSTALL}.")
    target = place / "document"
    code = run_confined([sys.executable, "-P", "-m", "mirrord.convert.pdf", str(source), target.name], place, progress)
    if code == LOCKED:
        raise Damaged("it is protected by a password; save it without one")
    if code != 0:
        raise Damaged("it is damaged or was not transferred completely")
    return target


_PREPARATIONS: Mapping[Kind, Callable[[Path, Path, Progress], Path]] = MappingProxyType(
    {
        Kind.DOCX: _link_archive,
        Kind.ODT: _link_archive,
        Kind.EPUB: _link_archive,
        Kind.RTF: _rewriter(prepare_rtf),
        Kind.HTML: _rewriter(text_encoding.prepare_html),
        Kind.PDF: _convert_pdf,
    }
)
_FORMATS: Mapping[Kind, str] = MappingProxyType(
    {
        **{kind: kind.name.lower() for kind in (Kind.DOCX, Kind.ODT, Kind.EPUB, Kind.RTF, Kind.HTML)},
        Kind.PDF: "html",
    }
)


def _to_converted(markdown: str, place: Path) -> ConvertedDocument:
    """Number the pictures by appearance, and format the Markdown in the style of this project unless it is too long."""
    if len(markdown) > _MAX_CHARACTERS:
        raise Damaged(f"its text has {len(markdown)} characters; a source has at most {_MAX_CHARACTERS}; split it")
    pictures = dict[str, Path]()

    def numbered(match: re.Match[str]) -> str:
        file = _picture_file(place, match[1])
        if file is None:
            return match[0]
        existing_name = next((name for name, picture in pictures.items() if picture == file), None)
        name = existing_name or f"image-{len(pictures) + 1}{file.suffix.lower()}"
        pictures[name] = file
        return f"]({PICTURES_DIRECTORY}/{name})"

    text = _PICTURE.sub(numbered, with_unix_endings(markdown))
    text = splice_document("", read_document(text), "\n") if len(text) <= _MAX_FORMATTED_CHARACTERS else text
    return ConvertedDocument(text, MappingProxyType(pictures))


def _picture_file(place: Path, src: str) -> Path | None:
    """The file of a picture, if a converter created it here; None: it is elsewhere."""
    file = place / unquote(src)
    return file if file.resolve().is_relative_to(place.resolve()) and file.is_file() else None
