"""Rich text as the converter reads it best."""

import re

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_NUMBERED_HEADING = re.compile(rb"(?:\\ilvl\d+)?(\\outlinelevel\d)([^{}]*)(?:\{\\listtext[^{}]*\})?\\ls\d+")


def prepared(data: bytes) -> bytes:
    """
    *data* with headings that are only headings, and in ASCII.

    Writer makes every heading an item of a numbered list too; the converter would make it that, and tear lists apart.
    """
    ascii_only = _BEYOND_ASCII.sub(lambda found: b"\\'%02x" % found[0][0], data)
    return _NUMBERED_HEADING.sub(rb"\1\2", ascii_only)
