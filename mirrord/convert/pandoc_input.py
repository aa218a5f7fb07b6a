"""Input for pandoc: refuse archives that are damaged, locked or too large, and prepare rich text."""

import re
import zipfile
from typing import BinaryIO

from mirrord.errors import Damaged

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
