"""Which kinds of files are accepted and shown, judged by their first bytes. Pure."""

import re
from collections.abc import Mapping
from types import MappingProxyType

# Shown inside a page. By extension: media type and first bytes; `....` stands for any four.
_PICTURES: Mapping[str, tuple[str, tuple[bytes, ...]]] = MappingProxyType(
    {
        "png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
        "jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
        "jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
        "gif": ("image/gif", (b"GIF87a", b"GIF89a")),
        "webp": ("image/webp", (b"RIFF....WEBP",)),
        "avif": ("image/avif", (b"....ftypavif", b"....ftypavis")),
    }
)
# Stored and served as downloads, never displayed.
_DOWNLOADS: Mapping[str, str] = MappingProxyType(
    {
        "pdf": "application/pdf",
        "txt": "text/plain",
        "csv": "text/csv",
        "json": "application/json",
        "zip": "application/zip",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "odt": "application/vnd.oasis.opendocument.text",
        "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "mp3": "audio/mpeg",
        "m4a": "audio/mp4",
        "ogg": "audio/ogg",
        "wav": "audio/wav",
        "mp4": "video/mp4",
        "webm": "video/webm",
    }
)
_SVG = "image/svg+xml"  # displayed only as an image; as a document it could run scripts
ACCEPTED_EXTENSIONS = (*_PICTURES, "svg", *_DOWNLOADS)
_HEAD_BYTES = 16  # first bytes that identify a file
_SVG_HEAD_BYTES = 16_384  # in which the root element of an SVG has to begin
_BEFORE_ROOT = re.compile(rb"(?:<\?xml[^>]*\?>|<!--.*?-->|<!DOCTYPE\s+svg[^>\[]*>)\s*", re.DOTALL)
_SVG_ROOT = re.compile(rb"<svg[\s/>]")


def accepted_media_type(name: str, data: bytes) -> str | None:
    """The media type of an uploaded file; None: not accepted, or its content does not match its name."""
    ending = _extension(name)
    if ending in _PICTURES:
        kind, beginnings = _PICTURES[ending]
        return kind if any(_begins_with(data, pattern) for pattern in beginnings) else None
    if ending == "svg":
        return _SVG if _is_svg(data) else None
    return _DOWNLOADS.get(ending)


def _is_svg(data: bytes) -> bool:
    head = data[:_SVG_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    while match := _BEFORE_ROOT.match(head):
        head = head[match.end() :]
    return _SVG_ROOT.match(head) is not None


def displayed_media_type(name: str, head: bytes) -> str | None:
    """The media type for showing a stored file inside a page; None: it is only served as a download."""
    ending = _extension(name)
    if ending == "svg":
        return _SVG
    return next(
        (kind for kind, beginnings in _PICTURES.values() if any(_begins_with(head, pattern) for pattern in beginnings)),
        None,
    )


def is_picture(name: str) -> bool:
    """Whether a file with that name is shown inside a page, if its content matches."""
    return _extension(name) in _PICTURES or _extension(name) == "svg"


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def _begins_with(data: bytes, pattern: bytes) -> bool:
    head = data[:_HEAD_BYTES]
    return len(head) >= len(pattern) and all(
        expected in (byte, ord(".")) for byte, expected in zip(head, pattern, strict=False)
    )
