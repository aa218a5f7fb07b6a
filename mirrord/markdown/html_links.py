"""The targets of `<a href>` and `<img src>` in a text, and how they are written."""

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_VALUE = r"""(?:"[^"]{0,4000}"|'[^']{0,4000}'|[^\s"'=<>`]+)"""
TAG: Final = rf"<(?i:a|img)(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*{_VALUE})?)+\s*/?>"  # the opening tag of a link or image
MAY_HAVE_TAG: Final = re.compile(r"<(?:a|img)\s", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"([A-Za-z_:][\w.:-]*)(?:\s*=\s*({_VALUE}))?")
_TARGET = re.compile(rf"(?:src|href)\s*=\s*({_VALUE})", re.IGNORECASE)
_IN_HTML = re.compile(  # what a link cannot stand in is passed over
    rf"<!--(?:(?!<!--).)*?-->|<(script|style)\b(?:(?!<\1\b).)*?</\1>|({TAG})", re.DOTALL | re.IGNORECASE
)
_TEMPLATES = ("{{", "{%")


class TagTarget(NamedTuple):
    """kind: markdown or image. value: the target as it means; start, end: of the whole attribute."""

    kind: str
    value: str
    start: int
    end: int


def targets_in_html(text: str, start: int, end: int) -> Iterator[TagTarget]:
    """The targets of the tags in HTML that is *text* from start to end."""
    for match in _IN_HTML.finditer(text, start, end):
        if match[2] and (target := target_of_tag(text, *match.span())):
            yield target


def target_of_tag(text: str, start: int, end: int) -> TagTarget | None:
    """The target of the tag that is *text* from start to end; None: it has none, or a template makes it."""
    is_image = text[start + 1 : start + 4].lower() == "img"
    name = "src" if is_image else "href"
    for match in _ATTRIBUTE.finditer(text, start + (4 if is_image else 2), end):
        if match[1].lower() == name and match[2]:
            value = html.unescape(_without_quotes(match[2]))
            is_template = value.startswith("{") or any(sign in value for sign in _TEMPLATES)
            return None if is_template else TagTarget("image" if is_image else "markdown", value, *match.span())
    return None


def value_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span of the value, without quotes, of the attribute that is *text* from start to end; None: it is none."""
    match = _TARGET.fullmatch(text, start, end)
    if match is None:
        return None
    quote = 1 if match[1][0] in "\"'" else 0
    return match.start(1) + quote, match.end(1) - quote


def possible_targets_in_tags(text: str) -> Iterator[str]:
    """All values that may be the target of a tag in *text*."""
    if MAY_HAVE_TAG.search(text):
        yield from (html.unescape(_without_quotes(match[1])) for match in _TARGET.finditer(text))


def _without_quotes(written: str) -> str:
    return written[1:-1] if written[0] in "\"'" else written
