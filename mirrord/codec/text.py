"""Bytes and text: decoding, and lines that end at CRLF, LF or CR only (as in CommonMark)."""

import re
from itertools import accumulate

from mirrord.errors import Damaged

BOM = "\ufeff"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_ENDING = re.compile(r"\r\n|\n|\r")


def decode(data: bytes) -> str:
    """
    The text of a file; a byte order mark stays as its first character.

    Raises:
        Damaged: not UTF-8, or it holds NUL, which Postgres cannot store.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"The file is not UTF-8 (byte {error.start}); save it as UTF-8.") from error
    if "\0" in text:
        raise Damaged(f"The file holds a NUL character (byte {data.index(0)}); it is not a text file.")
    return text


def lines(text: str) -> list[str]:
    """The lines of *text* with their endings; joined they are *text*."""
    return _LINE.findall(text)


def line_starts(text: str) -> list[int]:
    """Where each line of *text* begins, and where the last one ends."""
    if "\r" in text:
        return [0, *(line.end() for line in _LINE.finditer(text))]
    found = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))
    found.pop()
    if found[-1] < len(text):
        found.append(len(text))
    return found


def newline(text: str) -> str:
    """The first line ending of *text*: what a line mirrord adds ends with. LF where there is none."""
    found = _ENDING.search(text)
    return found.group() if found else "\n"


def unix(text: str) -> str:
    """*text* with every line ending as LF."""
    return _ENDING.sub("\n", text) if "\r" in text else text
