"""What lists and searches show of a page: the few keys of its front matter that name it, read quickly."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mirrord.codec.fences import source_of

if TYPE_CHECKING:
    from mirrord.codec.properties import Json

_SHOWN = ("id", "title", "icon", "position", "type", "source_type", "original", "created")
_LISTED = ("tags", "aliases")
_KNOWN = frozenset(_SHOWN + _LISTED)
_PLAIN_LENGTH = 4_000  # characters: far from every limit of `properties`

# Sets of characters by what is not in them: by their many ranges they would take a hundred times longer to compile.
_STRANGE = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"  # what YAML takes in no line
_RARE = r"\x7f-\xa0\u2000-\u303f\ud800-\U0010ffff"  # no letters
_FIRST = rf"[^\x00-/:-@\[-`{{-~{_RARE}]"
_ITEM = rf"[^\x00-@\[-`{{-~{_RARE}](?:[^\x00-,.:-@\[-^`{{-~{_RARE}]++|[ ](?![ ]*(?:[],]|$)))*+"
_LINE = re.compile(
    rf"""(?P<key>[A-Za-z_][A-Za-z0-9_-]*):
        (?:[ ]+(?: (?P<quote>["'])(?P<quoted>[^"'\\{_STRANGE}]*+)(?P=quote)
                 | \[[ ]*(?P<flow>(?:{_ITEM}[ ]*,[ ]*)*(?:{_ITEM}[ ]*)?)\]
                 | (?P<plain>{_FIRST}(?:[^ \#:{_STRANGE}]++ | :(?![ ]|$) | (?<![ ])\# | [ ]++(?![\#]|$))*+)
            ))?[ ]*(?:[ ]\#[^{_STRANGE}]*)?
      | (?P<indent>[ ]*)-[ ]+(?P<item>{_ITEM})[ ]*
      | (?P<nothing>(?:\#[^{_STRANGE}]*)?)""",
    re.VERBOSE,
)
_NO_TEXT = re.compile(r"(?:null|true|false)$", re.IGNORECASE)
_WORD = re.compile(r"[^,\s]+")  # of tags, which some write in one text
_ENDING = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Head:
    """
    A page as lists show it.

    id, title, icon, position, type, source_type, original, created: as in `views.Views`, all None where the front
    matter cannot be read.
    tags: as texts without their `#`, numbers as well. aliases: those that are text.
    """

    id: str | None = None
    title: str | None = None
    icon: str | None = None
    position: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    type: str | None = None
    source_type: str | None = None
    original: str | None = None
    created: str | None = None


def head_of(text: str) -> Head:
    """What the front matter of *text* names; the body need not be whole. Never raises."""
    source = source_of(text)
    return (_plain_head(source) if len(source) <= _PLAIN_LENGTH else None) or _any_head(text)


@lru_cache(maxsize=2048)  # a page that is written was mostly read before, and others were listed since
def _plain_head(source: str) -> Head | None:
    found = _plain(source)
    if found is None:
        return None
    shown = {key: said or None for key in _SHOWN if isinstance(said := found.get(key), str)}
    return _head({**shown, "id": str(found["id"] or "") if "id" in found else None}, found)


def _any_head(text: str) -> Head:
    from mirrord.codec.views import views_of  # noqa: PLC0415  (lists of plain pages start without a reader of YAML)

    views = views_of(text)
    return _head({**views.texts, "id": views.id}, views.frontmatter)


def _head(shown: Mapping[str, str | None], values: "Mapping[str, Json]") -> Head:
    said = shown.get
    return Head(
        *(said("id"), said("title"), said("icon"), said("position")),
        *(_tags(values.get("tags")), _aliases(values.get("aliases"))),
        *(said("type"), said("source_type"), said("original"), said("created")),
    )


def _tags(value: "Json") -> tuple[str, ...]:
    if value is None:
        return ()
    tagged = [str(tag) for tag in _listed(value) if not isinstance(tag, bool | dict | list | None)]
    words = dict.fromkeys(word.lstrip("#") for text in tagged for word in _WORD.findall(text))
    return tuple(filter(None, words))


def _aliases(value: "Json") -> tuple[str, ...]:
    return tuple(alias.strip() for alias in _listed(value) if isinstance(alias, str)) if value is not None else ()


def _listed(value: "Json") -> "list[Json]":
    """The values of a list; what is none counts as the only value."""
    return value if isinstance(value, list) else [value]


def _plain(source: str) -> "dict[str, Json] | None":
    """The keys a head needs, of front matter as simple as most is; None: it takes a reader of YAML to tell."""
    found: dict[str, Json] = {}
    indents = set[str]()
    above = ""  # the key before
    items: list[Json] | None = None  # of that key, while it may get some
    for line in _ENDING.split(source):
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        key, _, quoted, flow, plain, indent, item, nothing = match.groups()
        if nothing is not None:
            continue
        if key is None:
            indents.add(indent)
            if items is None or above in _SHOWN or len(indents) > 1 or _NO_TEXT.match(item):
                return None
            items.append(item)
            found[above] = items
            continue
        if key in found or (key in _KNOWN and not _is_text(key, flow, plain)):
            return None
        value = found[key] = quoted if quoted is not None else plain if flow is None else [*_flow(flow)]
        above, indents, items = key, set(), [] if value is None else None
    return found


def _is_text(key: str, flow: str | None, plain: str | None) -> bool:
    """Whether a value is surely a text, or a list of texts where one may be."""
    if flow is not None:
        return key in _LISTED and not any(map(_NO_TEXT.match, _flow(flow)))
    return plain is None or not (_NO_TEXT.match(plain) or (key in _LISTED and plain[0].isdigit()))


def _flow(inside: str) -> list[str]:
    return [item.strip(" ") for item in inside.split(",") if item.strip(" ")]
