"""Decode bytes, and split text into lines, which end at CRLF, LF or CR only (as in CommonMark)."""

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


def split_lines(text: str) -> list[str]:
    """The lines of *text* with their endings; joined they are *text*."""
    return _LINE.findall(text)


def line_starts(text: str) -> list[int]:
    """The start of each line of *text*, and the end of the last one."""
    if "\r" in text:
        return [0, *(line.end() for line in _LINE.finditer(text))]
    starts = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))
    starts.pop()
    if starts[-1] < len(text):
        starts.append(len(text))
    return starts


def first_line_ending(text: str) -> str:
    """The first line ending of *text*, used for added lines; LF if there is none."""
    match = _ENDING.search(text)
    return match.group() if match else "\n"


def with_unix_endings(text: str) -> str:
    """*text* with every line ending as LF."""
    return _ENDING.sub("\n", text) if "\r" in text else text
