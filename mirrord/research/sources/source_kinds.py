"""
PURE: what a source is: its directory, front matter keys and types, and the integer form of its id.

A page below that directory is a source if its front matter has `type: source`. Its text is the body: the file without
its front matter. Every directory there that does not belong to a source is a folder of sources. Integer ids are for
interfaces without UUIDs, and the same on every host.
"""

import re
from enum import StrEnum

from mirrord.domain.entry import EntryId, digest_of, parse_id
from mirrord.domain.place import name_key

DIRECTORY = "Sources"  # the default, which an installation can change

# Keys of a source's front matter.
TYPE = "type"
SOURCE_TYPE = "source_type"
ORIGINAL = "original"  # the attachment it was made from, as a link from the page: ./assets/interview.docx
SHA256 = "sha256"  # of the original's bytes, in hex
CREATED = "created"

SOURCE = "source"  # the value of `type`


class SourceType(StrEnum):
    """The kind of material a source was made from; text if its page does not state it."""

    TEXT = "text"
    AUDIO = "audio"
    VIDEO = "video"
    IMAGE = "image"
    PDF = "pdf"
    UNKNOWN = "unknown"


def is_source(path: str, type_text: str | None, directory: str) -> bool:
    """Whether the page whose file is at *path* is a source. type_text: its `type`. directory: of all sources."""
    return path.startswith(directory + "/") and type_text is not None and name_key(type_text.strip()) == SOURCE


def parse_source_type(type_text: str | None) -> SourceType:
    """The meaning of a value of `source_type`."""
    if type_text is None:
        return SourceType.TEXT
    return _TYPES.get(name_key(type_text.strip()), SourceType.UNKNOWN)


_TYPES = {kind.value: kind for kind in SourceType}


_BITS = 53  # exact in JSON numbers in every language
_DECIMAL = re.compile("[0-9]{1,16}")


def number_of(entry: EntryId) -> int:
    """The first 53 bits of the digest of the UUID's bytes."""
    return int.from_bytes(digest_of(entry.bytes)[:7], "big") >> 56 - _BITS


def parse_reference(reference: int | str) -> int | EntryId | None:
    """
    The number or id in *reference*: an integer, its decimal digits or a UUID; None: none of these.

    means() compares the result with ids.
    """
    if isinstance(reference, int):
        return reference
    text = reference.strip()
    return int(text) if _DECIMAL.fullmatch(text) else parse_id(text)


def is_reference_to(reference: int | EntryId, entry: EntryId) -> bool:
    """Whether the number or id *reference* denotes *entry*."""
    return reference in (entry, number_of(entry))
