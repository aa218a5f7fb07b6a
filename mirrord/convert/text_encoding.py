"""Detect the encoding of a text, and recode web pages to UTF-8."""

import codecs
import re

SAMPLE_BYTES = 1 << 20  # bytes that are examined
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in cp1252, which many programs call latin-1
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MIN_FOREIGN_SHARE = 0.4  # of bytes beyond ASCII, from which a text counts as non-Latin
_MIN_FOREIGN_BYTES = 30  # beyond ASCII; fewer are too few for a guess
_FOREIGN_ENCODINGS = [
    *("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
]


def encoding_of(sample: bytes, *, is_whole: bool) -> str:
    """
    The name of the codec for a text whose beginning, or whole, is *sample*.

    By the byte order mark if there is one; UTF-8 if it is valid; UTF-16 if every other byte is zero; else by the share
    of bytes beyond ASCII: Western, unless they are many.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    if (bare := _utf16_without_mark(sample)) is not None:
        return bare
    if _is_utf8(sample, is_whole=is_whole):
        return "utf-8"
    if _is_foreign(sample[:65_536]):
        from charset_normalizer import from_bytes  # noqa: PLC0415  (seldom needed, and slow to load)

        best = from_bytes(sample, cp_isolation=_FOREIGN_ENCODINGS).best()
        if best is not None:
            return best.encoding
    return western_codec(sample)


def western_codec(sample: bytes) -> str:
    """The codec of a Western text that is not UTF-8."""
    return "latin-1" if _UNDEFINED.search(sample) else "cp1252"


def is_text(sample: bytes) -> bool:
    """Whether the beginning of a file may be text."""
    if any(sample.startswith(mark) for mark, _ in _MARKS) or _utf16_without_mark(sample) is not None:
        return True
    return not _CONTROL.search(sample)


def text_of(data: bytes) -> str:
    """*data* as text without a mark, lines ending with LF. Raises UnicodeDecodeError for truncated or mixed text."""
    text = data.decode(encoding_of(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES))
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _utf16_without_mark(sample: bytes) -> str | None:
    """The codec of UTF-16 without a mark: nearly all odd or even bytes of a Western text are zero."""
    even, odd = sample[0:4096:2], sample[1:4096:2]
    if len(odd) < 2:
        return None
    if odd.count(0) > 0.4 * len(odd) and even.count(0) < 0.05 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.4 * len(even) and odd.count(0) < 0.05 * len(odd):
        return "utf-16-be"
    return None


def _is_utf8(sample: bytes, *, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_foreign(sample: bytes) -> bool:
    beyond = sum(byte > 127 for byte in sample)
    return beyond >= _MIN_FOREIGN_BYTES and beyond >= _MIN_FOREIGN_SHARE * sum(byte > 32 for byte in sample)


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
