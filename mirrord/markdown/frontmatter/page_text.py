"""
The text of a page, split once: decoding, line endings, front matter and body, and the error for text that an edit
does not find.

The first line is exactly `---` (blanks may follow), and the next such line at column 0 ends the front matter.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from mirrord.errors import Damaged, UserError

if TYPE_CHECKING:
    from mirrord.markdown.frontmatter.page_properties import Views

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


@dataclass(frozen=True)
class PageText:
    """
    The text of a page, split once into a byte order mark, the front matter and the body, and read once.

    It travels instead of the text wherever a function needs one of the parts.
    """

    text: str

    @cached_property
    def _ends(self) -> tuple[int, int, int, int]:
        return find_front_matter(self.text)

    @property
    def bom(self) -> str:
        """The byte order mark, or ""."""
        return self.text[: self._ends[0]]

    @property
    def head(self) -> str:
        """The front matter with both fences and the line ending of the second; "" if there is none."""
        return self.text[self._ends[0] : self._ends[3]]

    @property
    def opening(self) -> str:
        """The first fence with its line ending."""
        return self.text[self._ends[0] : self._ends[1]]

    @cached_property
    def source(self) -> str:
        """The YAML between the fences."""
        return self.text[self._ends[1] : self._ends[2]]

    @property
    def closing(self) -> str:
        """The second fence with its line ending."""
        return self.text[self._ends[2] : self._ends[3]]

    @cached_property
    def body(self) -> str:
        """The text after the front matter."""
        return self.text[self._ends[3] :]

    @property
    def parts(self) -> tuple[str, str, str]:
        """The byte order mark, the front matter and the body; joined they are the text."""
        return self.bom, self.head, self.body

    @property
    def has_views(self) -> bool:
        """Whether the views were read before, and take no time now."""
        return "views" in self.__dict__

    @cached_property
    def views(self) -> "Views":
        """What the front matter says; see Views."""
        from mirrord.markdown.frontmatter.page_properties import read_views  # noqa: PLC0415  (lists of plain pages start without a reader of YAML)

        return read_views(self.source)


def find_front_matter(text: str) -> tuple[int, int, int, int]:
    """
    Where the first fence of *text* begins, its YAML begins and ends, and its body begins; all equal without one.

    `frontmatter.YAMLHandler.split` returns neither fences nor blank lines after them, so that no page could be put
    together again, takes `----` for a fence, and knows neither a byte order mark nor CR.
    """
    start = 1 if text.startswith(BOM) else 0
    opening = _OPENING.match(text, start)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return start, start, start, start
    return start, opening.end(), closing.start(), closing.end()


class EditTargetError(UserError):
    """
    The page does not have the target of an edit, or has it too often.

    occurrences: number of occurrences. headings: the page's headings if a heading was sought, else None.
    """

    def __init__(self, sentence: str, occurrences: int, headings: Sequence[str] | None = None) -> None:
        super().__init__(sentence)
        self.occurrences = occurrences
        self.headings = headings
