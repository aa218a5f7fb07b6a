"""Which letters the bytes of a text mean, where nobody says so."""

import codecs
import re

SAMPLE = 1 << 20  # bytes that are looked at
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in cp1252, which programs call latin-1
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_FOREIGN = 0.4  # share of bytes beyond ASCII from which a text is in letters that are not Latin
_ENOUGH = 30  # such bytes, below which nobody could tell which letters they are
_FOREIGN_ENCODINGS = [
    *("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
]


def encoding_of(sample: bytes, *, is_whole: bool) -> str:
    """
    The name of the codec that reads a text of which *sample* is the beginning, or the whole.

    By its mark if it has one; UTF-8 if it is that; UTF-16 if every other byte is zero; else what the share of letters
    beyond ASCII makes likely: Western, unless they are many.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    if (bare := _without_mark(sample)) is not None:
        return bare
    if _is_utf8(sample, is_whole=is_whole):
        return "utf-8"
    if _is_foreign(sample[:65_536]):
        from charset_normalizer import from_bytes  # noqa: PLC0415  (seldom needed, and slow to load)

        best = from_bytes(sample, cp_isolation=_FOREIGN_ENCODINGS).best()
        if best is not None:
            return best.encoding
    return western(sample)


def western(sample: bytes) -> str:
    """The codec of a Western text that is not UTF-8."""
    return "latin-1" if _UNDEFINED.search(sample) else "cp1252"


def is_text(sample: bytes) -> bool:
    """Whether the beginning of a file can be text at all."""
    if any(sample.startswith(mark) for mark, _ in _MARKS) or _without_mark(sample) is not None:
        return True
    return not _CONTROL.search(sample)


def text_of(data: bytes) -> str:
    """*data* as text without a mark, lines ending with LF. Raises UnicodeDecodeError if it is cut or mixed."""
    text = data.decode(encoding_of(data[:SAMPLE], is_whole=len(data) <= SAMPLE))
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _without_mark(sample: bytes) -> str | None:
    """UTF-16 without a mark: nearly all of a Western text's odd or even bytes are zero."""
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
    return beyond >= _ENOUGH and beyond >= _FOREIGN * sum(byte > 32 for byte in sample)
