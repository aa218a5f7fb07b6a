"""A document becomes Markdown, with its pictures as files: by pandoc, and before it what that does not read."""

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from mirrord.codec.reader import read
from mirrord.codec.splice import spliced
from mirrord.codec.text import unix
from mirrord.convert import archive, rtf, web
from mirrord.convert.kinds import PICTURES, Kind
from mirrord.convert.running import LOCKED, run
from mirrord.domain.progress import Progress, unobserved
from mirrord.errors import Damaged, Unavailable

MOST = 50 << 20  # bytes of a document
_FILTER = str(Path(__file__).with_name("plain.lua"))
_MEDIA = "media"
_INSTALL = "pip install 'mirrord[documents]'"
_TARGET = "gfm+footnotes+tex_math_dollars-tex_math_gfm-raw_html-smart-alerts-autolink_bare_uris-emoji"
_LONGEST = 10 << 20  # characters of a page
_SPELT = 250_000  # characters up to which a page is spelt anew, which takes up to 20 seconds a MB
_PICTURE = re.compile(r"\]\(((?:media/|picture-)[^()\s]+)\)")


@dataclass(frozen=True, slots=True)
class Converted:
    """
    text: Markdown whose pictures are `PICTURES/NAME`. pictures: their files by NAME.
    """

    text: str
    pictures: Mapping[str, Path]


def convert(kind: Kind, source: Path, place: Path, progress: Progress = unobserved) -> Converted:
    """
    The document *source* as Markdown.

    place: an empty directory to work in, where the pictures then are.
    Raises Damaged, with the end of a sentence, if it cannot be; Unavailable if the converters are not installed.
    """
    prepared = _PREPARED[kind](source, place, progress)
    result = place / "result.md"
    arguments = ["--sandbox", f"--extract-media={_MEDIA}", f"--lua-filter={_FILTER}", "--wrap=none"]
    formats = [f"--from={_FORMATS[kind]}", f"--to={_TARGET}", f"--output={result.name}"]
    if run([pandoc(), *arguments, *formats, "--", prepared.name], place) != 0 or not result.exists():
        raise Damaged("it is damaged, or is not what its name says")
    return _converted(result.read_text(encoding="utf-8"), place)


def pandoc() -> str:
    """Where the converter is, without importing the package that brings it."""
    found = importlib.util.find_spec("pypandoc")
    program = Path(found.origin).parent / "files" / "pandoc" if found and found.origin else None
    if program is None or not program.is_file():
        raise Unavailable(f"Documents are converted by packages that lack here: {_INSTALL}.")
    return str(program)


def _as_it_is(source: Path, place: Path, _: Progress) -> Path:
    return _linked(source, place)


def _archive(source: Path, place: Path, _: Progress) -> Path:
    with source.open("rb") as stream:
        archive.check(stream)
    return _linked(source, place)


def _linked(source: Path, place: Path) -> Path:
    """The document under a name that no option looks like."""
    target = place / "document"
    target.symlink_to(source)
    return target


def _rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path, Path, Progress], Path]:
    def write(source: Path, place: Path, _: Progress) -> Path:
        target = place / "document"
        try:
            target.write_bytes(change(source.read_bytes()))
        except UnicodeDecodeError:
            raise Damaged("its letters are in no encoding that is known") from None
        return target

    return write


def _from_pdf(source: Path, place: Path, progress: Progress) -> Path:
    if importlib.util.find_spec("pdfplumber") is None:
        raise Unavailable(f"PDF is read by packages that lack here: {_INSTALL}.")
    target = place / "document"
    code = run([sys.executable, "-P", "-m", "mirrord.convert.pdf", str(source), target.name], place, progress)
    if code == LOCKED:
        raise Damaged("it is protected by a password; save it without one")
    if code != 0:
        raise Damaged("it is damaged or was not transferred completely")
    return target


_PREPARED: Mapping[Kind, Callable[[Path, Path, Progress], Path]] = MappingProxyType(
    {
        Kind.DOCX: _archive,
        Kind.ODT: _archive,
        Kind.EPUB: _archive,
        Kind.RTF: _rewritten(rtf.prepared),
        Kind.HTML: _rewritten(web.prepared),
        Kind.PDF: _from_pdf,
    }
)
_FORMATS: Mapping[Kind, str] = MappingProxyType(
    {
        **{kind: kind.name.lower() for kind in (Kind.DOCX, Kind.ODT, Kind.EPUB, Kind.RTF, Kind.HTML)},
        Kind.PDF: "html",
    }
)


def _converted(markdown: str, place: Path) -> Converted:
    """With pictures numbered as they appear, and spelt as this project spells Markdown unless that would take long."""
    if len(markdown) > _LONGEST:
        raise Damaged(f"its text has {len(markdown)} characters; a source has at most {_LONGEST}; split it")
    pictures = dict[str, Path]()

    def numbered(found: re.Match[str]) -> str:
        file = _within(place, found[1])
        if file is None:
            return found[0]
        known = next((name for name, one in pictures.items() if one == file), None)
        name = known or f"image-{len(pictures) + 1}{file.suffix.lower()}"
        pictures[name] = file
        return f"]({PICTURES}/{name})"

    text = _PICTURE.sub(numbered, unix(markdown))
    text = spliced("", read(text), "\n") if len(text) <= _SPELT else text
    return Converted(text, MappingProxyType(pictures))


def _within(place: Path, src: str) -> Path | None:
    """The file that a picture is, if a converter made it here; None: it is somewhere else."""
    file = place / unquote(src)
    return file if file.resolve().is_relative_to(place.resolve()) and file.is_file() else None
