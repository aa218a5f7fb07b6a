"""Markdown of surveys: answers that mean exactly what was written, and cases with what is known of them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from mirrord.codec.columns import Value
from mirrord.codec.escape import escaped

_PROSE = re.compile(r"(?![-+#>=|:~$ ]|\d+[.)])[^\\`*_\[\]!<>&~=$%^|\n\r\t]*")
_PLAIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ](?:[\w .,'/()-]*[\w.)'])?")
_PLAIN_TOO = re.compile(  # a date, which what reads YAML takes for one, and the ids that pages have
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_NO_TEXT = frozenset("null true false yes no on off y n".split())
_UNSPEAKABLE = re.compile(r"[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SAFE = "!$&'*+,;=:@/-._~"


def answer(text: str) -> str:
    """What somebody answered, as paragraphs of Markdown."""
    clean = _UNSPEAKABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " "))
    lines = [line.strip() for line in clean.strip().split("\n")]
    return "\n".join(line and _line(line, several=len(lines) > 1) for line in lines)


def front_matter(keys: Mapping[str, Value | Mapping[str, Value]]) -> str:
    """A front matter of *keys*, which are plain words unless they are in a mapping."""
    lines = ["---"]
    for key, value in keys.items():
        if isinstance(value, Mapping):
            lines += [f"{key}:"] if value else []
            lines += [f"  {_scalar(name)}: {_scalar(one)}" for name, one in value.items()]
        else:
            lines.append(f"{key}: {_scalar(value)}")
    return "\n".join((*lines, "---", ""))


def heading(title: str, target: str | None = None, level: int = 2) -> str:
    """A heading that links to *target*; None: it does not."""
    label = _label(title)
    return f"{'#' * level} {f'[{label}]({target})' if target is not None else label}\n\n"


def items(links: Iterable[tuple[str, str]]) -> str:
    """A list of links, by title and target."""
    return "".join(f"- [{_label(title)}]({target})\n" for title, target in links)


def link(path: Sequence[str], heading: str | None = None) -> str:
    """The destination that leads along the parts of *path*, to a heading there."""
    place = quote("/".join(path), safe=_SAFE)
    return f"{place}#{quote(heading, safe='')}" if heading is not None else place


def _line(line: str, *, several: bool) -> str:
    """*several*: there are more lines, in which what begins here could end: math, or a link."""
    # `$1 \$$` would be math: a backslash before one of two signs leaves the other to end it
    wary = "$$" in line or (several and any(sign in line for sign in "$[]"))
    return line if _PROSE.fullmatch(line) else escaped(line, "\n", "\n", wary=wary)


def _label(text: str) -> str:
    return text if _PROSE.fullmatch(text) else escaped(text, "x", "x", wary=True)


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    if _PLAIN_TOO.fullmatch(value) or (_PLAIN.fullmatch(value) and value.casefold() not in _NO_TEXT):
        return value
    return json.dumps(_UNSPEAKABLE.sub("\ufffd", value), ensure_ascii=False)
