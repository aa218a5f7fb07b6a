"""
Sources: pages below one directory of the tree that hold what is studied, such as an interview.

A page below that directory is a source if its front matter says `type: source`. Its text is the body: the file without
its front matter. Every directory there that is not a source's own is a folder of sources.
"""

from enum import StrEnum

from mirrord.domain.place import name_key

DIRECTORY = "Sources"  # unless an installation says otherwise

# Keys of a source's front matter.
TYPE = "type"
SOURCE_TYPE = "source_type"
ORIGINAL = "original"  # the attachment it was made from, as a link from the page: ./assets/interview.docx
SHA256 = "sha256"  # of the bytes of that, in hex
CREATED = "created"

SOURCE = "source"  # what `type` says


class SourceType(StrEnum):
    """What a source was made from; text where its page does not say."""

    TEXT = "text"
    AUDIO = "audio"
    VIDEO = "video"
    IMAGE = "image"
    PDF = "pdf"
    UNKNOWN = "unknown"


def is_source(path: str, said: str | None, directory: str) -> bool:
    """Whether the page whose file is at *path* is a source. said: its `type`. directory: of all sources."""
    return path.startswith(directory + "/") and said is not None and name_key(said.strip()) == SOURCE


def source_type(said: str | None) -> SourceType:
    """What `source_type` means."""
    if said is None:
        return SourceType.TEXT
    return _TYPES.get(name_key(said.strip()), SourceType.UNKNOWN)


_TYPES = {kind.value: kind for kind in SourceType}
