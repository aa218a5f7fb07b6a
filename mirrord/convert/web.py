"""Web pages as the converter reads them: in UTF-8, whatever they say they are in."""

import codecs
import re

from mirrord.convert.encoding import SAMPLE, encoding_of, text_of

_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9_.:-]+)|<\?xml[^>]*encoding=["']([A-Za-z0-9_.:-]+)""", re.I)
_SAYS_FROM = 4096  # bytes


def prepared(data: bytes) -> bytes:
    """*data* in UTF-8. Raises UnicodeDecodeError if it is in nothing that is known."""
    if encoding_of(data[:SAMPLE], is_whole=len(data) <= SAMPLE) in ("cp1252", "latin-1") and (name := _said(data)):
        return data.decode(name, errors="replace").encode()
    return text_of(data).encode()


def _said(data: bytes) -> str | None:
    found = _CHARSET.search(data[:_SAYS_FROM])
    if found is None:
        return None
    try:
        return codecs.lookup((found[1] or found[2]).decode()).name
    except LookupError:
        return None
