"""Body of a source page: the text of its original file, or an embedding of that file."""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from urllib.parse import quote

from mirrord.codec.frontmatter import Json, split_parts, with_keys
from mirrord.commands.failure import Failed
from mirrord.commands.originals import Original
from mirrord.convert.encoding import text_of
from mirrord.convert.kinds import PICTURES_DIRECTORY, Kind
from mirrord.domain.progress import Progress
from mirrord.errors import Damaged, Unavailable

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
    try:
        return with_keys(text, keys) if split_parts(text).head else with_keys("", keys) + text
    except Damaged:  # an unreadable front matter is plain text
        return with_keys("", keys) + text


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
