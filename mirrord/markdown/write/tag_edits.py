"""Rename a tag in a page: in the front matter and in the text, but never in code, links and comments."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mirrord.domain.place import name_key
from mirrord.markdown.frontmatter.page_properties import Json, read_values, with_keys
from mirrord.markdown.frontmatter.page_text import PageText
from mirrord.markdown.read.page_outline import regions_of

_TAGS_KEY = "tags"
_SIGNS = r"[^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]"  # of a tag, as in Obsidian
_TAG = re.compile(rf"{_SIGNS}+")
_TOKEN = re.compile(
    rf"""(?P<skip>\\. | <!--.*?--> | <[A-Za-z/?!][^<>]*> | %%.+?%% | !?\[\[[^\[\]\n]+\]\] | \]\([^()\n]*\)
        | \]:[ \t]*\S+ | [A-Za-z][A-Za-z0-9+.-]*://\S+)
    | (?P<ticks>`+)
    | (?<![^\s(\[{{"'*_~>|,;])\#(?P<tag>{_SIGNS}+)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[^,\s]+")  # of tags that are written as one text


@dataclass(frozen=True, slots=True)
class TagChange:
    """Rename the tag *old*, and those below it. Both without `#`."""

    old: str
    new: str


def is_tag(text: str) -> bool:
    """Whether *text* can be a tag: a number alone is none."""
    return _TAG.fullmatch(text) is not None and not text.isdigit() and "" not in text.split("/")


def change_tag(page: PageText, change: TagChange) -> tuple[PageText, int]:
    """
    *page* with the renamed tag, and the number of changed places.

    Raises Damaged if the front matter has the tag and cannot be changed.
    """
    page, count = _change_property(page, change)
    if not _may_have_tag(page.body, change.old):
        return page, count
    pieces, at = [], 0
    for start, end, new in _renamed_spans(page, change):
        pieces += [page.text[at:start], new]
        at, count = end, count + 1
    return replace(page, text="".join([*pieces, page.text[at:]])) if pieces else page, count


def _may_have_tag(body: str, tag: str) -> bool:
    """Whether *body* may have the tag; far faster than parsing it, which most pages need not."""
    return f"#{tag.lower()}" in body.lower() if tag.isascii() else "#" in body


def _change_property(page: PageText, change: TagChange) -> tuple[PageText, int]:
    if _TAGS_KEY not in page.source or change.old.rpartition("/")[2].casefold() not in page.source.casefold():
        return page, 0
    value = read_values(page).get(_TAGS_KEY)
    new: Json = _rename_in_list(value, change) if isinstance(value, list) else _rename_in_text(value, change)
    if new == value:
        return page, 0
    return with_keys(page, {_TAGS_KEY: new}), 1


def _rename_in_list(tags: list[Json], change: TagChange) -> list[Json]:
    """Without a second of what is the same tag afterwards."""
    renamed = [_rename_in_text(tag, change) for tag in tags]
    if renamed == tags:
        return tags
    return [tag for number, tag in enumerate(renamed) if tag not in renamed[:number]]


def _rename_in_text(value: Json, change: TagChange) -> Json:
    """Words of one text; they may begin with `#`."""
    if not isinstance(value, str):
        return value
    return _WORD.sub(lambda word: _rename_word(word[0], change), value)


def _rename_word(word: str, change: TagChange) -> str:
    tag = word.lstrip("#")
    new = _renamed(tag, change)
    return word if new is None else word[: len(word) - len(tag)] + new


def _renamed(tag: str, change: TagChange) -> str | None:
    """The new name of a tag; None: it is another one."""
    steps, depth = tag.split("/"), change.old.count("/") + 1
    if name_key("/".join(steps[:depth])) != name_key(change.old):
        return None
    return "/".join([change.new, *steps[depth:]])


def _renamed_spans(page: PageText, change: TagChange) -> Iterator[tuple[int, int, str]]:
    offset = len(page.text) - len(page.body)
    for region in regions_of(page.body, page.dialect):
        if region.kind == "inline" and page.text.find("#", offset + region.start, offset + region.end) >= 0:
            yield from _spans_in_region(page.text, offset + region.start, offset + region.end, change)


def _spans_in_region(text: str, position: int, end: int, change: TagChange) -> Iterator[tuple[int, int, str]]:
    while token := _TOKEN.search(text, position, end):
        position = token.end()
        if token["ticks"]:
            position = _end_of_code(text, token, end)
        elif token["tag"] and (new := _renamed(token["tag"], change)) is not None:
            yield token.start("tag"), token.end("tag"), new


def _end_of_code(text: str, ticks: re.Match[str], end: int) -> int:
    """The end of the code that *ticks* open; theirs if nothing closes it."""
    for run in re.finditer(r"`+", text[ticks.end() : end]):
        if len(run.group()) == len(ticks.group()):
            return ticks.end() + run.end()
    return ticks.end()
