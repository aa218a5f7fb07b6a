"""Documents that are archives: refused before a converter opens them if they are damaged, locked, or bombs."""

import zipfile
from typing import BinaryIO

from mirrord.errors import Damaged

MOST_FILES = 20_000
MOST_BYTES = 400 << 20  # unpacked, all together
MOST_RATIO = 200  # of all bytes unpacked to packed; XML shrinks by 20 to 60
_SMALL = 20 << 20  # bytes unpacked that are no bomb whatever their ratio
_ENCRYPTED = 0x1


def check(stream: BinaryIO) -> None:
    """Raises Damaged, with a sentence, for an archive that is not to be opened."""
    stream.seek(0)
    try:
        with zipfile.ZipFile(stream) as archive:
            found = archive.infolist()
            manifest = _manifest(archive)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError):
        raise Damaged("it is damaged or was not transferred completely") from None
    if any(one.flag_bits & _ENCRYPTED for one in found) or b"manifest:encryption-data" in manifest:
        raise Damaged("it is protected by a password; save it without one")
    unpacked, packed = sum(one.file_size for one in found), sum(one.compress_size for one in found)
    if len(found) > MOST_FILES or unpacked > MOST_BYTES or unpacked > max(_SMALL, MOST_RATIO * packed):
        raise Damaged("it would unpack to far more than a document holds")


def _manifest(archive: zipfile.ZipFile) -> bytes:
    """Where an OpenDocument says that its files are encrypted."""
    try:
        with archive.open("META-INF/manifest.xml") as stream:
            return stream.read(1 << 20)
    except (KeyError, RuntimeError, zipfile.BadZipFile):
        return b""
