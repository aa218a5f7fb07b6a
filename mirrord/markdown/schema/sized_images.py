"""
Images with a size, for which Markdown has no syntax: as `<img …>`, and as Obsidian's `![alt|300x200](…)`. Pure.

A size is a number of pixels or, in HTML, any text, such as `50%`.
"""

import html
import re
from collections.abc import Mapping
from typing import Final

from mirrord.markdown.frontmatter.yaml_reader import Json
from mirrord.markdown.parser.dialect import is_script
from mirrord.markdown.schema.document import Node

SIZES: Final[tuple[str, ...]] = ("width", "height")
_NAMES = "src|alt|title|width|height"
_ATTRIBUTE = re.compile(rf"""\s+({_NAMES})\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+)""", re.IGNORECASE)
_TAG = re.compile(rf"<img((?:{_ATTRIBUTE.pattern})+)\s*/?>", re.IGNORECASE)
_BAR = re.compile(r"(.*?)\|(\d{1,5})(?:x(\d{1,5}))?", re.DOTALL)
_BLANKS = re.compile(r"\s*")
_NUMBER = re.compile(r"(\d{1,7})(\.\d{1,20})?")
_PIXELS = 0.001, 10_000_000  # numbers between these are written without an exponent


def image_of_tag(tag: str) -> dict[str, Json] | None:
    """The attributes of the image of an HTML *tag*; None if it is another tag, has others, or would run a script."""
    match = _TAG.fullmatch(tag.strip())
    pairs = [(name.lower(), _value_of(text)) for name, text in _ATTRIBUTE.findall(match[1])] if match else []
    attrs = dict(pairs)
    if len(attrs) < len(pairs) or not attrs.get("src") or is_script(attrs["src"]):
        return None
    if any(attrs.get(name) == "" for name in SIZES):
        return None
    return {name: to_size(text) if name in SIZES else text or None for name, text in attrs.items()}


def nodes_of_html(source: str) -> list[Node]:
    """Images and the blanks between them, if HTML holds nothing else; empty if it does."""
    nodes: list[Node] = []
    at = 0
    while source[at : at + 4].lower() == "<img":
        tag = _TAG.match(source, at)
        attrs = image_of_tag(tag.group()) if tag else None
        if tag is None or attrs is None:
            return []
        blanks = _BLANKS.match(source, tag.end())
        at = blanks.end() if blanks else tag.end()
        nodes.append({"type": "image", "attrs": attrs})
        if blanks and blanks.group() and at < len(source):
            nodes.append({"type": "text", "text": "\n" if "\n" in blanks.group() else " "})
    return nodes if at == len(source) else []


def write_image_tag(attrs: Mapping[str, Json]) -> str:
    """The tag of an image with the normal *attrs*."""
    written = [f'{name}="{_escape(attrs[name])}"' for name in _NAMES.split("|") if name in attrs or name == "src"]
    return f"<img {' '.join(written)}>"


def split_size(alt: str) -> tuple[str, dict[str, Json]]:
    """The description *alt* without the size that it ends with, and that size."""
    match = _BAR.fullmatch(alt) if "|" in alt else None
    if match is None:
        return alt, {}
    return match[1], {name: int(text) for name, text in zip(SIZES, match.groups()[1:], strict=True) if text}


def join_size(attrs: Mapping[str, Json]) -> str | None:
    """The end of a description for the size of the normal image *attrs*; None: it has none that can stand there."""
    width, height = (attrs.get(name) for name in SIZES)
    if not all(size is None or (isinstance(size, int) and size < 100_000) for size in (width, height)) or width is None:
        return None
    return f"|{width}" + ("" if height is None else f"x{height}")


def to_size(value: Json) -> Json:
    """The number that *value* is or spells; else *value*."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        value = value.strip() if match is None else float(value) if match[2] else int(match[1])
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_size(value: Json) -> bool:
    """Whether the normal *value* can be the size of an image."""
    if isinstance(value, str):
        return True
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (value == 0 or _PIXELS[0] <= value < _PIXELS[1])  # type: ignore[operator]


def _value_of(text: str) -> str:
    return html.unescape(text[1:-1] if text[0] in "\"'" else text)


def _escape(value: Json) -> str:
    return html.escape("" if value is None else str(value)).replace("\n", "&#10;")
