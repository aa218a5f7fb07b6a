"""The lines of a transcript: find labels, lines without a speaker, and the text of turns."""

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
_MAX_LINES_AHEAD = 4  # lines searched after a label on a line of its own
_MIN_SPOKEN_WORDS = 4  # words from which on a text reads as speech, regardless of its end
_MIN_SPOKEN_IDEOGRAMS = 6  # characters, in a script without blanks


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line: `text[start:end]`, without its ending.

    is_aside: it is not spoken: blank, a heading, code, a time, a stage direction. begins: the first of a paragraph.
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
    A name at the beginning of line number *line*.

    begin: position of the name. speech: position of the text after it. is_spoken: that text reads as speech;
    is_personal: it asks, or uses the first or second person.
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
        line_text, end = raw.removesuffix("\r"), start + len(raw.removesuffix("\r"))
        mark = _FENCE.match(line_text)
        is_code = bool(fence or mark)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        is_heading = not is_code and bool(_HEADING.match(line_text))
        is_aside = is_code or is_heading or bool(_CUE.fullmatch(line_text) or _DIRECTION.fullmatch(line_text))
        lines.append(Line(start, end, is_aside, blank and bool(line_text.strip()), is_heading, is_code))
        blank = not line_text.strip(" \t>") or _CUE.fullmatch(line_text) is not None
        start += len(raw) + 1
    return Layout(text, tuple(lines))


def find_labels(layout: Layout, format: str) -> list[Label]:
    """The labels of all lines that begin with a possible name. format: colon, bracket or brace."""
    pattern = _PATTERNS[format]
    line_labels = (_label_at(layout, number, pattern) for number in range(len(layout.lines)))
    return [label for label in line_labels if label is not None]


def span_of_speech(layout: Layout, label: Label, next_line: int) -> tuple[int, int]:
    """The span of the speech from *label* to line number *next_line*; without any speech, that of the name."""
    last = label.line
    for number in range(label.line, next_line):
        line = layout.lines[number]
        if number > label.line and line.is_heading:
            break
        if not line.is_aside:
            last = number
    spoken_text = layout.text[label.speech : max(layout.lines[last].end, label.speech)]
    start = label.speech + len(spoken_text) - len(spoken_text.lstrip(" \t\r\n>"))
    end = label.speech + len(spoken_text.rstrip())
    return (start, end) if start < end else (label.begin, label.begin + len(label.name))


def _label_at(layout: Layout, number: int, pattern: re.Pattern[str]) -> Label | None:
    line, text = layout.lines[number], layout.text
    if line.is_code or line.is_heading:
        return None
    lead = _LEAD.match(text, line.start, line.end)
    match = pattern.match(text, lead.end() if lead else line.start, line.end)
    if match is None:
        return None
    name = _WITHIN.sub("", match["name"]).strip(" \t\u00a0\u202f\\_*")
    speech_at = match.start("behind")
    line_rest = text[speech_at : line.end].strip()
    if (
        not may_be_name(name)
        or not _is_label(match, name, line_rest)
        or not (line_rest or _is_followed(layout, number))
    ):
        return None
    spoken = line_rest or text[speech_at : layout.lines[min(number + 2, len(layout.lines) - 1)].end]
    return Label(name, number, match.start("name"), speech_at, _is_spoken(spoken.strip()), is_personal(spoken))


def _is_label(match: re.Match[str], name: str, line_rest: str) -> bool:
    """Whether the text around the name makes it a label."""
    sign, behind = match["sign"], match["behind"]
    if match.re is not _COLON:
        return not (is_sound(name) or behind in ("(", "[") or line_rest.startswith(("http:", "https:", "<")))
    if not behind or behind.isspace():
        return True
    has_no_blanks = not (name[-1].isupper() or name[-1].islower() or name[-1].isdigit())
    return not behind.isdigit() and (sign == "：" or (has_no_blanks and behind.isalpha()))


def _is_followed(layout: Layout, number: int) -> bool:
    """Whether a label on a line of its own is followed by text or the end: no list, no heading, no code."""
    for line in layout.lines[number + 1 : number + 1 + _MAX_LINES_AHEAD]:
        line_text = layout.text[line.start : line.end]
        if line_text.strip(" \t>"):
            return not (line.is_heading or line.is_code or _LISTED.match(line_text))
    return True


def _is_spoken(spoken_text: str) -> bool:
    words = spoken_text.split()
    if not any(sign.isalpha() for sign in spoken_text):
        return False
    is_dense = (
        len(words) <= 2
        and len(spoken_text) >= _MIN_SPOKEN_IDEOGRAMS
        and any(ord(sign) > 0x2E80 for sign in spoken_text)
    )
    return bool(_SENTENCE.search(spoken_text)) or len(words) >= _MIN_SPOKEN_WORDS or is_dense
