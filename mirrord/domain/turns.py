"""Lines of a transcript: which of them begin with a label, which are nobody's, and what belongs to a turn."""

import re
from dataclasses import dataclass

from mirrord.domain.calling import is_personal, is_sound, may_be_name

_STAMP = (
    r"[\[(<]?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\.?,?[ T]\s*)?"
    r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[.,]\d{1,3})?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?[\])>]?"
)
# Before a label: quotation marks of Markdown, a line's number, the time.
_LEAD = re.compile(rf"[ ]{{0,3}}(?:>[ ]?)*[ ]{{0,3}}(?:\d{{1,4}}[ \t]{{2,}})?(?:{_STAMP}[ \t]*(?:[-–—|][ \t]*)?)?")
_MARKS = r"[*_]{0,3}"
_REMARK = r"(?:[ \t]*(?:\([^()\n]{0,60}\)|\[[^\[\]\n]{0,60}\]))?"
_COLON = re.compile(
    rf"{_MARKS}(?P<name>[^\W\d_][^:：()\[\]{{}}<>*\n]{{0,59}}?){_MARKS}{_REMARK}{_MARKS}"
    rf"[ \u00a0\u202f]?(?P<sign>[:：]){_MARKS}(?P<behind>.?)"
)
_BRACKET = re.compile(rf"{_MARKS}\\?\[(?P<name>[^\[\]\n]{{1,60}}?)\\?\]{_MARKS}(?P<sign>[:：]?){_MARKS}(?P<behind>.?)")
_BRACE = re.compile(rf"{_MARKS}\\?\{{(?P<name>[^{{}}\n]{{1,60}}?)\\?\}}{_MARKS}(?P<sign>[:：]?){_MARKS}(?P<behind>.?)")
_PATTERNS = {"colon": _COLON, "bracket": _BRACKET, "brace": _BRACE}
_WITHIN = re.compile(rf"^{_STAMP}[ \t,–-]*|[ \t,–-]*{_STAMP}$")  # a time within brackets

_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")
_LISTED = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_CUE = re.compile(rf"\s*(?:\d{{1,6}}|WEBVTT.*|{_STAMP}|\S+[ ]*-->[ ]*\S.*)\s*")
_DIRECTION = re.compile(r"\s*(?:\(.*\)|\[.*\]|\*[^*].*\*|_[^_].*_|[-*_=]{3,}|>?)\s*")
_SENTENCE = re.compile(r"[.?!…。？！؟;:\"'”’»)\]*_-]\s*$")
_NEAR = 4  # lines after a label that has a line to itself
_WORDS = 4  # words from which a turn says something, whatever it ends with
_IDEOGRAMS = 6  # characters, in a script without blanks


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line: `text[start:end]`, without its ending.

    is_aside: nobody says it: blank, a heading, code, a time, a stage direction. begins: the first of a paragraph.
    """

    start: int
    end: int
    is_aside: bool
    begins: bool
    is_heading: bool
    is_code: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """A text and its lines."""

    text: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """
    A name that begins line number *line*.

    begin: where the name is. speech: where what follows it begins. is_spoken: what follows reads as somebody's words;
    is_personal: somebody is asked there, or speaks of himself or to another.
    """

    name: str
    line: int
    begin: int
    speech: int
    is_spoken: bool
    is_personal: bool


def layout_of(text: str) -> Layout:
    """The lines of *text*."""
    lines: list[Line] = []
    fence, start, blank = "", 0, True
    for raw in text.split("\n"):
        found, end = raw.removesuffix("\r"), start + len(raw.removesuffix("\r"))
        mark = _FENCE.match(found)
        is_code = bool(fence or mark)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        is_heading = not is_code and bool(_HEADING.match(found))
        is_aside = is_code or is_heading or bool(_CUE.fullmatch(found) or _DIRECTION.fullmatch(found))
        lines.append(Line(start, end, is_aside, blank and bool(found.strip()), is_heading, is_code))
        blank = not found.strip(" \t>") or _CUE.fullmatch(found) is not None
        start += len(raw) + 1
    return Layout(text, tuple(lines))


def labels(layout: Layout, format: str) -> list[Label]:
    """Every line that begins with a possible name. format: colon, bracket or brace."""
    pattern = _PATTERNS[format]
    found = (_label(layout, number, pattern) for number in range(len(layout.lines)))
    return [label for label in found if label is not None]


def speech(layout: Layout, label: Label, next_line: int) -> tuple[int, int]:
    """The span of what is said from *label* to the line number *next_line*; of nothing said: the name."""
    last = label.line
    for number in range(label.line, next_line):
        line = layout.lines[number]
        if number > label.line and line.is_heading:
            break
        if not line.is_aside:
            last = number
    said = layout.text[label.speech : max(layout.lines[last].end, label.speech)]
    start = label.speech + len(said) - len(said.lstrip(" \t\r\n>"))
    end = label.speech + len(said.rstrip())
    return (start, end) if start < end else (label.begin, label.begin + len(label.name))


def _label(layout: Layout, number: int, pattern: re.Pattern[str]) -> Label | None:
    line, text = layout.lines[number], layout.text
    if line.is_code or line.is_heading:
        return None
    lead = _LEAD.match(text, line.start, line.end)
    found = pattern.match(text, lead.end() if lead else line.start, line.end)
    if found is None:
        return None
    name = _WITHIN.sub("", found["name"]).strip(" \t\u00a0\u202f\\_*")
    speech_at = found.start("behind")
    rest = text[speech_at : line.end].strip()
    if not may_be_name(name) or not _is_label(found, name, rest) or not (rest or _is_followed(layout, number)):
        return None
    spoken = rest or text[speech_at : layout.lines[min(number + 2, len(layout.lines) - 1)].end]
    return Label(name, number, found.start("name"), speech_at, _is_spoken(spoken.strip()), is_personal(spoken))


def _is_label(found: re.Match[str], name: str, rest: str) -> bool:
    """Whether what is around the name makes it one."""
    sign, behind = found["sign"], found["behind"]
    if found.re is not _COLON:
        return not (is_sound(name) or behind in ("(", "[") or rest.startswith(("http:", "https:", "<")))
    if not behind or behind.isspace():
        return True
    has_no_blanks = not (name[-1].isupper() or name[-1].islower() or name[-1].isdigit())
    return not behind.isdigit() and (sign == "：" or (has_no_blanks and behind.isalpha()))


def _is_followed(layout: Layout, number: int) -> bool:
    """Whether text follows a label that has a line to itself, or nothing at all: no list, no heading, no code."""
    for line in layout.lines[number + 1 : number + 1 + _NEAR]:
        found = layout.text[line.start : line.end]
        if found.strip(" \t>"):
            return not (line.is_heading or line.is_code or _LISTED.match(found))
    return True


def _is_spoken(said: str) -> bool:
    words = said.split()
    if not any(sign.isalpha() for sign in said):
        return False
    is_dense = len(words) <= 2 and len(said) >= _IDEOGRAMS and any(ord(sign) > 0x2E80 for sign in said)
    return bool(_SENTENCE.search(said)) or len(words) >= _WORDS or is_dense
