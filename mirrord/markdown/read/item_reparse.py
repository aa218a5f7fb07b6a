"""
Read a long list again after an edit and parse only the items that may have changed.

The parser keeps no state between the items of a list at the margin of a page but the list itself: its signs, and
whether a blank line was between two items, which no document shows. So the items from an unchanged one up to another
that begins where it began before mean what they mean as a list of their own, and the other items what they meant.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from mirrord.markdown.read.page_outline import Outline, splice_tokens
from mirrord.markdown.read.reader import read_block
from mirrord.markdown.schema.document import Node

_LISTS = frozenset(["bulletList", "taskList", "orderedList"])


@dataclass(frozen=True, slots=True)
class ChangedItems:
    """
    The items of a list that an edit may have changed, with an unchanged one before and behind them.

    first, last: the numbers of those two. start, end: where all of them are in the page before; last_start: the last.
    """

    first: int
    last: int
    start: int
    last_start: int
    end: int


def find_changed_items(page: Outline, index: int, node: Node, head: int, tail: int) -> ChangedItems | None:
    """
    The items of the block *index*, which is *node*, that an edit of *page* may have changed; None: perhaps others, too.

    head, tail: how many characters of the page before and behind the edit did not change.
    """
    segment = page.segments[index]
    if node["type"] not in _LISTS or segment.tokens is None or "content" not in node:
        return None
    starts = _item_starts(page, index)
    if len(starts) != len(node["content"]):
        return None
    first = bisect_left(starts, head) - 2  # the whole item and the line ending behind it did not change
    last = bisect_left(starts, len(page.body) - tail)
    if first < 0 or last >= len(starts) or not all(map(_is_at_margin(page.body), (starts[first], starts[last]))):
        return None
    end = starts[last + 1] if last + 1 < len(starts) else segment.end
    return ChangedItems(first, last, starts[first], starts[last], end)


def _item_starts(page: Outline, index: int) -> Sequence[int]:
    tokens = page.segments[index].tokens or ()
    items = [token for token in tokens if token.type == "list_item_open" and token.level == tokens[0].level + 1]
    return page.token_starts(index, items)


def _is_at_margin(body: str) -> Callable[[int], bool]:
    return lambda start: not body[start].isspace()


def read_changed_items(before: Outline, index: int, node: Node, items: ChangedItems, now: Outline) -> Node | None:
    """
    The list *node* after an edit of *items*; None if they are no longer what is between the others.

    now: the outline of the new text between their start and end.
    """
    old_tokens, new_tokens = before.segments[index].tokens, now.segments[0].tokens if len(now.segments) == 1 else None
    if not old_tokens or not new_tokens or _sign_of(old_tokens) != _sign_of(new_tokens):
        return None
    starts, new_node = _item_starts(now, 0), read_block(new_tokens)
    if new_node["type"] != node["type"] or len(new_node["content"]) != len(starts) or len(starts) < 2:
        return None
    old, new = node["content"], new_node["content"]
    is_between = starts[0] == 0 and len(now.body) - starts[-1] == items.end - items.last_start
    if not is_between or (new[0], new[-1]) != (old[items.first], old[items.last]):
        return None
    return {**node, "content": [*old[: items.first + 1], *new[1:-1], *old[items.last :]]}


def tokens_of_changed_items(before: Outline, index: int, items: ChangedItems, now: Outline) -> Sequence[Token] | None:
    """The tokens of that list after the edit; None: the whole page has to be parsed for them."""
    old, new = before.segments[index].tokens or (), now.segments[0].tokens or ()
    places, new_places = _item_places(old), _item_places(new)
    has_other_form = _tightness_of(old) != _tightness_of(new) or _class_of(old) != _class_of(new)
    if has_other_form:  # all tokens of a list may show whether it is tight, and its first one whether it has tasks
        return None
    return splice_tokens(old, new, (places[items.first], places[items.last]), (new_places[0], new_places[-1]))


def _item_places(tokens: Sequence[Token]) -> Sequence[int]:
    level = tokens[0].level + 1
    return [at for at, token in enumerate(tokens) if token.type == "list_item_open" and token.level == level]


def _class_of(tokens: Sequence[Token]) -> object:
    return tokens[0].attrs.get("class")


def _tightness_of(tokens: Sequence[Token]) -> set[bool]:
    level = tokens[0].level + 2
    return {token.hidden for token in tokens if token.type == "paragraph_open" and token.level == level}


def _sign_of(tokens: Sequence[Token]) -> tuple[str, str]:
    return tokens[0].type, tokens[0].markup
