"""
The text of a page: decoding, line endings, where front matter ends, and the error for text that an edit does not
find.

The first line is exactly `---` (blanks may follow), and the next such line at column 0 ends it. Libraries
split otherwise and lost list items that began with dashes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mirrord.errors import Damaged, UserError

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


_OPENING = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
_CLOSING = re.compile(
    r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\n|\r|\Z)"
)  # starts with literal text, which is searched for quickly


@dataclass(frozen=True, slots=True)
class Parts:
    """
    The three parts of a file's text; joined in this order they are the text.

    head: the raw front matter with both fences and the line ending of the second; "" if there is none.
    """

    bom: str
    head: str
    body: str


def split_parts(text: str) -> Parts:
    """The byte order mark, the front matter and the rest of *text*."""
    start = 1 if text.startswith(BOM) else 0
    opening = _OPENING.match(text, start)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    end = closing.end() if closing else start
    return Parts(text[:start], text[start:end], text[end:])


def yaml_of_text(text: str) -> str:
    """The YAML of the front matter of *text*, "" if there is none; a faster inner(split(text).head)."""
    opening = _OPENING.match(text, 1 if text.startswith(BOM) else 0)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return text[opening.end() : closing.start()] if opening and closing else ""


def yaml_of_head(head: str) -> str:
    """The YAML between the fences of *head*."""
    return split_head(head)[1]


def split_head(head: str) -> tuple[str, str, str]:
    """The first fence, the YAML and the last fence of *head*."""
    opening = _OPENING.match(head)
    start = opening.end() if opening else 0
    end = max(head.rstrip("\r\n").rfind("\n"), head.rstrip("\r\n").rfind("\r")) + 1
    return head[:start], head[start:end], head[end:]


class EditTargetError(UserError):
    """
    The page does not have the target of an edit, or has it too often.

    occurrences: number of occurrences. headings: the page's headings if a heading was sought, else None.
    """

    def __init__(self, sentence: str, occurrences: int, headings: Sequence[str] | None = None) -> None:
        super().__init__(sentence)
        self.occurrences = occurrences
        self.headings = headings
