"""The kind of a file: by its first bytes, its content and its name."""

import zipfile
from enum import Enum
from pathlib import PurePath
from typing import BinaryIO

from mirrord.convert.text_encoding import is_text
from mirrord.research.sources.source_kinds import SourceType

HEAD_BYTES = 65_536  # bytes that are examined
PICTURES_DIRECTORY = "pictures-of-this-import"  # the directory of pictures in Markdown before its final path is known


class Kind(Enum):
    """The kind of a file; value: the source type, and the converter's name of a document."""

    TEXT = (SourceType.TEXT, "")
    MARKDOWN = (SourceType.TEXT, "md")
    DOCX = (SourceType.TEXT, "docx")
    ODT = (SourceType.TEXT, "odt")
    RTF = (SourceType.TEXT, "rtf")
    EPUB = (SourceType.TEXT, "epub")
    HTML = (SourceType.TEXT, "html")
    PDF = (SourceType.PDF, "pdf")
    AUDIO = (SourceType.AUDIO, "")
    VIDEO = (SourceType.VIDEO, "")
    IMAGE = (SourceType.IMAGE, "")
    LOCKED = (SourceType.UNKNOWN, "locked")  # an office document with a password
    OLD = (SourceType.UNKNOWN, "doc")  # an office document of before 2007
    UNKNOWN = (SourceType.UNKNOWN, "")

    @property
    def source_type(self) -> SourceType:
        """The type of a source of this kind."""
        return self.value[0]

    @property
    def is_document(self) -> bool:
        """Whether a converter reads files of this kind."""
        return self in _DOCUMENTS


_DOCUMENTS = frozenset({Kind.DOCX, Kind.ODT, Kind.RTF, Kind.EPUB, Kind.HTML, Kind.PDF})

_MAGIC = (
    (0, b"%PDF-", Kind.PDF),
    (0, b"{\\rtf", Kind.RTF),
    (0, b"\x89PNG\r\n\x1a\n", Kind.IMAGE),
    (0, b"\xff\xd8\xff", Kind.IMAGE),
    (0, b"GIF8", Kind.IMAGE),
    (0, b"II*\0", Kind.IMAGE),
    (0, b"MM\0*", Kind.IMAGE),
    (0, b"BM", Kind.IMAGE),
    (8, b"WEBP", Kind.IMAGE),
    (8, b"WAVE", Kind.AUDIO),
    (8, b"AVI ", Kind.VIDEO),
    (0, b"ID3", Kind.AUDIO),
    (0, b"fLaC", Kind.AUDIO),
    (0, b"OggS", Kind.AUDIO),
    (0, b"\x1a\x45\xdf\xa3", Kind.VIDEO),
    (0, b"\x30\x26\xb2\x75", Kind.VIDEO),
    (4, b"ftypheic", Kind.IMAGE),
    (4, b"ftypmif1", Kind.IMAGE),
    (4, b"ftypavif", Kind.IMAGE),
    (4, b"ftypM4A", Kind.AUDIO),
    (4, b"ftyp", Kind.VIDEO),
)
_KINDS_BY_SUFFIX = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd"), Kind.MARKDOWN),
    **dict.fromkeys(("htm", "html", "xhtml"), Kind.HTML),
    **dict.fromkeys(("mp3", "wav", "m4a", "ogg", "oga", "opus", "flac", "aac", "wma", "aiff"), Kind.AUDIO),
    **dict.fromkeys(("mp4", "mov", "avi", "mkv", "wmv", "webm", "m4v", "ogv", "mpg", "mpeg"), Kind.VIDEO),
    **dict.fromkeys(("jpg", "jpeg", "png", "gif", "bmp", "tif", "tiff", "webp", "heic", "heif", "svg"), Kind.IMAGE),
}
_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")  # the stream of an encrypted office document
_MIMETYPES = {
    b"application/vnd.oasis.opendocument.text": Kind.ODT,
    b"application/epub+zip": Kind.EPUB,
}


def kind_of(stream: BinaryIO, name: str) -> Kind:
    """The kind of the file in *stream*, which may be read anywhere; *name*: its file name."""
    stream.seek(0)
    head = stream.read(HEAD_BYTES)
    kind_by_name = _KINDS_BY_SUFFIX.get(PurePath(name).suffix.lower().removeprefix("."))
    if head.startswith(b"PK\x03\x04"):
        return _archive_kind(stream)
    if head.startswith(_OLE):
        return Kind.LOCKED if _ENCRYPTED_STREAM in head or _contains(stream, _ENCRYPTED_STREAM) else Kind.OLD
    kind_by_magic = next((kind for at, magic, kind in _MAGIC if head[at : at + len(magic)] == magic), None)
    if kind_by_magic is Kind.IMAGE and head.startswith(b"BM") and kind_by_name is not Kind.IMAGE and is_text(head):
        kind_by_magic = None
    if kind_by_magic is not None:
        return (
            Kind.AUDIO
            if kind_by_magic is Kind.VIDEO and kind_by_name is Kind.AUDIO
            else _ogg_kind(kind_by_magic, kind_by_name)
        )
    return _text_kind(head, kind_by_name)


def _ogg_kind(kind_by_magic: Kind, kind_by_name: Kind | None) -> Kind:
    """The kind of an Ogg file, which holds audio or video."""
    return Kind.VIDEO if kind_by_magic is Kind.AUDIO and kind_by_name is Kind.VIDEO else kind_by_magic


def _text_kind(head: bytes, kind_by_name: Kind | None) -> Kind:
    start = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not is_text(head):
        # raw sound has no magic bytes
        return kind_by_name if kind_by_name in (Kind.AUDIO, Kind.VIDEO) else Kind.UNKNOWN
    if kind_by_name in (Kind.HTML, Kind.MARKDOWN):
        return kind_by_name
    if start.startswith(_MARKUP) or (start.startswith(b"<?xml") and b"<html" in start):
        return Kind.HTML
    return Kind.IMAGE if b"<svg" in start and kind_by_name is Kind.IMAGE else Kind.TEXT


def _archive_kind(stream: BinaryIO) -> Kind:
    """The kind of an archive by the names in it; local headers hold them too, which identifies truncated archives."""
    stream.seek(0)
    head = stream.read(HEAD_BYTES)
    for mimetype, kind in _MIMETYPES.items():
        if head[30:38] == b"mimetype" and head[38:].startswith(mimetype):
            return kind
    try:
        names = set(zipfile.ZipFile(stream).namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return Kind.DOCX if b"word/" in head or b"[Content_Types].xml" in head else Kind.UNKNOWN
    if "word/document.xml" in names:
        return Kind.DOCX
    if "META-INF/container.xml" in names:
        return Kind.EPUB
    return Kind.ODT if {"content.xml", "styles.xml"} <= names else Kind.UNKNOWN


def _contains(stream: BinaryIO, sought: bytes) -> bool:
    overlap = b""
    while piece := stream.read(1 << 20):
        if sought in overlap + piece:
            return True
        overlap = piece[-len(sought) :]
    return False
