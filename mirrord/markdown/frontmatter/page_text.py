"""
The text of a page, split once: decoding, line endings, front matter and body, and the error for text that an edit
does not find.

The first line is exactly `---` (blanks may follow), and the next such line at column 0, or `...` below a key, ends the
front matter. `+++` around TOML, and an object of JSON that begins and ends with lines of their own, are such too.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from mirrord.domain.dialect import Dialect
from mirrord.errors import Damaged, UserError

if TYPE_CHECKING:
    from mirrord.markdown.frontmatter.yaml_reader import Json, Property

BOM = "\ufeff"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_FIRST_LINE = re.compile(r"\ufeff?(\+\+\+|\{|---)[ \t]*[\r\n]")
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


class HeadForm(Enum):
    """The language of front matter; the value is the character that it begins with."""

    YAML = "-"
    TOML = "+"
    JSON = "{"


_FORMS = {form.value: form for form in HeadForm}  # an enumeration takes four times as long to be asked, of every page
_TOML_SIGN, _JSON_SIGN = HeadForm.TOML.value, HeadForm.JSON.value

_OPENING = re.compile(r"(?:---|\+\+\+)[ \t]*(?:\r\n|\n|\r)")
_CLOSING = re.compile(
    r"---(?<=[\r\n]---)[ \t]*(?:\r\n|\n|\r|\Z)"
)  # starts with literal text, which is searched for quickly
_TOML_CLOSING = re.compile(r"\+\+\+(?<=[\r\n]\+\+\+)[ \t]*(?:\r\n|\n|\r|\Z)")
_DOCUMENT_END = re.compile(r"\.\.\.(?<=[\r\n]\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_FIRST_KEY = re.compile(r"(?:#[^\r\n]*(?:\r\n|\n|\r))*[^\s:#-][^\r\n:]*:(?=[ \t\r\n])")
_OBJECT = re.compile(r"\{[ \t]*(?:\r\n|\n|\r)\s*\"")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Views:
    """
    The properties of a page in its front matter. None: the key is absent or empty.

    id: the text of the key as written, UUID or not; "" for a key without a value.
    title, icon, position: the text as written, so `title: 1.10` is "1.10"; None for lists and mappings.
    texts: the texts of all keys.
    frontmatter: the values of all keys.
    error: a sentence that says why the front matter cannot be read; all other views are empty then.
    entries: where each key and its value stand in YAML.
    """

    id: str | None
    title: str | None
    icon: str | None
    position: str | None
    texts: dict[str, str | None]
    frontmatter: "dict[str, Json]"
    error: str | None
    entries: "Sequence[Property]" = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class PageText:
    """
    The text of a page, split once into a byte order mark, the front matter and the body, and read once.

    It travels instead of the text wherever a function needs one of the parts. dialect: of the program that reads the
    page, too.
    """

    text: str
    dialect: Dialect = Dialect.PLAIN

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

    @property
    def form(self) -> HeadForm:
        """The language of the front matter; YAML without one, since that would be created."""
        start, _, _, end = self._ends
        return _FORMS[self.text[start]] if end > start else HeadForm.YAML

    @cached_property
    def source(self) -> str:
        """The YAML or TOML between the fences; JSON, which has none."""
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
    def views(self) -> Views:
        """What the front matter says; see Views."""
        start, source_start, source_end, _ = self._ends
        if source_start == source_end:
            return Views(None, None, None, None, {}, {}, None)
        from mirrord.markdown.frontmatter.page_properties import read_views  # noqa: PLC0415  (lists of plain pages start without a reader of YAML)

        return read_views(self.text[source_start:source_end], HeadForm(self.text[start]))


def find_front_matter(text: str) -> tuple[int, int, int, int]:
    """
    Where the first fence of *text* begins, its YAML begins and ends, and its body begins; all equal without one.

    `frontmatter.YAMLHandler.split` returns neither fences nor blank lines after them, so that no page could be put
    together again, takes `----` for a fence, and knows neither a byte order mark nor CR.
    """
    start = 1 if text.startswith(BOM) else 0
    if text.startswith(_JSON_SIGN, start):
        return _find_object(text, start)
    opening = _OPENING.match(text, start)
    closing = _find_closing(text, start, opening.end()) if opening else None
    if opening is None or closing is None:
        return start, start, start, start
    return start, opening.end(), closing.start(), closing.end()


def _find_closing(text: str, start: int, source_start: int) -> re.Match[str] | None:
    if text.startswith(_TOML_SIGN, start):
        return _TOML_CLOSING.search(text, source_start)
    closing = _CLOSING.search(text, source_start)
    limit = closing.start() if closing else len(text)
    if not _FIRST_KEY.match(text, source_start):
        return closing
    return _DOCUMENT_END.search(text, source_start, limit) or closing


def _find_object(text: str, start: int) -> tuple[int, int, int, int]:
    """The front matter at *start* if it is an object of JSON that ends with a line of its own."""
    try:
        _, end = json.JSONDecoder().raw_decode(text, start) if _OBJECT.match(text, start) else (None, start)
    except (ValueError, RecursionError):
        end = start
    behind = _REST_OF_LINE.match(text, end)
    if end == start or behind is None or text[end - 2 : end - 1] not in ("\n", "\r"):
        return start, start, start, start
    return start, start, end, behind.end()


class EditTargetError(UserError):
    """
    The page does not have the target of an edit, or has it too often.

    occurrences: number of occurrences. headings: the page's headings if a heading was sought, else None.
    """

    def __init__(self, sentence: str, occurrences: int, headings: Sequence[str] | None = None) -> None:
        super().__init__(sentence)
        self.occurrences = occurrences
        self.headings = headings


def has_head_of_other_form(text: str) -> bool:
    """Whether a page has front matter other than YAML between lines of `---`: earlier versions took it for text."""
    opening = _FIRST_LINE.match(text)
    if opening is None or (opening[1] == "---" and "\n..." not in text and "\r..." not in text):
        return False
    head = PageText(text).head
    return bool(head) and (opening[1] != "---" or head.rstrip().endswith("..."))
