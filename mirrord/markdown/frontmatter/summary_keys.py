"""
The few front matter keys that lists and searches show, read without a YAML parser where the front matter is plain.

A first list of 2,000 pages takes 79 ms with it and 106 ms without; the server starts as soon without it (decision 47,
`make bench PARTS=finding`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mirrord.domain.bound_page import BINDING_KEY
from mirrord.markdown.frontmatter.page_text import HeadForm, PageText

if TYPE_CHECKING:
    from mirrord.markdown.frontmatter.page_properties import Views
    from mirrord.markdown.frontmatter.yaml_reader import Json

_TEXT_KEYS = ("id", "title", "icon", "position", "type", "source_type", "original", "created", "updated", BINDING_KEY)
_FIELDS = {key: "binding" if key == BINDING_KEY else key for key in _TEXT_KEYS}  # of Head
_LIST_KEYS = ("tags", "aliases")
_NO_TAG = (bool, dict, list, type(None))
_HEAD_KEYS = frozenset(_TEXT_KEYS + _LIST_KEYS)
MAX_PLAIN_CHARACTERS = 4_000  # characters; far below every limit of `properties`

# Complements of character sets: the sets themselves have many ranges and take a hundred times longer to compile.
_STRANGE = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"  # YAML allows these in no line
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
_ENDING = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Head:
    """
    A page as lists show it.

    id, title, icon, position, type, source_type, original, created, updated: as in `page_properties.Views`; all None if
    the front matter cannot be read. binding: `bound_to`, of an app's page.
    tags: texts without their `#`, numbers included. aliases: those that are text.
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
    updated: str | None = None
    binding: str | None = None


def head_of(page: PageText) -> Head:
    """The head of *page*, whose body may be incomplete. Never raises."""
    if page.has_views:  # the front matter was read already
        return _read_any_head(page.views)
    source = page.source
    is_plain = page.form is HeadForm.YAML and len(source) <= MAX_PLAIN_CHARACTERS
    return (read_plain_head(source) if is_plain else None) or _read_any_head(page.views)


@lru_cache(maxsize=2048)  # a written page was mostly read before, with other pages listed in between
def read_plain_head(source: str) -> Head | None:
    """The head in *source*; None: it needs a reader of YAML."""
    values = _read_plain_keys(source)
    if values is None:
        return None
    texts = {key: value or None for key, value in values.items() if isinstance(value, str)}
    return _build_head({**texts, "id": str(values["id"] or "")} if "id" in values else texts, values)


def _read_any_head(views: "Views") -> Head:
    return _build_head({**views.texts, "id": views.id}, views.frontmatter)


def _build_head(texts: Mapping[str, str | None], values: "Mapping[str, Json]") -> Head:
    fields = {_FIELDS[key]: text for key, text in texts.items() if key in _FIELDS}
    return Head(tags=_tags_of(values.get("tags")), aliases=_aliases_of(values.get("aliases")), **fields)


def _tags_of(value: "Json") -> tuple[str, ...]:
    if value is None:
        return ()
    texts = [str(tag) for tag in _as_list(value) if not isinstance(tag, _NO_TAG)]
    words = dict.fromkeys(word.lstrip("#") for text in texts for word in text.replace(",", " ").split())
    return tuple(filter(None, words))


def _aliases_of(value: "Json") -> tuple[str, ...]:
    return tuple(alias.strip() for alias in _as_list(value) if isinstance(alias, str)) if value is not None else ()


def _as_list(value: "Json") -> "list[Json]":
    """The values of a list; any other value counts as a list of one."""
    return value if isinstance(value, list) else [value]


def _read_plain_keys(source: str) -> "dict[str, Json] | None":
    """The keys of a head from simple front matter; None: it needs a full YAML reader."""
    values: dict[str, Json] = {}
    indents = set[str]()
    previous_key = ""  # the previous key
    items: list[Json] | None = None  # the list items of that key, while more may follow
    for line in _ENDING.split(source):
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        key, _, quoted, flow, plain, indent, item, nothing = match.groups()
        if nothing is not None:
            continue
        if key is None:
            indents.add(indent)
            if items is None or previous_key in _TEXT_KEYS or len(indents) > 1 or _NO_TEXT.match(item):
                return None
            items.append(item)
            values[previous_key] = items
            continue
        if key in values or (key in _HEAD_KEYS and not _is_text(key, flow, plain)):
            return None
        value = values[key] = quoted if quoted is not None else plain if flow is None else [*_split_flow(flow)]
        previous_key, indents, items = key, set(), [] if value is None else None
    return values


def _is_text(key: str, flow: str | None, plain: str | None) -> bool:
    """Whether a value is surely a text, or a list of texts for a key that may have one."""
    if flow is not None:
        return key in _LIST_KEYS and not any(map(_NO_TEXT.match, _split_flow(flow)))
    return plain is None or not (_NO_TEXT.match(plain) or (key in _LIST_KEYS and plain[0].isdigit()))


def _split_flow(inside: str) -> list[str]:
    return [item.strip(" ") for item in inside.split(",") if item.strip(" ")]
