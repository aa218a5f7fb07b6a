"""PURE: cases: their directory, front matter and Markdown, one page per respondent."""

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from mirrord.markdown.inline.escaping import escape_text
from mirrord.research.surveys.survey_columns import Value

DIRECTORY = "Cases"
CASE = "case"  # the value of `type` in the front matter of a case
ATTRIBUTES = "attributes"  # the key of a case's attributes: a mapping of values by name
SURVEY = "survey"  # the key of the survey's name

_PROSE = re.compile(r"(?![-+#>=|:~$ ]|\d+[.)])[^\\`*_\[\]!<>&~=$%^|\n\r\t]*")
_PLAIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ](?:[\w .,'/()-]*[\w.)'])?")
_PLAIN_DATE_OR_ID = re.compile(  # a date, which readers of YAML accept as one, and the ids of pages
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_NOT_TEXT = frozenset("null true false yes no on off y n".split())
_UNSTORABLE = re.compile(r"[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SAFE_IN_LINKS = "!$&'*+,;=:@/-._~"


def answer_markdown(text: str) -> str:
    """A respondent's answer as paragraphs of Markdown."""
    clean = _UNSTORABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " "))
    lines = [line.strip() for line in clean.strip().split("\n")]
    return "\n".join(line and _escape_line(line, several=len(lines) > 1) for line in lines)


def front_matter_markdown(keys: Mapping[str, Value | Mapping[str, Value]]) -> str:
    """A front matter with *keys*; top-level keys are plain words, those of a mapping any text."""
    lines = ["---"]
    for key, value in keys.items():
        if isinstance(value, Mapping):
            lines += [f"{key}:"] if value else []
            lines += [f"  {_yaml_scalar(name)}: {_yaml_scalar(entry)}" for name, entry in value.items()]
        else:
            lines.append(f"{key}: {_yaml_scalar(value)}")
    return "\n".join((*lines, "---", ""))


def heading_markdown(title: str, target: str | None = None, level: int = 2) -> str:
    """A heading that links to *target*; None: no link."""
    label = _escape_label(title)
    return f"{'#' * level} {f'[{label}]({target})' if target is not None else label}\n\n"


def list_markdown(links: Iterable[tuple[str, str]]) -> str:
    """A list of links, by title and target."""
    return "".join(f"- [{_escape_label(title)}]({target})\n" for title, target in links)


def destination_from(directory: str, path: str, heading: str | None = None) -> str:
    """The link destination of the page at *path*, and of a heading there, for a page in *directory*."""
    place = quote("../" * (directory.count("/") + 1) + path, safe=_SAFE_IN_LINKS)
    return f"{place}#{quote(heading, safe='')}" if heading is not None else place


def _escape_line(line: str, *, several: bool) -> str:
    """Escape a line. several: there are more lines, so math or a link that begins here could end in one of them."""
    # `$1 \$$` would be math: a backslash before one of two dollars leaves the other one to close it
    wary = "$$" in line or (several and any(sign in line for sign in "$[]"))
    return line if _PROSE.fullmatch(line) else escape_text(line, "\n", "\n", wary=wary)


def _escape_label(text: str) -> str:
    return text if _PROSE.fullmatch(text) else escape_text(text, "x", "x", wary=True)


def _yaml_scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    if _PLAIN_DATE_OR_ID.fullmatch(value) or (_PLAIN.fullmatch(value) and value.casefold() not in _NOT_TEXT):
        return value
    return json.dumps(_UNSTORABLE.sub("\ufffd", value), ensure_ascii=False)
