"""Prepare web pages for the converter: in UTF-8, regardless of their declared encoding."""

import codecs
import re

from mirrord.convert.encoding import SAMPLE_BYTES, encoding_of, text_of

_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9_.:-]+)|<\?xml[^>]*encoding=["']([A-Za-z0-9_.:-]+)""", re.I)
_DECLARATION_BYTES = 4096  # bytes


def prepare_html(data: bytes) -> bytes:
    """*data* in UTF-8. Raises UnicodeDecodeError for an unknown encoding."""
    if encoding_of(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES) in ("cp1252", "latin-1") and (
        name := _declared_codec(data)
    ):
        return data.decode(name, errors="replace").encode()
    return text_of(data).encode()


def _declared_codec(data: bytes) -> str | None:
    match = _CHARSET.search(data[:_DECLARATION_BYTES])
    if match is None:
        return None
    try:
        return codecs.lookup((match[1] or match[2]).decode()).name
    except LookupError:
        return None
