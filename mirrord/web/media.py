"""Which kinds of files are taken and shown, told by their first bytes where they have any of their own. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

# Shown inside a page. By ending: media type and what the bytes begin with; `....` stands for any four.
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
# Kept and handed out to be saved, never shown by us.
_OTHERS: Mapping[str, str] = MappingProxyType(
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
_SVG = "image/svg+xml"  # an image where an image is asked for; as a document it could run what it holds
TAKEN = (*_PICTURES, *_OTHERS)
_HEAD = 16  # bytes that tell what it is


def taken_as(name: str, data: bytes) -> str | None:
    """The media type of a file that somebody brings; None: it is not taken, or not what its name says."""
    ending = _ending(name)
    if ending in _PICTURES:
        kind, beginnings = _PICTURES[ending]
        return kind if any(_begins(data, one) for one in beginnings) else None
    return _OTHERS.get(ending)


def shown_as(name: str, head: bytes) -> str | None:
    """The media type by which a stored file is shown inside a page; None: it is only handed out to be saved."""
    ending = _ending(name)
    if ending == "svg":
        return _SVG
    return next(
        (kind for kind, beginnings in _PICTURES.values() if any(_begins(head, one) for one in beginnings)), None
    )


def is_picture(name: str) -> bool:
    """Whether a file of that name is shown inside a page, if its bytes are what it says."""
    return _ending(name) in _PICTURES or _ending(name) == "svg"


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


def _begins(data: bytes, pattern: bytes) -> bool:
    head = data[:_HEAD]
    return len(head) >= len(pattern) and all(
        wanted in (byte, ord(".")) for byte, wanted in zip(head, pattern, strict=False)
    )
