"""Prepare rich text for the converter."""

import re

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_NUMBERED_HEADING = re.compile(rb"(?:\\ilvl\d+)?(\\outlinelevel\d)([^{}]*)(?:\{\\listtext[^{}]*\})?\\ls\d+")


def prepare_rtf(data: bytes) -> bytes:
    """
    *data* in ASCII, with headings that are no list items.

    Writer makes every heading an item of a numbered list too; the converter would keep that and split lists.
    """
    ascii_only = _BEYOND_ASCII.sub(lambda match: b"\\'%02x" % match[0][0], data)
    return _NUMBERED_HEADING.sub(rb"\1\2", ascii_only)
