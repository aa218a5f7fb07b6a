"""
Change texts of a block in its lines, with the level of headings and the language of code, and nothing else.

A page may be of another dialect than mirrord's: directives, outlines indented with tabs, Liquid tags. The block writer
would give all of a changed block its own spelling; here everything beside the changed words stays.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import eq
from typing import Any, NamedTuple

from mirrord.markdown.inline.inline_splice import InlineSource, TextEdit, splice_inline
from mirrord.markdown.inline.source_map import keys_of
from mirrord.markdown.inline.source_style import Style, style_of
from mirrord.markdown.inline.unit_diff import changed_runs
from mirrord.markdown.parser.dialect import Surroundings
from mirrord.markdown.schema.block import Block, has_other_parts, without_ids
from mirrord.markdown.schema.document import BLOCKS, TEXTBLOCKS, Node, make_document, text_node
from mirrord.markdown.schema.normal_form import fingerprint, normalize
from mirrord.markdown.write.attribute_edits import SPELLED_ATTRIBUTES, edits_of_attribute, is_attribute_changed
from mirrord.markdown.write.block_parts import Line, Part
from mirrord.markdown.write.text_places import (
    LineEdit,
    TextPlace,
    TextToken,
    edit_lines,
    find_text,
    text_of,
    text_tokens,
)

_RUNNING = TEXTBLOCKS | {"detailsSummary"}
_TEXT_KEYS = {"rawBlock": "raw", "mathBlock": "latex"}  # the attribute that holds the text of a block
_LEAVES = _RUNNING | _TEXT_KEYS.keys() | {"codeBlock", "horizontalRule"}


class _ChangedText(NamedTuple):
    """A text that changed. number: of its block among those with texts; old, new: the block in normal form."""

    number: int
    old: Node
    new: Node


class Spelling(NamedTuple):
    """
    How changed texts are written.

    habit: the usual style of the page. surroundings: of the page. is_read_later: with the page, so not alone.
    """

    habit: Style
    surroundings: Surroundings
    is_read_later: bool = False


def splice_texts(lines: Sequence[str], part: Part, block: Block, spelling: Spelling) -> list[Line]:
    """
    The *lines* of *part* with the texts of *block*; `at` counts them.

    None if the block differs in more than texts, or if the texts cannot be located or read back. Their blocks are
    not read again.
    """
    texts = text_tokens(part.tokens)
    for old, changes in _possible_changes(part.block, block) if texts else ():
        if changes and len(texts) == _count_texts(old):
            edits = [_line_edits(lines, part, texts[change.number], change, spelling) for change in changes]
            return edit_lines(lines, list(chain(*edits))) if all(edits) else []
    return []


def _possible_changes(old: Block, new: Block) -> Iterator[tuple[Node, list[_ChangedText] | None]]:
    """The old block and what changed: of both as they are, then of the normal forms, which are dear of a long list."""
    if len(old.nodes) == len(new.nodes) == 1 and old.kind not in _LEAVES:
        yield old.nodes[0], _changed_texts(old.nodes[0], new.nodes[0], 0, normalize)
        if has_other_parts(old.nodes[0], new.nodes[0]):
            return  # which normal forms would show, too
    yield old.normal_form, _changed_texts(old.normal_form, new.normal_form, 0, lambda normal: normal)


def _changed_texts(
    old: Node, new: Node, first: int, normal_form_of: Callable[[Node], Node]
) -> list[_ChangedText] | None:
    """The texts that differ in two blocks, None if more differs. first: the number of the first text in *old*."""
    if old["type"] != new["type"] or old["type"] not in BLOCKS:
        return [] if old == new else None
    key = _TEXT_KEYS.get(old["type"]) or SPELLED_ATTRIBUTES.get(old["type"])
    if _attrs_but(old, key) != _attrs_but(new, key):
        return None
    if old["type"] in _LEAVES:
        is_equal = old.get("content") == new.get("content") and old.get("attrs") == new.get("attrs")
        return [] if is_equal else _change_of_leaf(normal_form_of(old), normal_form_of(new), first)
    mine, theirs = old.get("content") or [], new.get("content") or []
    if len(mine) != len(theirs):
        return None
    sameness = list(map(eq, without_ids(mine), without_ids(theirs)))
    changed = [pair for pair, same in zip(zip(mine, theirs, strict=True), sameness, strict=True) if not same]
    if any(_is_reshaped(*pair) for pair in changed) or _has_moved(changed, normal_form_of):
        return None
    changes: list[_ChangedText] = []
    for before, after, same in zip(mine, theirs, sameness, strict=True):
        inner = [] if same else _changed_texts(before, after, first, normal_form_of)
        if inner is None:
            return None
        changes += inner
        first += _count_texts(before)
    return changes


def _change_of_leaf(old: Node, new: Node, number: int) -> list[_ChangedText] | None:
    """The change from a leaf to another one, both in normal form; None: it is more than one of a text."""
    if fingerprint(old) == fingerprint(new):
        return []
    is_located = ("content" in old) == ("content" in new) and _count_texts(old) > 0
    return [_ChangedText(number, old, new)] if is_located else None


def _is_reshaped(old: Node, new: Node) -> bool:
    """Whether more than texts differ, as the types or the numbers of parts show."""
    if old["type"] != new["type"]:
        return True
    return old["type"] in BLOCKS - _LEAVES and len(old.get("content") or ()) != len(new.get("content") or ())


def _has_moved(changed: Sequence[tuple[Node, Node]], normal_form_of: Callable[[Node], Node]) -> bool:
    """Whether one of the new blocks was another one of the old before: it takes its lines along."""
    if len(changed) < 2:
        return False
    old_meanings = {fingerprint(node) for node in without_ids([before for before, _ in changed])}
    if any(fingerprint(node) in old_meanings for node in without_ids([after for _, after in changed])):
        return True  # as most moves show without normal forms
    meanings = {fingerprint(normal_form_of(before)) for before, _ in changed}
    return any(fingerprint(normal_form_of(after)) in meanings for _, after in changed)


def _attrs_but(node: Node, key: str | None) -> dict[str, Any]:
    """The attributes of a block without its id and that called *key*, as in the normal form."""
    attrs = {name: value for name, value in (node.get("attrs") or {}).items() if name not in ("id", key)}
    return normalize({"type": node["type"], "attrs": attrs}).get("attrs", {}) if attrs else {}


def _count_texts(node: Node) -> int:
    """How many blocks with texts are in *node*; of running text only those with some."""
    if node["type"] in _LEAVES:
        return 1 if "content" in node or node["type"] not in _RUNNING else 0
    if node["type"] not in BLOCKS:
        return 1  # a fence with its JSON
    return sum(map(_count_texts, node.get("content") or ()))


def _line_edits(
    lines: Sequence[str], part: Part, text: TextToken, change: _ChangedText, spelling: Spelling
) -> list[LineEdit]:
    """The edits of *lines* for a changed text; none if it cannot be located or read back."""
    origin = part.tokens[0].map[0] if part.tokens[0].map else 0
    place, (_, old, new) = find_text(text, lines, origin), change
    if place is None:
        return []
    edits = edits_of_attribute(place, lines, old, new) if is_attribute_changed(old, new) else []
    if is_attribute_changed(old, new) and (not edits or _has_same_text(old, new)):
        return edits
    text_edits = place.edits_of(_edits_of(place, old, new, spelling))
    return [*edits, *text_edits] if text_edits else []


def _has_same_text(old: Node, new: Node) -> bool:
    return fingerprint(make_document(old.get("content", []))) == fingerprint(make_document(new.get("content", [])))


def _edits_of(place: TextPlace, old: Node, new: Node, spelling: Spelling) -> list[TextEdit]:
    """The edits that turn the text of *old* into that of *new*; none if it is another text."""
    if (place.token.type == "inline") != (old["type"] in _RUNNING):
        return []
    if old["type"] not in _RUNNING:
        return _edits_of_text(text_of(place.token), _text_in(old), _text_in(new))
    style = style_of([place.token], spelling.habit)
    is_one_line = (
        place.cell is not None
        or old["type"] == "detailsSummary"
        or (old["type"] == "heading" and len(place.lines) == 1)
    )
    source = InlineSource(
        place.token.content, spelling.surroundings, style, is_one_line, is_read_later=spelling.is_read_later
    )
    return splice_inline(source, old.get("content", []), new.get("content", []))


def _edits_of_text(source: str, old: str, new: str) -> list[TextEdit]:
    if source != old:
        return []
    before, after = (keys_of([text_node(text)]) for text in (old, new))
    hunks = changed_runs(before, after)
    return [TextEdit(hunk.start, hunk.end, new[hunk.new_start : hunk.new_end]) for hunk in hunks]


def _text_in(node: Node) -> str:
    if key := _TEXT_KEYS.get(node["type"]):
        return str(node.get("attrs", {}).get(key, ""))
    return "".join(child.get("text", "") for child in node.get("content", []))
