"""
PURE: detect speakers and their turns in a transcript.

A label alone proves little: "Note:" and "Ingredients:" look the same. So it must be a possible name and be repeated,
and the text as a whole must read as speech, with questions, "I" and "you".
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mirrord.domain.place import name_key
from mirrord.research.speakers.speaker_labels import (
    Detection,
    Format,
    Turn,
    is_nickname,
    is_personal,
    is_role,
    is_sound,
    may_be_name,
)

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


MAX_SHORT_TURNS = 12  # turns; in a text with at most this many, names that occur once count
_MIN_SPOKEN_SHARE = 0.15  # share of the turns that must read as speech
_MIN_SPOKEN_SHARE_OF_NICKNAMES = 0.25  # the same if all names are nicknames
_MIN_ROLE_SHARE = 0.25  # share of turns by roles from which on no more proof is needed
_MIN_PERSONAL_SHARE = 0.1  # share of the turns that must ask or use the first or second person
_MIN_PERSONAL_SHARE_ALONE = 0.4  # the same for a single speaker
_MIN_TURNS_ALONE = 3  # least number of turns of a single speaker
_MIN_COVERAGE = 0.25  # share of the lines after the first turn that must belong to turns
_MIN_COVERAGE_BY_ROLES = 0.08  # the same if roles speak: an interviewer's questions may be far apart
_MIN_SINGLE_ROLES = 2  # names that occur once and are roles, needed in a text without repeated names


def find_speakers(text: str, format: Format = Format.AUTO) -> Detection:
    """
    The speakers of *text*, and their turns.

    A given format means that the text is a transcript; with AUTO the text has to show it.
    """
    layout = layout_of(text)
    formats = [format] if format is not Format.AUTO else [Format.COLON, Format.BRACKET, Format.BRACE]
    labels_by_format = {
        label_format: _select_labels(find_labels(layout, label_format.value)) for label_format in formats
    }
    if format is Format.AUTO:
        labels_by_format = {
            label_format: format_labels
            for label_format, format_labels in labels_by_format.items()
            if _is_talk(layout, format_labels, label_format)
        }
    best = max(labels_by_format, key=lambda label_format: len(labels_by_format[label_format]), default=Format.COLON)
    turns = [Turn(name, *span) for name, span in _turns_with_speakers(layout, labels_by_format.get(best, []))]
    counts = Counter(turn.name for turn in turns)
    used = best if turns or format is not Format.AUTO else None
    return Detection(used, tuple(counts), dict(counts), tuple(turns))


def _turns_with_speakers(layout: Layout, turn_labels: Sequence[Label]) -> list[tuple[str, tuple[int, int]]]:
    """Each turn with its speaker, spelled as in the speaker's first turn."""
    spellings: dict[str, str] = {}
    for label in turn_labels:
        spellings.setdefault(_key_of(label), label.name)
    ends = [*(label.line for label in turn_labels[1:]), len(layout.lines)]
    return [
        (spellings[_key_of(label)], span_of_speech(layout, label, end))
        for label, end in zip(turn_labels, ends, strict=False)
    ]


def _is_talk(layout: Layout, turn_labels: Sequence[Label], format: Format) -> bool:
    """Whether these labels begin speech that makes up enough of the text."""
    if not turn_labels or _coverage_of(layout, turn_labels) < (
        _MIN_COVERAGE_BY_ROLES if _are_roles(turn_labels) else _MIN_COVERAGE
    ):
        return False
    is_chat = all(is_nickname(label.name) for label in turn_labels)
    if _share_of(label.is_spoken for label in turn_labels) < (
        _MIN_SPOKEN_SHARE_OF_NICKNAMES if is_chat else _MIN_SPOKEN_SHARE
    ):
        return False
    return format is not Format.COLON or _are_roles(turn_labels) or not _is_form(turn_labels)


def _are_roles(turn_labels: Sequence[Label]) -> bool:
    return _share_of(is_role(label.name) for label in turn_labels) >= _MIN_ROLE_SHARE


def _is_form(turn_labels: Sequence[Label]) -> bool:
    """Whether these labels are headings of a form, not speakers: nothing is personal, or their order is fixed."""
    names = {_key_of(label) for label in turn_labels}
    personal = _share_of(label.is_personal for label in turn_labels)
    if len(names) == 1:
        return len(turn_labels) < _MIN_TURNS_ALONE or personal < _MIN_PERSONAL_SHARE_ALONE
    if personal < _MIN_PERSONAL_SHARE:
        return True
    successions = {(_key_of(label), _key_of(next_label)) for label, next_label in pairwise(turn_labels)}
    return 2 < len(names) < len(turn_labels) - 1 and len(successions) <= len(names)


def _select_labels(possible_labels: Sequence[Label]) -> list[Label]:
    """The labels of repeated names; in a short text also those of names that occur once, after the first of them."""
    counts = Counter(map(_key_of, possible_labels))
    repeated = [label for label in possible_labels if counts[_key_of(label)] > 1]
    single = [label for label in possible_labels if counts[_key_of(label)] == 1]
    if len(possible_labels) > MAX_SHORT_TURNS or (
        not repeated and sum(is_role(label.name) for label in single) < _MIN_SINGLE_ROLES
    ):
        return repeated
    first_line = repeated[0].line if repeated else 0
    return [
        label
        for label in possible_labels
        if counts[_key_of(label)] > 1 or label.line > first_line or is_role(label.name)
    ]


def _coverage_of(layout: Layout, turn_labels: Sequence[Label]) -> float:
    """The share of the text after the first turn that belongs to turns; further lines of paragraphs count a fourth."""
    lines = {label.line for label in turn_labels}
    paragraphs, further_lines = 0, 0
    for number in range(turn_labels[0].line, len(layout.lines)):
        line = layout.lines[number]
        if number in lines or line.is_aside:
            continue
        if line.begins:
            paragraphs += 1
        else:
            further_lines += 1
    return len(turn_labels) / (len(turn_labels) + paragraphs + further_lines / 4)


def _key_of(label: Label) -> str:
    return name_key(label.name)


def _share_of(claims: Iterable[bool]) -> float:
    claim_list = list(claims)
    return sum(claim_list) / len(claim_list) if claim_list else 0.0
